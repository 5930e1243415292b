"""Bookies and clients with Kerberos, against a real KDC, in clear and within TLS."""

from pathlib import Path

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.security.principals import Principal

from ..integration.test_sasl import BookieCase, append
from ..integration.test_tls import HOST, tls_keys
from ..security.certificates import Folder, authority, issued
from .realm import REALM, SERVICE, WRITER, jaas, shared_realm

_SERVICE = SERVICE.format(HOST)
_WRITER = Principal("sasl", f"{WRITER}@{REALM}")


class KerberosTests(BookieCase):
    """Keys of one configuration on both sides."""

    timeout = 120
    principal = _WRITER

    def setUp(self) -> None:
        super().setUp()
        self.realm = shared_realm()
        self.path = Path(self.directory, "jaas")
        self.path.write_text(jaas(self.realm))
        self.path.chmod(0o600)
        self.keys = {
            "sasl_jaas_config": str(self.path), "bookie_auth_provider_factory_class": "sasl",
            "client_auth_provider_factory_class": "sasl", "client_auth_required": True,
        }  # fmt: skip

    async def test_in_clear(self) -> None:
        """The section of the JAAS file chooses GSSAPI, as with Apache's; who is not admitted gets nothing."""
        await self.exchange()
        for wire in ("v2", "v3"):
            reason = "refused the authentication" if wire == "v3" else "connection lost during the authentication"
            await self.refused(self.uri, reason, wire_protocol=wire, sasl_jaas_client_section_name="Stranger")
        await self.refused(self.uri, "Server wrong/127.0.0.1@.* not found", sasl_service_name="wrong")

    async def test_within_tls(self) -> None:
        """The same within TLS, by the name of the mechanism."""
        folder = Folder(Path(self.directory, "keys"))
        folder.put_pair(issued("anybody", authority(), (HOST,)), authority())
        await self.exchange(sasl_mechanism="GSSAPI", **tls_keys(folder))

    async def test_wrong_keys(self) -> None:
        """A bookie whose keys are not those of the realm refuses its clients."""
        other = self.realm.other_keys(_SERVICE)
        config = {**self.keys, "sasl_jaas_config": str(self.jaas_with("Bookie", other))}
        uri = await self.start(BookieConfig(**config))
        await self.refused(uri, "refused the authentication", wire_protocol="v3")

    def jaas_with(self, section: str, key_tab: Path) -> Path:
        """Another JAAS file, in which a section has another file of keys."""
        lines = [
            line.replace(str(self.realm.key_tab(_SERVICE)), str(key_tab)) if line.startswith(f"{section} ") else line
            for line in jaas(self.realm).splitlines()
        ]
        path = Path(self.directory, "other")
        path.write_text("\n".join(lines))
        path.chmod(0o600)
        return path

    async def test_tickets(self) -> None:
        """A client with tickets of ``kinit`` in a cache needs no keys."""
        cache = self.realm.tickets(WRITER)
        module = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true"
        with self.path.open("a") as file:
            file.write(f'\nTickets {{ {module} ticketCache="{cache}"; }};')
        uri = await self.start(BookieConfig(**self.keys))
        client = await self.connect(uri, ClientConfig(sasl_jaas_client_section_name="Tickets", **self.keys))
        await append(await client.create_ledger(1, 1, 1))
        self.assertEqual(self.principals(), {_WRITER})

"""Bookies and clients with SASL on threads, sockets and files, in clear and within TLS."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import attrs
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import from_file
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs
from bookkeeper_twisted.errors import BookKeeperError, ConfigError
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.security.principals import Principal

from ..authentication.sasl.sasl_case import JAAS, USER
from ..first_hour.documents import blocks, section
from ..security.certificates import Folder, authority, issued
from .test_tls import HOST, ROOT, tls_keys


class BookieCase(TestCase):
    """A bookie, and clients of it.

    :ivar keys: of both sides.
    :ivar principal: whom the bookie knows a client with these keys as.
    :ivar place: the keys that say where the bookie is.
    """

    timeout = 30
    place: dict[str, Any] = {"bookie_port": 0, "listening_interface": HOST}
    keys: dict[str, Any]
    principal = Principal("sasl", USER)

    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="sasl-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.service: BookieService | None = None

    async def start(self, config: BookieConfig) -> str:
        """Start a bookie; return the URI of its metadata."""
        listening = attrs.evolve(config, journal_pre_alloc_size_mb=1, **self.place)
        (whole,) = standalone_configs(listening, 1, self.directory)
        service: Any = make_bookie(reactor, attrs.evolve(whole, auto_recovery_daemon_enabled=False))
        self.addCleanup(service.stop)
        await service.start()
        self.service = service
        self.uri = whole.metadata_service_uri
        return self.uri

    async def connect(self, uri: str, config: ClientConfig) -> BookKeeper:
        client = await BookKeeper.connect(reactor, uri, config)
        self.addCleanup(client.close)
        return client

    async def refused(self, uri: str, reason: str, **more: Any) -> None:
        """A client with other keys is refused, with a reason."""
        client = await self.connect(uri, ClientConfig(**{**self.keys, **more}))
        with self.assertRaises(BookKeeperError) as refused:
            await append(await client.create_ledger(1, 1, 1))
        self.assertRegex(str(refused.exception), reason)
        await client.close()
        self.assertEqual(self.principals(), set())

    async def exchange(self, **more: Any) -> None:
        """Entries are written and read by clients of every wire protocol, whose principal the bookie knows."""
        keys = {**self.keys, **more}
        uri = await self.start(BookieConfig(**keys))
        for wire in ("v2", "v3", "auto"):
            client = await self.connect(uri, ClientConfig(wire_protocol=wire, **keys))
            writer = await client.create_ledger(1, 1, 1)
            await writer.append_many([b"entry"] * 100)
            await writer.close()
            reader = await client.open_ledger(writer.ledger_id)
            self.assertEqual([entry.data for entry in await reader.read(0, 99)], [b"entry"] * 100)
            self.assertEqual(self.principals(), {self.principal})
            await client.close()

    def principals(self) -> set[Principal]:
        """Who may send requests to the bookie."""
        assert self.service is not None and self.service.engine is not None
        peers = self.service.engine.factory.peers
        return {peer.principal for peer in peers if peer.state is ConnectionState.READY}


class PageTests(BookieCase):
    """The section of ``docs/security.rst``, followed to the letter."""

    async def test_five_minutes(self) -> None:
        """A bookie and a client with the files of the page talk; passwords are made as it says."""
        text = section((ROOT / "docs/security.rst").read_text(), "Users and passwords (SASL)")
        (command,) = re.findall(r"``(openssl rand [^`]+)``", text)
        if shutil.which("openssl") is not None:
            for shown in ("the writer's password", "the password of autorecovery"):
                made = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout.strip()
                self.assertEqual(text.count(f'"{shown}"'), 2)
                text = text.replace(f'"{shown}"', f'"{made}"')
        files = {block.caption: block.text for block in blocks(text)}
        for name, text in files.items():
            if name.endswith(".jaas"):
                Path(self.directory, name).write_text(text)
        configs = {
            name: from_file(text.replace("saslJaasConfig=", f"saslJaasConfig={self.directory}/"), name)
            for name, text in files.items() if name.endswith(".conf")
        }  # fmt: skip
        uri = await self.start(BookieConfig.load(configs["bookie.conf"]))
        for role, user in (("standard", "bookkeeper-writer"), ("system", "bookkeeper-repair")):
            config = attrs.evolve(ClientConfig.load(configs["client.conf"]), client_role=role)
            client = await self.connect(uri, config)
            await append(await client.create_ledger(1, 1, 1))
            self.assertIn(Principal("sasl", user), self.principals())


class SaslTests(BookieCase):
    """Keys of one configuration on both sides."""

    def setUp(self) -> None:
        super().setUp()
        path = Path(self.directory, "jaas")
        path.write_text(JAAS)
        path.chmod(0o600)
        self.keys = {
            "sasl_jaas_config": str(path), "bookie_auth_provider_factory_class": "sasl",
            "client_auth_provider_factory_class": "sasl", "client_auth_required": True,
        }  # fmt: skip
        folder = Folder(Path(self.directory, "keys"))
        folder.put_pair(issued("anybody", authority(), (HOST,)), authority())
        self.tls = tls_keys(folder)

    async def test_digest(self) -> None:
        """DIGEST-MD5 in clear; who is not admitted gets nothing."""
        await self.exchange()
        uri = self.uri
        for wire in ("v2", "v3"):
            for user in ("Wrong", "Unknown", "Stranger"):
                reason = "refused the authentication" if wire == "v3" else "connection lost during the authentication"
                await self.refused(uri, reason, wire_protocol=wire, sasl_jaas_client_section_name=user)
        nobody = {"client_auth_provider_factory_class": "", "client_auth_required": False}
        await self.refused(uri, "unauthorized access", wire_protocol="v3", **nobody)
        with self.assertRaises(ConfigError) as refused:
            await self.connect(uri, ClientConfig(**{**self.keys, "sasl_mechanism": "PLAIN"}))
        self.assertIn("PLAIN needs tlsProviderFactoryClass", str(refused.exception))

    async def test_refused_beside_tls(self) -> None:
        """A bookie that has TLS, too, closes connections in clear that it refuses."""
        uri = await self.start(BookieConfig(**{**self.keys, **self.tls}))
        for wire, reason in (("v2", "connection lost during the authentication"), ("v3", "refused the authentication")):
            await self.refused(uri, reason, wire_protocol=wire, sasl_jaas_client_section_name="Wrong")

    async def test_digest_within_tls(self) -> None:
        """DIGEST-MD5 within TLS."""
        await self.exchange(**self.tls)

    async def test_plain_within_tls(self) -> None:
        """PLAIN within TLS."""
        await self.exchange(sasl_mechanism="PLAIN", **self.tls)

    async def test_no_proof(self) -> None:
        """A bookie whose password for the user is another gets no request."""
        other = Path(self.directory, "other")
        other.write_text(JAAS.replace("sesame", "melon"))
        uri = await self.start(BookieConfig(**{**self.keys, "sasl_jaas_config": str(other)}))
        await self.refused(uri, "refused the authentication", wire_protocol="v3")

    async def test_changed_over(self) -> None:
        """A client that may meet bookies without SASL works with one; where it requires SASL, it does not."""
        uri = await self.start(BookieConfig())
        client = await self.connect(uri, ClientConfig(**{**self.keys, "client_auth_required": False}))
        await append(await client.create_ledger(1, 1, 1))
        await client.close()
        await self.refused(uri, "the bookie authenticates nobody, which this client requires")


async def append(writer: Any) -> None:
    await writer.append(b"entry")
    await writer.close()

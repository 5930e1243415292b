"""Bookies that ask for tokens, or for roles in certificates, and clients that have them, over TLS on real sockets."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import attrs
from twisted.internet import reactor
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.cli.tokens import TokenWorld, run_tokens
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs
from bookkeeper_twisted.errors import BookKeeperError, ConfigError
from bookkeeper_twisted.security.principals import Principal

from ..security.certificates import Folder, authority, issued
from .test_tls import HOST, tls_keys


class LiveCase(TestCase):
    """One bookie with TLS, and files for it and its clients."""

    def setUp(self) -> None:
        """Makes the files."""
        directory = tempfile.mkdtemp(prefix="tokens-")
        self.addCleanup(shutil.rmtree, directory)
        self.directory = Path(directory)
        self.service: Any = None
        self.bookie = Folder(self.directory / "b")
        self.bookie.put_pair(issued("a bookie", authority(), (HOST,)), authority())

    def client_folder(self, name: str, *units: str, uris: tuple[str, ...] = ()) -> Folder:
        """Files of a client with a certificate."""
        folder = Folder(self.directory / name)
        folder.put_pair(issued(name, authority(), units=units, uris=uris), authority())
        return folder

    async def start(self, **more: Any) -> str:
        """Start the bookie; return the URI of its metadata."""
        plain = BookieConfig(
            bookie_port=0, listening_interface=HOST, journal_pre_alloc_size_mb=1, **tls_keys(self.bookie, **more)
        )
        (config,) = standalone_configs(plain, 1, str(self.directory))
        self.service = make_bookie(reactor, attrs.evolve(config, auto_recovery_daemon_enabled=False))
        self.addCleanup(self.service.stop)
        await self.service.start()
        return config.metadata_service_uri

    async def append(self, uri: str, keys: dict[str, Any]) -> Principal:
        """Append an entry by a new client; return who the bookie takes it for."""
        client = await BookKeeper.connect(reactor, uri, ClientConfig(**keys))
        try:
            writer = await client.create_ledger(1, 1, 1)
            await writer.append(b"entry")
            found = self.principals()
            await writer.close()
        finally:
            await client.close()
        (principal,) = found
        return principal

    def principals(self) -> set[Principal]:
        """Who is let in by the bookie; another connection of the client may still be on its way."""
        return {connection.principal for connection in self.service.engine.factory.peers if not connection.is_untrusted}

    async def refused(self, uri: str, keys: dict[str, Any]) -> str:
        """Such a client can append nothing; return its reason, then what the bookie says in its log."""
        with capturedLogs() as events, self.assertRaises(BookKeeperError) as refused:
            await self.append(uri, keys)
        said = [formatEvent(event) for event in events if "refusing" in str(event.get("log_format"))]
        return "\n".join([str(refused.exception), *said])


class TokenTests(LiveCase):
    """A bookie that asks for tokens."""

    def setUp(self) -> None:
        """Makes a key, too."""
        super().setUp()
        self.keys, self.token = str(self.directory / "keys"), str(self.directory / "token")
        self.command("key", "--key-file", self.keys)
        self.asked = {
            "tls_client_authentication": False, "bookie_auth_provider_factory_class": "token",
            "token_key_file": self.keys,
        }  # fmt: skip
        self.anybody = Folder(self.directory / "c")
        self.anybody.put("trust.pem", authority().chain_pem())

    def command(self, *arguments: str) -> None:
        """Runs ``bookkeeper-twisted token``."""
        self.assertEqual(run_tokens(arguments, TokenWorld(lambda text: None)), 0)

    def create(self, subject: str, *more: str) -> None:
        """Makes a token, by the program."""
        given = ("--key-file", self.keys, "--output", self.token, "--lifetime", "1h", "--subject", subject)
        self.command("create", *given, *more)

    def client_keys(self, **more: Any) -> dict[str, Any]:
        """The configuration of a client with the token."""
        return tls_keys(self.anybody, **{
            "tls_client_authentication": False, "client_auth_provider_factory_class": "token",
            "client_auth_token_file": self.token, **more,
        })  # fmt: skip

    async def test_user(self) -> None:
        """The bookie knows the user and the roles by the token; a client that reconnects shows the renewed one."""
        self.create("joe", "--roles", "writers,readers")
        uri = await self.start(**self.asked)
        self.assertEqual(await self.append(uri, self.client_keys()), Principal("token", "joe", ("writers", "readers")))
        client = await BookKeeper.connect(reactor, uri, ClientConfig(**self.client_keys()))
        self.addCleanup(client.close)
        writer = await client.create_ledger(1, 1, 1)
        await writer.append(b"entry")
        await writer.append(b"entry")
        self.create("ann")
        for connection in list(self.service.engine.factory.peers):
            connection.transport.abortConnection()
        other = await BookKeeper.connect(reactor, uri, ClientConfig(**self.client_keys()))
        self.addCleanup(other.close)
        await (await other.create_ledger(1, 1, 1)).append(b"entry")
        reader = await client.open_ledger(writer.ledger_id, recover=False)
        await reader.read_last_add_confirmed()
        await reader.read(0, 0)
        self.assertEqual(self.principals(), {Principal("token", "ann")})

    async def test_refused(self) -> None:
        """Without a token, and with one that has expired or that another key has signed, nothing is answered."""
        uri = await self.start(**self.asked)
        no_token = tls_keys(self.anybody, tls_client_authentication=False)
        self.assertIn("unauthorized access", await self.refused(uri, no_token))
        old = TokenWorld(lambda text: None, seconds=lambda: time.time() - 4000)
        given = ("--key-file", self.keys, "--output", self.token, "--subject", "joe", "--lifetime")
        run_tokens(("create", *given, "1h"), old)
        found = await self.refused(uri, self.client_keys())
        self.assertIn("connection lost during the authentication (refused?)", found)
        self.assertRegex(found, r"refusing 127.0.0.1:\d+: unauthorized access: the token has expired")
        self.assertNotIn(Path(self.token).read_text().strip().split(".")[1], found)
        self.keys = str(self.directory / "others")
        self.command("key", "--key-file", self.keys, "--key-id", "other")
        self.create("joe")
        found = await self.refused(uri, self.client_keys(wire_protocol="v3"))
        self.assertIn("the bookie refused the authentication", found)

    async def test_in_clear(self) -> None:
        """A client without TLS does not start, and one that sends its token in clear all the same is refused."""
        self.create("joe")
        uri = await self.start(**self.asked)
        clear = {"client_auth_provider_factory_class": "token", "client_auth_token_file": self.token}
        with self.assertRaises(ConfigError) as refused:
            await self.append(uri, clear)
        self.assertIn("would be sent in clear", str(refused.exception))
        self.assertIn("a token was sent in clear", await self.refused(uri, {**clear, "token_in_clear": True}))


class RoleTests(LiveCase):
    """A bookie that looks at the roles in certificates."""

    async def start_with(self, *roles: str) -> str:
        """Start the bookie."""
        provider = "org.apache.bookkeeper.tls.BookieAuthZFactory"
        return await self.start(bookie_auth_provider_factory_class=provider, authorized_roles=roles)

    async def test_roles(self) -> None:
        """The first role counts; the client has nothing to configure beside TLS, and may name the plugin."""
        uri = await self.start_with("writers")
        for name, unit in (("one", "0:writers;1:here"), ("two", "0:writers,others")):
            keys = tls_keys(self.client_folder(name, unit))
            for more in ({}, {"client_auth_provider_factory_class": "certificate"}):
                self.assertEqual((await self.append(uri, {**keys, **more})).roles[0], "writers")

    async def test_refused(self) -> None:
        """A client with another role is refused with a clear error, and one line names its subject and roles."""
        uri = await self.start_with("writers")
        found = await self.refused(uri, tls_keys(self.client_folder("joe", "0:others,writers")))
        self.assertIn("unauthorized access", found)
        self.assertIn("its certificate is that of 'CN=joe,OU=0:others\\\\,writers'", found)
        self.assertIn("its first role counts, of ['others', 'writers']", found)
        self.assertEqual(found.count("refusing"), 1)

    async def test_spiffe(self) -> None:
        """A SPIFFE id lets in as well."""
        uri = await self.start_with("writers", "spiffe://here/client")
        keys = tls_keys(self.client_folder("joe", uris=("spiffe://here/client",)))
        self.assertEqual((await self.append(uri, keys)).uris, ("spiffe://here/client",))
        other = tls_keys(self.client_folder("ann", uris=("spiffe://here/other",)))
        self.assertIn("['spiffe://here/other']", await self.refused(uri, other))

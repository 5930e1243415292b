"""Bookies and clients with TLS on threads, sockets and files."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import SkipTest

import attrs
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting, fields_of, from_file
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs
from bookkeeper_twisted.errors import BookKeeperError, ConfigError, NotEnoughBookiesError
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.security.principals import Principal

from ..first_hour.documents import blocks, commands
from ..security.certificates import Folder, Pair, authority, issued

ROOT = Path(__file__).resolve().parent.parent.parent
FACTORY = "org.apache.bookkeeper.tls.TLSContextFactory"
HOST = "127.0.0.1"
_ENDS = (".key", ".pem", ".keys", ".token", ".rules", ".log")


def tls_keys(folder: Folder, **more: Any) -> dict[str, Any]:
    """The keys of a configuration that name the files of a folder, in PEM."""
    return {
        "tls_provider_factory_class": FACTORY, "tls_client_authentication": True,
        "tls_key_store_type": "PEM", "tls_key_store": str(folder.path / "key.pem"),
        "tls_certificate_path": str(folder.path / "chain.pem"),
        "tls_trust_store_type": "PEM", "tls_trust_store": str(folder.path / "trust.pem"),
        "tls_cert_files_refresh_duration_seconds": 0.0, **more,
    }  # fmt: skip


class PageCase(TestCase):
    """``docs/security.rst``, followed to the letter."""

    def follow(self, directory: str, title: str) -> list[Setting]:
        """Make the files by the commands of a section of the page; return the keys of both sides that it shows."""
        page = (ROOT / "docs/security.rst").read_text()
        section = re.split(r"\n.+\n-{3,}\n", page.partition(f"\n{title}\n---")[2])[0]
        environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                   "PYTHONPATH": str(ROOT)}  # fmt: skip
        found: list[Setting] = []
        for block in blocks(section):
            if block.caption:
                Path(directory, block.caption).write_text(block.text)
            if block.language == "properties":
                found += from_file(block.text, "docs/security.rst")
                continue
            for command in commands(block.text):
                subprocess.run(command.text, shell=True, cwd=directory, check=True, capture_output=True, env=environ)
        self.assertTrue(found)
        return found

    @staticmethod
    def within(directory: str, keys: list[Setting]) -> list[Setting]:
        """Keys as the page shows them, whose files are in a directory."""
        return [
            attrs.evolve(each, text=str(Path(directory, each.text))) if each.text.endswith(_ENDS) else each
            for each in keys
        ]


class PageTests(PageCase):
    """Bookies and clients with the files and keys of the page."""

    async def test_five_minutes(self) -> None:
        """A bookie and a client with these files talk."""
        self.assertEqual((await self.principal()).roles, ("writers",))

    def test_secret_files(self) -> None:
        """Of the files that the page makes, nobody but their owner can read those with keys and tokens."""
        if shutil.which("openssl") is None:
            raise SkipTest("the page uses the program openssl, which is not installed")
        directory = tempfile.mkdtemp(prefix="tls-page-")
        self.addCleanup(shutil.rmtree, directory)
        for title in ("TLS in five minutes", "Tokens", "Encrypted ledgers"):
            self.follow(directory, title)
        modes = {path.name: path.stat().st_mode & 0o077 for path in Path(directory).iterdir()
                 if path.suffix in (".key", ".keys", ".token")}  # fmt: skip
        names = ("ca.key", "bookie.key", "client.key", "token.keys", "joe.token", "ledger.keys")
        self.assertEqual(modes, dict.fromkeys(names, 0))

    async def test_roles(self) -> None:
        """So they do with the keys of the section on roles."""
        self.assertEqual((await self.principal("Roles in certificates")).roles, ("writers",))

    async def test_tokens(self) -> None:
        """With the files and keys of the section on tokens the bookie knows the user."""
        self.assertEqual(await self.principal("Tokens"), Principal("token", "joe", ("writers",)))

    async def test_encrypted_ledgers(self) -> None:
        """With the key and the settings of the section on encrypted ledgers a client writes an entry."""
        self.assertEqual((await self.principal("Encrypted ledgers")).roles, ("writers",))

    async def test_rules(self) -> None:
        """The rules of the section on them allow a writer, by its certificate or by its token, to write."""
        self.assertEqual((await self.principal("Who may do what")).kind, "certificate")
        self.assertEqual((await self.principal("Tokens", "Who may do what")).kind, "token")

    async def principal(self, *titles: str) -> Principal:
        """Make the files of sections; return who a client is that has written an entry with them."""
        if shutil.which("openssl") is None:
            raise SkipTest("the page uses the program openssl, which is not installed")
        directory = tempfile.mkdtemp(prefix="tls-page-")
        self.addCleanup(shutil.rmtree, directory)
        keys = [key for title in ("TLS in five minutes", *titles) for key in self.follow(directory, title)]
        here = self.within(directory, keys)
        own = [attrs.evolve(each, text=each.text.replace("bookie.", "client.")) for each in here]
        ports = [Setting("bookiePort", "0", "test"), Setting("listeningInterface", HOST, "test")]
        (config,) = standalone_configs(BookieConfig.load(ports, here), 1, directory)
        service: Any = make_bookie(reactor, config)
        self.addCleanup(service.stop)
        await service.start()
        keys_of_client = {field.key for field in fields_of(ClientConfig).values()}
        client_config = ClientConfig.load([each for each in own if each.key in keys_of_client])
        client = await BookKeeper.connect(reactor, config.metadata_service_uri, client_config)
        self.addCleanup(client.close)
        await _append(await client.create_ledger(1, 1, 1))
        (principal,) = {connection.principal for connection in service.engine.factory.peers}
        assert isinstance(principal, Principal)
        return principal


class TlsTests(TestCase):
    """Three bookies that require TLS and certificates, and a client that has one."""

    def setUp(self) -> None:
        directory = tempfile.mkdtemp(prefix="tls-")
        self.addCleanup(shutil.rmtree, directory)
        self.directory = directory
        self.bookies, self.client = Folder(Path(directory, "b")), Folder(Path(directory, "c"))
        self.bookies.put_pair(issued("a bookie", authority(), (HOST,)), authority())
        self.client.put_pair(issued("a client", authority(), units=["0:writers"]), authority())
        self.services: list[BookieService] = []

    async def start(self, **more: Any) -> str:
        """Start three bookies; return the URI of their metadata."""
        plain = BookieConfig(
            bookie_port=0, listening_interface=HOST, journal_pre_alloc_size_mb=1,
            **tls_keys(self.bookies, **{"tls_required": True, **more}),
        )  # fmt: skip
        configs = standalone_configs(plain, 3, self.directory)
        for config in configs:
            service: Any = make_bookie(reactor, attrs.evolve(config, auto_recovery_daemon_enabled=False))
            self.addCleanup(service.stop)
            await service.start()
            self.services.append(service)
        return configs[0].metadata_service_uri

    async def connect(self, uri: str, **more: Any) -> BookKeeper:
        client = await BookKeeper.connect(reactor, uri, ClientConfig(**{**tls_keys(self.client), **more}))
        self.addCleanup(client.close)
        return client

    def principals(self) -> set[str]:
        """Who is connected to the bookies."""
        return {
            str(connection.principal.name)
            for service in self.services if service.engine is not None
            for connection in service.engine.factory.peers
            if connection.state is ConnectionState.READY
        }  # fmt: skip

    async def test_payloads(self) -> None:
        """Small and large entries come back as they were, by single reads and by batches; the bookies know who asks."""
        client = await self.connect(await self.start())
        writer = await client.create_ledger(3, 2, 2)
        payloads = [bytes([i % 251]) * size for i, size in enumerate((0, 1, 100, 16_384, 16_385, 70_000, 900_000) * 6)]
        await writer.append_many(payloads)
        await writer.close()
        reader = await client.open_ledger(writer.ledger_id)
        self.assertEqual([entry.data for entry in await reader.read(0, len(payloads) - 1)], payloads)
        whole = await client.create_ledger(3, 3, 2)
        await whole.append_many([bytes(1000)] * 5000)
        await whole.close()
        batches = [batch async for batch in (await client.open_ledger(whole.ledger_id)).batches()]
        self.assertEqual(sum(map(len, batches)), 5000)
        self.assertEqual(self.principals(), {"CN=a client,OU=0:writers"})

    async def test_certificates_exchanged(self) -> None:
        """New certificates of all sides are used by new connections, and no old connection or append is lost."""
        uri = await self.start()
        client = await self.connect(uri)
        writer = await client.create_ledger(3, 3, 2)
        await writer.append(b"before")
        newer = authority("a newer authority")
        both = Pair(newer.key, (*newer.chain, *authority().chain))
        for folder in (self.bookies, self.client):
            folder.put("trust.pem", both.chain_pem())
        for folder, name in ((self.bookies, "a bookie"), (self.client, "a newer client")):
            folder.put_pair(issued(name, newer, (HOST,)), both)
        await writer.append(b"during")
        other = await self.connect(uri)
        reader = await other.open_ledger(writer.ledger_id, recover=False)
        await reader.read_last_add_confirmed()
        self.assertEqual([entry.data for entry in await reader.read(0, 0)], [b"before"])
        await writer.append(b"after")
        await writer.close()
        self.assertEqual(self.principals(), {"CN=a client,OU=0:writers", "CN=a newer client"})

    async def test_refused(self) -> None:
        """Clients in clear, without a certificate, or that trust somebody else, get nothing, and learn why."""
        uri = await self.start()
        stranger = Folder(Path(self.directory, "s"))
        stranger.put_pair(issued("a stranger", authority("another")), authority())
        clear = {
            "tls_provider_factory_class": "", "tls_client_authentication": False, "tls_key_store": "",
            "tls_certificate_path": "", "tls_trust_store": "",
        }  # fmt: skip
        for more, reason in (
            (clear, "unauthorized access"), ({"tls_client_authentication": False}, ": .* certificate required"),
            (tls_keys(stranger), ": .* unknown ca"),
        ):  # fmt: skip
            client = await self.connect(uri, **more)
            with self.assertRaises(BookKeeperError) as refused:
                await _append(await client.create_ledger(3, 3, 2))
            self.assertRegex(str(refused.exception), reason)
            await client.close()
        self.assertEqual(self.principals() - {""}, set())

    async def test_wrong_host(self) -> None:
        """A bookie whose certificate is that of another host is refused, unless names do not matter."""
        self.bookies.put_pair(issued("a bookie", authority(), ("elsewhere",)), authority())
        uri = await self.start()
        client = await self.connect(uri)
        with self.assertRaises(NotEnoughBookiesError) as refused:
            await _append(await client.create_ledger(3, 3, 2))
        self.assertIn(f"it is not one for {HOST}", str(refused.exception))
        lenient = await self.connect(uri, tls_hostname_verification_enabled=False)
        await _append(await lenient.create_ledger(3, 3, 2))

    async def test_optional(self) -> None:
        """A bookie that does not require TLS serves both: a cluster is moved client by client."""
        uri = await self.start(tls_required=False)
        clear = await BookKeeper.connect(reactor, uri, ClientConfig())
        self.addCleanup(clear.close)
        for client in (clear, await self.connect(uri)):
            await _append(await client.create_ledger(3, 3, 2))
        self.assertEqual(self.principals(), {"", "CN=a client,OU=0:writers"})

    async def test_files(self) -> None:
        """A bookie whose files cannot be used does not start, and names the file."""
        self.bookies.put("key.pem", b"no key")
        with self.assertRaises(ConfigError) as refused:
            await self.start()
        self.assertIn("key.pem", str(refused.exception))


async def _append(writer: Any) -> None:
    await writer.append(b"entry")
    await writer.close()

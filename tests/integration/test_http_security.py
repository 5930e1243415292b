"""The HTTP server of a bookie over TLS, on sockets and files: certificates, tokens, new files, floods."""

import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from unittest import SkipTest

import attrs
from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.cli.http_requests import send
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting, from_file
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.http.channel import MAX_CONNECTIONS
from bookkeeper_twisted.security.token_keys import read_secrets
from bookkeeper_twisted.security.tokens import sign_token

from ..first_hour.documents import blocks
from ..security.certificates import Folder, authority, issued
from .test_tls import HOST, ROOT, PageCase, tls_keys

_SECRET = "c2VjcmV0IG9mIGF0IGxlYXN0IDMyIGJ5dGVzIGZvciB0ZXN0cw"


class HttpSecurityTests(TestCase):
    """A bookie with HTTP over TLS, and clients with certificates or tokens."""

    def setUp(self) -> None:
        directory = tempfile.mkdtemp(prefix="http-")
        self.addCleanup(shutil.rmtree, directory)
        self.directory = directory
        self.bookie, self.client = Folder(Path(directory, "b")), Folder(Path(directory, "c"))
        self.bookie.put_pair(issued("a bookie", authority(), (HOST,)), authority())
        self.client.put_pair(issued("a client", authority(), units=["0:admin"]), authority())
        self.secrets = self.bookie.put("secrets", f"k1 {_SECRET}\n".encode())
        Path(self.secrets).chmod(0o600)

    async def start(self, **more: Any) -> Any:
        """Start a bookie."""
        folder = self.bookie.path
        plain = BookieConfig(
            bookie_port=0, listening_interface=HOST, journal_pre_alloc_size_mb=1, http_server_enabled=True,
            http_server_port=0, http_authentication="required", http_admin_principals=("role:admin", "alice"),
            http_server_tls_enable=True, http_server_key_store_type="PEM",
            http_server_key_store_path=str(folder / "key.pem"), http_server_certificate_path=str(folder / "chain.pem"),
            http_server_trust_store_type="PEM", http_server_trust_store_path=str(folder / "trust.pem"),
            **{"http_server_tls_client_authentication": "optional", "token_key_file": self.secrets,
               "tls_cert_files_refresh_duration_seconds": 0.0, **more},
        )  # fmt: skip
        (config,) = standalone_configs(plain, 1, self.directory)
        self.service: Any = make_bookie(reactor, config)
        self.addCleanup(self.service.stop)
        await self.service.start()
        self.url = f"https://{HOST}:{self.service.http_port}"

    def config(self, shows: bool = True, name: str = "") -> ClientConfig:
        """The keys of a client that shows a certificate, or a token, or neither."""
        config = ClientConfig(**tls_keys(self.client, tls_client_authentication=shows))
        if not name:
            return config
        (key,) = read_secrets(self.secrets)
        claims = {"sub": name, "exp": int(reactor.seconds()) + 60}  # type: ignore[attr-defined]
        path = self.client.put(f"token-{name}", sign_token(key, claims).encode())
        Path(path).chmod(0o600)
        return attrs.evolve(config, client_auth_token_file=path)

    async def ask(self, config: ClientConfig, path: str = "/", method: str = "GET") -> int:
        """The status of an answer."""
        status, self.body = await send(reactor, method, self.url + path, b"", config)
        return status

    async def test_principals(self) -> None:
        """A certificate or a token names a principal; administrators change states; probes need neither."""
        await self.start()
        for config, found in (
            (self.config(), (200, 200)), (self.config(False), (401, 401)), (self.config(False, "alice"), (200, 200)),
            (self.config(True, "bob"), (200, 403)),
        ):  # fmt: skip
            asked = await self.ask(config), await self.ask(config, "/api/v1/bookie/gc", "PUT")
            self.assertEqual(asked, found)
            self.assertEqual(await self.ask(config, "/api/v1/bookie/state"), 200)
        await self.ask(self.config(False), "/metrics")
        self.assertIn(b"\nhttp_server_unauthenticated 2\n", self.body)
        self.assertIn(b"\nhttp_server_forbidden 1\n", self.body)
        self.assertIn(b"\nhttp_server_failed_handshakes 0\n", self.body)

    async def test_required(self) -> None:
        """Without a certificate nothing is answered where one is required; the error says why."""
        await self.start(http_server_tls_client_authentication="required")
        self.assertEqual(await self.ask(self.config()), 200)
        with self.assertRaises(OSError) as refused:
            await self.ask(self.config(False))
        self.assertIn("certificate required", str(refused.exception))
        self.bookie.put("trust.pem", authority("a newer authority").chain_pem())
        with self.assertRaises(OSError):
            await self.ask(self.config())

    async def test_new_files(self) -> None:
        """A new certificate of the server is used without a restart; the client verifies the host in it."""
        await self.start()
        self.bookie.put_pair(issued("a bookie", authority(), ("elsewhere",)), authority())
        with self.assertRaises(OSError) as refused:
            await self.ask(self.config())
        self.assertIn(f"it is not one for {HOST}", str(refused.exception))

    async def test_files(self) -> None:
        """A bookie whose files cannot be read is not made, and has opened no port."""
        self.bookie.put("key.pem", b"no key")
        with self.assertRaises(ConfigError) as refused:
            await self.start()
        self.assertIn("httpServerKeyStorePath", str(refused.exception))

    async def test_flood(self) -> None:
        """Connections that begin handshakes and do not go on keep no one out, and are closed for newer ones."""
        await self.start()
        address = HOST, self.service.http_port
        sockets: list[socket.socket] = []

        def connect() -> None:
            for number in range(3 * MAX_CONNECTIONS):
                sockets.append(socket.create_connection(address, 10))
                if number % 2:
                    sockets[-1].sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")

        def first_byte() -> bytes:
            try:
                return sockets[0].recv(1)
            except ConnectionResetError:
                return b""

        await deferToThread(connect)
        for each in sockets:
            self.addCleanup(each.close)
        self.assertEqual(await self.ask(self.config(), "/"), 200)
        self.assertEqual(await deferToThread(first_byte), b"")


class PageOfHttpTests(PageCase):
    """The section on HTTP of ``docs/security.rst``, followed to the letter."""

    def setUp(self) -> None:
        """Makes the files of the page."""
        if not (shutil.which("openssl") and shutil.which("curl")):
            raise SkipTest("the page uses the programs openssl and curl, of which one is not installed")
        self.directory = directory = tempfile.mkdtemp(prefix="http-page-")
        self.addCleanup(shutil.rmtree, directory)
        self.follow(directory, "TLS in five minutes")
        self.by_certificate, self.by_token = _lines("curl")

    async def start(self, *more: Setting) -> None:
        """Start a bookie with the keys of the page, and others instead of some."""
        (keys,) = [block.text for block in blocks(_section("HTTP"))]
        ports = {"bookiePort": "0", "httpServerPort": "0", "listeningInterface": HOST, "httpAuthentication": "required"}
        others = {each.key for each in more}
        here = [each for each in from_file(keys, "docs/security.rst") if each.key not in others]
        config = BookieConfig.load(
            [Setting(*each, "test") for each in ports.items()], self.within(self.directory, [*here, *more])
        )
        (config,) = standalone_configs(config, 1, self.directory)
        self.service: Any = make_bookie(reactor, config)
        self.addCleanup(self.service.stop)
        await self.service.start()

    async def answer(self, curl: str) -> str:
        """What a request of the page prints."""
        curl = curl.replace(":8080/", f":{self.service.http_port}/")
        return await deferToThread(_output, curl, self.directory)

    async def test_five_minutes(self) -> None:
        """A bookie with these keys answers the page's request, which has a certificate, and refuses one without."""
        await self.start()
        curl = self.by_certificate
        for typed, found in (
            (curl, "freeSpace"), (curl.replace("--cert client.pem --key client.key ", ""), "a token or a certificate"),
            (_changing(curl), "Triggered GC"),
        ):  # fmt: skip
            self.assertIn(found, await self.answer(typed))

    async def test_token(self) -> None:
        """It answers the page's request that has a token of the section on tokens, from a file."""
        tokens = {each.key: each for each in self.follow(self.directory, "Tokens")}
        await self.start(tokens["tokenKeyFile"])
        token = Path(self.directory, "joe.token").read_text().strip()
        Path(self.directory, "token-header").write_text(f"Authorization: Bearer {token}\n")
        self.assertIn("freeSpace", await self.answer(self.by_token))
        Path(self.directory, "token-header").write_text(f"Authorization: Bearer {token[:-4]}AAAA\n")
        self.assertNotIn("freeSpace", await self.answer(self.by_token))

    async def test_name(self) -> None:
        """The name that the page's command prints of a certificate makes an administrator of its owner."""
        (command,) = re.findall(r"``(openssl x509 [^`]+)``", _section("HTTP"))
        name = _output(f"{command} -in client.pem", self.directory).strip().removeprefix("subject=")
        for principals, found in ((name, "Triggered GC"), ("CN=alice", "is none of httpAdminPrincipals")):
            await self.start(Setting("httpAdminPrincipals", principals, "test"))
            self.assertIn(found, await self.answer(_changing(self.by_certificate)))
            await self.service.stop()


def _changing(curl: str) -> str:
    """A request for information, as one that changes something."""
    return curl.replace("info", "gc").replace("curl", "curl -X PUT -d '{}'")


def _lines(program: str) -> list[str]:
    """The lines of the section that run a program."""
    return [line.strip() for line in _section("HTTP").splitlines() if line.strip().startswith(f"{program} ")]


def _output(command: str, directory: str) -> str:
    done = subprocess.run(command, shell=True, cwd=directory, capture_output=True, timeout=30)
    return done.stdout.decode()


def _section(title: str) -> str:
    page = (ROOT / "docs/security.rst").read_text()
    return re.split(r"\n.+\n-{3,}\n", page.partition(f"\n{title}\n---")[2])[0]

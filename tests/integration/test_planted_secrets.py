"""Secrets that a bookie is given are shown nowhere: not in its log, its answers over HTTP, its metrics, its errors."""

import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import attrs
from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.logger import LogEvent, eventAsText, globalLogPublisher
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.cli.http_requests import send
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of, from_environment
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.masking import MASK
from bookkeeper_twisted.security.token_keys import read_secrets
from bookkeeper_twisted.security.tokens import sign_token

from ..security.certificates import Folder, authority, issued
from .test_tls import FACTORY, HOST, ROOT

_SECRETS = {
    name: f"planted-{name}-7f3a"
    for name in ("zk", "http-store", "http-trust", "tls-store", "tls-trust", "ledger", "sasl", "wrong-token")
}


class PlantedSecretsTests(TestCase):
    """A bookie with TLS, HTTP over TLS, tokens and passwords, each with a secret that no other text has."""

    def setUp(self) -> None:
        directory = tempfile.mkdtemp(prefix="secrets-")
        self.addCleanup(shutil.rmtree, directory)
        self.directory, self.files = directory, Folder(Path(directory, "f"))
        self.shown: list[str] = []
        self.secrets = dict(_SECRETS)
        observer: Any = self._logged
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        self._write()

    def _logged(self, event: LogEvent) -> None:
        self.shown.append(eventAsText(event))
        self.shown += [repr(value) for key, value in event.items() if not key.startswith("log_")]

    def _secret_file(self, name: str, content: bytes) -> str:
        path = self.files.put(name, content)
        Path(path).chmod(0o600)
        return path

    def _write(self) -> None:
        """Write stores with passwords, keys of tokens, and a token."""
        pair = issued("a bookie", authority(), (HOST,), units=["0:admin"])
        self.files.put_pair(pair, authority())
        for name in ("http", "tls"):
            self.files.put(f"{name}.p12", pair.pkcs12(self.secrets[f"{name}-store"]))
            self.files.put(f"{name}-trust.p12", pair.pkcs12(self.secrets[f"{name}-trust"], [authority().chain[0]]))
        self.secrets["token-key"] = b64encode(b"planted secret for tokens, 32 bytes").decode().rstrip("=")
        keys = self._secret_file("token.keys", f"k1 {self.secrets['token-key']}\n".encode())
        (key,) = read_secrets(keys)
        claims = {"sub": "alice", "exp": int(reactor.seconds()) + 600}  # type: ignore[attr-defined]
        self.secrets["token"] = sign_token(key, claims)
        self._secret_file("alice.token", self.secrets["token"].encode())
        login = "org.apache.zookeeper.server.auth.DigestLoginModule required"
        password = self.secrets["sasl"]
        server, client = f'user_bookkeeper="{password}"', f'username="bookkeeper" password="{password}"'
        jaas = f"Bookie {{ {login} {server}; }};\nBookKeeper {{ {login} {client}; }};\n"
        self._secret_file("jaas", jaas.encode())
        for name in ("tls-store", "tls-trust"):
            self._secret_file(name, self.secrets[name].encode())

    def path(self, name: str) -> str:
        """The path of a file."""
        return str(self.files.path / name)

    def values(self) -> dict[str, str]:
        """All keys with secrets, or with files that have them, by key."""
        values = {
            "bookiePort": "0", "listeningInterface": HOST, "journalPreAllocSizeMB": "1", "zkEnableSecurity": "true",
            "zkAuth": f"digest:user:{self.secrets['zk']}", "tlsProviderFactoryClass": FACTORY,
            "tlsKeyStoreType": "PKCS12", "tlsKeyStore": self.path("tls.p12"),
            "tlsKeyStorePasswordPath": self.path("tls-store"), "tlsTrustStoreType": "PKCS12",
            "tlsTrustStore": self.path("tls-trust.p12"), "tlsTrustStorePasswordPath": self.path("tls-trust"),
            "tlsClientAuthentication": "true", "clientAuthTokenFile": self.path("alice.token"),
            "tokenKeyFile": self.path("token.keys"), "saslJaasConfig": self.path("jaas"),
            "bookieAuthProviderFactoryClass": "sasl", "clientAuthProviderFactoryClass": "sasl",
        }  # fmt: skip
        return values | {
            "httpServerEnabled": "true", "httpServerPort": "0", "httpAuthentication": "required",
            "httpAdminPrincipals": "alice", "httpServerTlsEnable": "true", "httpServerKeyStoreType": "PKCS12",
            "httpServerKeyStorePath": self.path("http.p12"),
            "httpServerKeyStorePassword": self.secrets["http-store"], "httpServerTrustStoreType": "PKCS12",
            "httpServerTrustStorePath": self.path("http-trust.p12"),
            "httpServerTrustStorePassword": self.secrets["http-trust"],
            "httpServerTlsClientAuthentication": "optional",
        }  # fmt: skip

    async def _serve(self) -> tuple[Any, str]:
        plain = BookieConfig.load(from_environment({f"BK_{key}": text for key, text in self.values().items()}))
        self.shown += [repr(plain), str(plain.shown()), *plain.warnings, *plain.notes]
        (config,) = standalone_configs(plain, 1, self.directory)
        service: Any = make_bookie(reactor, config)
        self.addCleanup(service.stop)
        await service.start()
        self.shown += [repr(service), repr(service._options)]
        return config, f"https://{HOST}:{service.http_port}"

    async def _ask_everything(self, url: str, config: ClientConfig) -> None:
        """Ask for all pages by all methods, with a token, with a wrong one and without."""
        wrong = self._secret_file("wrong.token", self.secrets["wrong-token"].encode())
        _, paths = await send(reactor, "GET", f"{url}/", b"", config)
        self.assertIn(b"/api/v1/config/server_config", paths)
        for each in (
            config, attrs.evolve(config, client_auth_token_file=wrong, tls_client_authentication=False),
            attrs.evolve(config, client_auth_token_file="", tls_client_authentication=False),
        ):  # fmt: skip
            for path in (*paths.decode().split(), "/none"):
                for method, body in (("GET", b""), ("PUT", b"{nonsense"))[: 2 if each is config else 1]:
                    status, answer = await send(reactor, method, url + path, body, each)
                    self.shown.append(f"{status} {_text(answer)}")
        secret = self.secrets["zk"]
        for text in (f'{{"zkAuth": "digest:user:{secret}"}}', f'{{"httpServerKeyStorePassword": "{secret}"}}'):
            answered = await send(reactor, "PUT", f"{url}/api/v1/config/server_config", text.encode(), config)
            self.shown.append(str(answered))

    async def _run_shell(self) -> None:
        """Run commands of the shell that work and that fail, with the secrets in their environment."""
        environ = {f"BK_{key}": text for key, text in self.values().items()} | {"PYTHONPATH": str(ROOT)}
        for more, command in (
            ({}, "listbookies -rw"), ({}, "throttles"), ({"BK_zkTimeout": "soon"}, "listbookies -rw"),
            ({"BK_zkAuth": self.secrets["zk"], "BK_metadataServiceUri": "zk+null://127.0.0.1:1/ledgers",
              "BK_metadataOperationTimeoutSec": "0.5", "BK_zkEnableSecurity": "true"}, "listledgers"),
        ):  # fmt: skip
            done = await deferToThread(
                subprocess.run, [sys.executable, "-m", "bookkeeper_twisted", "shell", *command.split()],
                env=environ | more, cwd=self.directory, capture_output=True, timeout=60,
            )  # fmt: skip
            self.shown += [done.stdout.decode(), done.stderr.decode()]
            self.assertTrue(done.stdout or done.stderr)

    def _refuse(self) -> None:
        """Make configurations that are refused, each for a secret or beside one."""
        for changed in (
            {"httpServerKeyStorePassword": f"{self.secrets['http-trust']}"}, {"tokenKeyFile": self.path("alice.token")},
            {"httpServerTrustStorePath": self.path("none")}, {"tlsKeyStorePasswordPath": self.path("tls-trust")},
            {"clientAuthTokenFile": self.path("none")}, {"saslPassword": self.secrets["sasl"]},
            {"httpServerTlsEnable": "false", "httpServerKeyStorePath": ""}, {"jaasBookieSectionName": "Bookie"},
            {"zkTimeout": "never"},
        ):  # fmt: skip
            values = {f"BK_{key}": text for key, text in (self.values() | changed).items()}
            try:
                config = BookieConfig.load(from_environment(values))
                self.shown += [repr(config), *config.warnings, *config.notes]
                make_bookie(reactor, standalone_configs(config, 1, self.directory)[0])
            except ConfigError as error:
                self.shown += [str(error), repr(error)]

    async def test_shown_nowhere(self) -> None:
        """None of the secrets is in anything that a process prints, logs or answers."""
        config, url = await self._serve()
        own = {name: getattr(config, name) for name in fields_of(ClientConfig) if name in fields_of(BookieConfig)}
        client_config = ClientConfig(**own)
        self.shown.append(repr(client_config))
        client = await BookKeeper.connect(reactor, config.metadata_service_uri, client_config)
        self.addCleanup(client.close)
        writer = await client.create_ledger(1, 1, 1, password=self.secrets["ledger"].encode())
        await writer.append(b"entry")
        await writer.close()
        self.shown += [repr(writer), repr(writer.metadata), repr(await client.ledger_metadata(writer.ledger_id))]
        # stores with passwords take long to read, and each request reads them
        pem = {"tls_key_store_type": "PEM", "tls_trust_store_type": "PEM", "tls_trust_store": self.path("trust.pem")}
        own |= pem | {"tls_key_store": self.path("key.pem"), "tls_certificate_path": self.path("chain.pem")}
        await self._ask_everything(url, ClientConfig(**own))
        await self._run_shell()
        self._refuse()
        text = "\n".join(self.shown)
        for name, secret in self.secrets.items():
            self.assertNotIn(secret, text, name)
            self.assertNotIn(b64encode(secret.encode()).decode().rstrip("="), text, name)
        self.assertGreater(text.count(MASK), 5)
        for known in ("http_server_unauthenticated", '"zkAuth" : "******"', "a token or a certificate is needed"):
            self.assertIn(known, text)


def _text(answer: bytes) -> str:
    """An answer as text; of a zip archive all of its members."""
    if not answer.startswith(b"PK"):
        return answer.decode()
    with ZipFile(BytesIO(answer)) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())

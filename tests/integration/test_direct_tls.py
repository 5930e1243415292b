"""Clients whose connections begin with TLS: at a bookie, and at a proxy that ends TLS in front of one."""

from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint, wrapServerTLS
from twisted.internet.protocol import Factory
from twisted.protocols.portforward import ProxyFactory

from benchmarks.shared.zookeeper import free_port
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.security.contexts import ServerTls, settings_of
from bookkeeper_twisted.security.principals import NOBODY, Principal

from ..security.certificates import Folder, authority, issued
from .test_sasl import BookieCase, append
from .test_tls import HOST, tls_keys

_WRITER = Principal("certificate", "CN=writer")


class DirectTlsTests(BookieCase):
    """A bookie with certificates, and clients with direct TLS and others."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = Folder(Path(self.directory, "keys"))
        self.folder.put_pair(issued("writer", authority(), (HOST,)), authority())
        self.keys = tls_keys(self.folder)

    async def written(self, uri: str, **more: Any) -> None:
        """Entries are written and read by clients of every wire protocol."""
        for wire in ("v2", "v3", "auto"):
            client = await self.connect(uri, ClientConfig(**{**self.keys, "wire_protocol": wire, **more}))
            writer = await client.create_ledger(1, 1, 1)
            await writer.append_many([b"entry" * 1000] * 100)
            await writer.close()
            reader = await client.open_ledger(writer.ledger_id)
            self.assertEqual([entry.data for entry in await reader.read(0, 99)], [b"entry" * 1000] * 100)
            self.assertIn(self.principals(), ({_WRITER}, {NOBODY}))
            await client.close()

    async def test_bookie(self) -> None:
        """A bookie that requires TLS and certificates takes it at once and by StartTLS, on one port."""
        uri = await self.start(BookieConfig(tls_required=True, **self.keys))
        for direct in (True, False, True):
            await self.written(uri, tls_direct=direct)
        client = await self.connect(uri, ClientConfig(tls_direct=True, **self.keys))
        await append(await client.create_ledger(1, 1, 1))
        self.assertEqual(self.principals(), {_WRITER})
        await client.close()
        await self.refused(uri, "unauthorized access", wire_protocol="v3", **dict.fromkeys(_TLS, ""), **_NO_TLS)
        await self.refused(uri, "certificate required", tls_direct=True, tls_client_authentication=False)

    async def test_optional(self) -> None:
        """A bookie that does not require TLS takes connections in clear beside it."""
        uri = await self.start(BookieConfig(**self.keys))
        await self.written(uri, tls_direct=True)
        await self.written(uri, **dict.fromkeys(_TLS, ""), **_NO_TLS)

    async def test_proxy(self) -> None:
        """Behind a proxy that ends TLS the bookie has none; the client verifies the certificate of the proxy."""
        public, private = free_port(), free_port()
        proxy: Any = ProxyFactory(HOST, private)
        tls: Any = ServerTls(settings_of(ClientConfig(**self.keys)), reactor.seconds)  # type: ignore[attr-defined]
        port = await wrapServerTLS(tls, TCP4ServerEndpoint(reactor, public, interface=HOST)).listen(proxy)
        self.addCleanup(port.stopListening)
        proxy.noisy = False
        self.patch(Factory, "noisy", False)
        self.place = {
            "bookie_port": public, "listen_endpoint": f"tcp:{private}:interface={HOST}", "advertised_address": HOST,
            "allow_loopback": True,
        }  # fmt: skip
        uri = await self.start(BookieConfig())
        await self.written(uri, tls_direct=True)
        await self.refused(uri, "does not encrypt the connection|TLS handshake|connection lost", wire_protocol="v3")

    def test_configuration(self) -> None:
        """Without TLS the key has no effect, and with TLS no endpoint needs TLS of its own."""
        with self.assertRaisesRegex(ConfigError, "tlsDirect = .*only with tlsProviderFactoryClass"):
            ClientConfig(tls_direct=True)
        with self.assertRaisesRegex(ConfigError, "listenEndpoint = .*this one would do it twice"):
            BookieConfig(listen_endpoint="ssl:3181:privateKey=k", **self.keys)


_TLS = ("tls_provider_factory_class", "tls_key_store", "tls_certificate_path", "tls_trust_store")
_NO_TLS: dict[str, Any] = {"tls_client_authentication": False}

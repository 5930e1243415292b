"""Connections to a real ZooKeeper over TLS: the suite of the driver's connection, and who is refused."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SkipTest, TestCase

from benchmarks.shared.zookeeper import ZooKeeperServer, free_port
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metadata.drivers import create_cluster_admin, options_of
from bookkeeper_twisted.metadata.zookeeper.interfaces import SessionState
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import KazooZooKeeper
from bookkeeper_twisted.testing.contracts.metadata.zookeeper_contract import make_zookeeper_tests

from ..security.certificates import Folder, Pair, authority, issued

HOST = "127.0.0.1"
_CONFIG = """secureClientPort={port}
secureClientPortAddress=127.0.0.1
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location={folder}/server.pem
ssl.trustStore.location={folder}/trust.pem
ssl.clientAuth=need
"""


def put(folder: Folder, name: str, pair: Pair) -> str:
    """Write key and certificates into one file, as ZooKeeper has them in PEM."""
    return folder.put(name, pair.key_pem() + pair.chain_pem())


@lru_cache(maxsize=1)
def secure_zookeeper() -> tuple[ZooKeeperServer, int]:
    """The running server of this test run, which asks for certificates, and its port with TLS.

    :raises SkipTest: Java or the jars are missing.
    """
    directory = tempfile.mkdtemp(prefix="bookkeeper-twisted-zookeeper-tls-")
    folder, port = Folder(Path(directory)), free_port()
    put(folder, "server.pem", issued("zookeeper", authority(), (HOST,)))
    folder.put("trust.pem", authority().chain_pem())
    server = ZooKeeperServer(Path(directory), _CONFIG.format(port=port, folder=directory))
    try:
        server.start()
    except SkipTest:
        shutil.rmtree(directory)
        raise
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    atexit.register(server.stop)
    return server, port


class _Files:
    """The files of a client, in a folder of the test."""

    def __init__(self) -> None:
        self.folder = Folder(Path(tempfile.mkdtemp(prefix="zookeeper-tls-")))
        atexit.register(shutil.rmtree, self.folder.path, ignore_errors=True)
        self.key = put(self.folder, "client.pem", issued("a client", authority()))
        self.trust = self.folder.put("trust.pem", authority().chain_pem())

    def config(self, **more: Any) -> ClientConfig:
        """The keys of a client."""
        return ClientConfig(
            **{"zk_client_secure": True, "zk_ssl_key_store_type": "PEM", "zk_ssl_key_store_location": self.key,
               "zk_ssl_trust_store_type": "PEM", "zk_ssl_trust_store_location": self.trust,
               "tls_cert_files_refresh_duration_seconds": 0.0, "zk_timeout": 4000, **more}
        )  # fmt: skip


def _make_server(test: TestCase) -> tuple[str, Callable[[], Any]]:
    server, port = secure_zookeeper()
    options = options_of(_Files().config(zk_timeout=10000))
    return server.new_root(), lambda: KazooZooKeeper(reactor, f"{HOST}:{port}", options)


class KazooTlsTests(make_zookeeper_tests(_make_server)):  # type: ignore[misc]
    """The contract."""


class RefusalTests(TestCase):
    """Servers and clients that do not trust each other."""

    def setUp(self) -> None:
        self.server, self.port = secure_zookeeper()
        self.files = _Files()

    def session(self, host: str = HOST, **more: Any) -> "tuple[Deferred[None], Deferred[str]]":
        """Begin to connect; the results fire once there is a session, and with the first line of kazoo's log."""
        zookeeper = KazooZooKeeper(reactor, f"{host}:{self.port}", options_of(self.files.config(**more)))
        connected: Deferred[None] = Deferred()
        logged: Deferred[str] = Deferred()

        def changed(state: SessionState) -> None:
            if state is SessionState.CONNECTED and not connected.called:
                connected.callback(None)

        def warning(text: str) -> None:
            if not logged.called:
                logged.callback(text)

        for handler in zookeeper._kazoo.logger.handlers:
            handler.emit = lambda record: reactor.callFromThread(warning, record.getMessage())  # type: ignore
        zookeeper.connect(changed)
        self.addCleanup(zookeeper.close)
        return connected, logged

    async def refused(self, **more: Any) -> str:
        """The reason why there is no session."""
        connected, logged = self.session(**more)
        text = await logged
        self.assertFalse(connected.called)
        return text

    async def test_connected(self) -> None:
        """Certificates of one authority connect; the key may be encrypted, and stores are Java's too."""
        await self.session()[0]
        key = issued("a client", authority())
        encrypted = self.files.folder.put("encrypted.pem", key.key_pem("sesame") + key.chain_pem())
        store = self.files.folder.put("client.p12", key.pkcs12("sesame"))
        password = self.files.folder.put("password", b"sesame")
        for kind, path in (("PEM", encrypted), ("PKCS12", store)):
            await self.session(
                zk_ssl_key_store_type=kind, zk_ssl_key_store_location=path, zk_ssl_key_store_password_path=password
            )[0]

    async def test_foreign_server(self) -> None:
        """A server of an authority that is not trusted is refused."""
        self.files.folder.put("trust.pem", authority("another").chain_pem())
        self.assertIn("CERTIFICATE_VERIFY_FAILED", await self.refused())

    async def test_wrong_host(self) -> None:
        """A server whose certificate names another host is refused, unless names do not matter."""
        text = await self.refused(host="localhost")
        self.assertIn("Hostname mismatch", text)
        await self.session("localhost", zk_ssl_hostname_verification=False)[0]

    async def test_no_certificate(self) -> None:
        """A client without a certificate has no session where the server asks for one."""
        self.assertRegex(await self.refused(zk_ssl_key_store_location=""), "(?i)certificate|dropped|broken")

    async def test_new_files(self) -> None:
        """A new certificate is used by the next connection."""
        put(self.files.folder, "client.pem", issued("a stranger", authority("another")))
        connected, logged = self.session()
        await logged
        put(self.files.folder, "client.pem", issued("a client", authority()))
        await connected

    async def test_cluster(self) -> None:
        """A configuration reaches the driver: a cluster is made over TLS."""
        uri = f"zk+hierarchical://{HOST}:{self.port}{self.server.new_root()}"
        admin = create_cluster_admin(reactor, uri, options_of(self.files.config()))
        with capturedLogs() as events:
            await admin.open()
            try:
                self.assertTrue(await admin.initialize())
            finally:
                await admin.close()
        self.assertEqual([formatEvent(event) for event in events if event["log_namespace"] == "kazoo"], [])

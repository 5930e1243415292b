"""The driver on a real ZooKeeper whose connections break, whose sessions end, which goes away and comes back."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.protocols.portforward import ProxyFactory, ProxyServer
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import ZooKeeperServer, shared_zookeeper
from bookkeeper_twisted.errors import MetadataError, MetadataOutcomeUnknownError, MetadataUnavailableError
from bookkeeper_twisted.metadata.drivers import create_cluster_admin, create_driver
from bookkeeper_twisted.metadata.interfaces import DEFAULT_OPTIONS, MetadataOptions
from bookkeeper_twisted.metadata.locked_work import under_lock
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import CLOSED, INFO, OPEN

_reactor: Any = reactor


class _Proxy(ProxyServer):
    """One connection that can be cut."""

    factory: "_Proxies"

    def connectionMade(self) -> None:
        super().connectionMade()
        self.factory.connections.append(self)

    def connectionLost(self, reason: object = None) -> None:
        super().connectionLost(reason)
        self.factory.connections.remove(self)


class _Proxies(ProxyFactory):
    """A way to the server."""

    protocol = _Proxy

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port)
        self.connections: list[_Proxy] = []


class _ZooKeeperCase(TestCase):
    """A cluster of its own."""

    timeout = 60

    async def open(self, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> Any:
        """A driver, open until the end of the test."""
        driver = create_driver(_reactor, uri, options)
        self.addCleanup(lambda: Deferred.fromCoroutine(driver.close()))
        await driver.open()
        return driver

    async def initialize(self, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> None:
        """Makes the cluster."""
        admin = create_cluster_admin(_reactor, uri, options)
        await admin.open()
        try:
            await admin.initialize()
        finally:
            await admin.close()

    def told(self, driver: Any) -> "Callable[[set[str]], Deferred[None]]":
        """A function that waits until a driver is told these writable bookies."""
        news: list[frozenset[str]] = []
        waiting: list[tuple[set[str], Deferred[None]]] = []

        def listen(writable: frozenset[str], read_only: frozenset[str]) -> None:
            news.append(writable)
            for expected, waiter in waiting:
                if expected == writable and not waiter.called:
                    waiter.callback(None)

        def until(expected: set[str]) -> "Deferred[None]":
            waiter: Deferred[None] = Deferred()
            waiting.append((expected, waiter))
            if news and news[-1] == expected:
                waiter.callback(None)
            return waiter

        driver.registration.watch_bookies(listen)
        return until


class SharedServerTests(_ZooKeeperCase):
    """Connections and sessions that end while the server runs."""

    async def _end_session(self, server: ZooKeeperServer, driver: Any) -> None:
        """Ends the session of a driver by force."""
        thief: Any = KazooClient(server.hosts, client_id=driver._session.zookeeper._kazoo.client_id)
        for step in (thief.start, thief.stop, thief.close):
            await deferToThread(step)

    async def test_locks_of_an_expired_session(self) -> None:
        """Work under a lock ends with the session that held it, and others can take the lock."""
        server = shared_zookeeper()
        uri = server.uri(server.new_root())
        await self.initialize(uri)
        one, two = await self.open(uri), await self.open(uri)
        begun: Deferred[None] = Deferred()

        async def work() -> None:
            begun.callback(None)
            await Deferred()

        working = Deferred.fromCoroutine(under_lock(one.underreplication, 5, "one", work))
        await begun
        await self._end_session(server, one)
        with self.assertRaisesRegex(MetadataError, "was lost"):
            await working
        await two.underreplication.lock(5, "two")
        self.assertEqual(await two.underreplication.locked_ledgers(), {5: "two"})

    async def test_expired_session(self) -> None:
        """A bookie whose session is ended by force is registered again in the next one; others see both."""
        server = shared_zookeeper()
        uri = server.uri(server.new_root())
        await self.initialize(uri)
        one, two = await self.open(uri), await self.open(uri)
        until = self.told(two)
        await one.registration.register_bookie("a:1", False, INFO)
        await until({"a:1"})
        gone = until(set())
        await self._end_session(server, one)
        await gone
        await until({"a:1"})
        self.assertEqual(await two.registration.service_info("a:1"), INFO)
        await one.ledgers.create(1, OPEN)

    async def test_cut_connections(self) -> None:
        """Watches and registrations outlive connections that are cut, and calls under way are repeated."""
        server = shared_zookeeper()
        root = server.new_root()
        await self.initialize(server.uri(root))
        factory = _Proxies(server.port)
        port = _reactor.listenTCP(0, factory, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        one = await self.open(f"zk+hierarchical://127.0.0.1:{port.getHost().port}{root}")
        two = await self.open(server.uri(root))
        until = self.told(one)
        await one.registration.register_bookie("a:1", False, INFO)
        for number in range(3):
            calls = [Deferred.fromCoroutine(one.registration.instance_id()) for _ in range(20)]
            for connection in list(factory.connections):
                transport: Any = connection.transport
                transport.abortConnection()
            await two.registration.register_bookie(f"b:{number}", False, INFO)
            await until({"a:1", *(f"b:{n}" for n in range(number + 1))})
            for call in calls:
                await call
        await one.close()

    async def test_secured(self) -> None:
        """With security on, nodes belong to their creator: others cannot read, those with the identity can."""
        server = shared_zookeeper()
        uri = server.uri(server.new_root())
        secure = MetadataOptions(secure=True, auth=("digest:me:secret",))
        await self.initialize(uri, secure)
        mine = await self.open(uri, secure)
        self.assertEqual(await mine.ledgers.create(await mine.ledgers.generate_id(), OPEN), await mine.ledgers.read(0))
        stranger = create_driver(_reactor, uri)
        self.addCleanup(lambda: Deferred.fromCoroutine(stranger.close()))
        await self._refused(stranger.open())

    async def test_secured_without_identity(self) -> None:
        """Without an identity nothing can be secured, and nothing is created."""
        server = shared_zookeeper()
        root = server.new_root()
        await self._refused(self.initialize(server.uri(root), MetadataOptions(secure=True)))
        admin = create_cluster_admin(_reactor, server.uri(root))
        await admin.open()
        self.assertFalse(await admin.exists())
        await admin.close()

    async def _refused(self, call: Any) -> None:
        try:
            await call
        except MetadataError as error:
            self.assertRegex(str(error), "NoAuth|InvalidACL")
            return
        self.fail("not refused")


class OwnServerTests(_ZooKeeperCase):
    """A server that is stopped."""

    def setUp(self) -> None:
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        self.server = ZooKeeperServer(folder)
        self.server.start()
        self.addCleanup(self.server.stop)

    async def test_restart(self) -> None:
        """What is asked while the server is away is answered when it is back; nothing acknowledged is lost."""
        await self.initialize(self.server.uri())
        driver = await self.open(self.server.uri())
        until = self.told(driver)
        created = await driver.ledgers.create(1, OPEN)
        await driver.registration.register_bookie("a:1", False, INFO)
        self.server.stop()
        writing = Deferred.fromCoroutine(driver.ledgers.write(1, CLOSED, created.version))
        self.server.start()
        self.assertEqual((await writing).version, 1)
        self.assertEqual((await driver.ledgers.read(1)).value, CLOSED)
        await until({"a:1"})
        await driver.registration.register_bookie("b:1", False, INFO)
        await until({"a:1", "b:1"})

    async def test_gone(self) -> None:
        """A server that stays away is an error after a bounded time, for calls and for drivers."""
        await self.initialize(self.server.uri())
        options = MetadataOptions(session_timeout=0.5, max_retries=1, retry_start=0.01)
        driver = await self.open(self.server.uri(), options)
        self.server.stop()
        for call in (driver.ledgers.read(1), create_driver(_reactor, self.server.uri(), options).open()):
            try:
                await call
            except MetadataError:
                continue
            self.fail("no error")

    async def test_frozen(self) -> None:
        """A server that is connected and does not answer is an error in time; a write may have happened."""
        await self.initialize(self.server.uri())
        driver = await self.open(self.server.uri(), MetadataOptions(operation_timeout=0.5))
        await driver.ledgers.create(1, OPEN)
        os.kill(self.server.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.server.pid, os.WSTOPPED | os.WNOWAIT)  # until then its threads may still answer
        try:
            reading = self.assertFailure(Deferred.fromCoroutine(driver.ledgers.read(1)), MetadataUnavailableError)
            removing = self.assertFailure(Deferred.fromCoroutine(driver.ledgers.remove(1)), MetadataOutcomeUnknownError)
            self.assertIn("was not done", str(await reading))
            self.assertIn("may have been done", str(await removing))
        finally:
            os.kill(self.server.pid, signal.SIGCONT)

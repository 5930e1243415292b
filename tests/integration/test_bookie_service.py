"""A bookie on threads, sockets and files."""

import shutil
import tempfile
from collections import deque
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem

from ..bookie.rig import add_replies, adds, reads, run


class _Client(Protocol):
    """Collects what it receives."""

    def __init__(self) -> None:
        self.received = b""
        self._wanted: tuple[int, Deferred[bytes]] | None = None

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self._check()

    def take(self, size: int) -> "Deferred[bytes]":
        """Fires with the next bytes."""
        self._wanted = (size, Deferred())
        waiting = self._wanted[1]
        self._check()
        return waiting

    def _check(self) -> None:
        if self._wanted is not None and len(self.received) >= self._wanted[0]:
            (size, waiting), self._wanted = self._wanted, None
            taken, self.received = self.received[:size], self.received[size:]
            waiting.callback(taken)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._wanted is not None:
            self._wanted[1].errback(reason)


_STATE = (bool, int, float, str, list, dict, set, frozenset, tuple, deque, type(None))


def _parts(something: object) -> dict[str, Any]:
    """Everything an object consists of, except the values that change as it works."""
    found = {name: getattr(something, name) for name in dir(something)}
    found["__class__"] = type(something)
    return {name: value for name, value in found.items() if callable(value) or not isinstance(value, _STATE)}


def _same(one: object, other: object) -> bool:
    """Whether it is the same object; a bound method is a new one each time it is asked for."""
    return one is other or (callable(one) and one == other)


class RealTests(TestCase):
    """The whole service."""

    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="bookie-service-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.store = MemoryStore()

    async def start(self) -> BookieService:
        config = BookieConfig(
            bookie_port=0, bookie_id="b1", advertised_address="127.0.0.1", allow_loopback=True,
            listening_interface="127.0.0.1",
            journal_directories=(self.directory + "/j",), ledger_directories=(self.directory + "/l",),
            metadata_service_uri="memory:x", http_server_enabled=True, http_server_port=0,
            http_server_host="127.0.0.1", journal_pre_alloc_size_mb=1, journal_max_size_mb=2,
        )  # fmt: skip
        service = BookieService(
            reactor, config, self.store.driver(reactor), RealFileSystem(),
            make_site=lambda admin: make_site(admin, reactor),
        )  # fmt: skip
        self.addCleanup(service.stop)
        await service.start()
        return service

    async def connect(self, port: int) -> _Client:
        client: _Client = await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port), _Client())
        return client

    async def test_restart(self) -> None:
        """Entries written over TCP are read over TCP after a restart."""
        service = await self.start()
        client = await self.connect(service.port)
        entries = run(1, 0, 1000, bytes(100))
        client.transport.write(adds(entries))  # type: ignore[union-attr]
        self.assertEqual(await client.take(28 * 1000), add_replies(entries, Status.EOK))
        await service.stop()
        service = await self.start()
        client = await self.connect(service.port)
        client.transport.write(reads(1, range(1000)))  # type: ignore[union-attr]
        replies = await client.take(1000 * (28 + 132))
        self.assertEqual(replies[28 : 28 + 132], entries.entry(0))
        await service.stop()

    async def test_reactor(self) -> None:
        """The reactor of an embedding application is the same object with the same methods and parts before, during
        and after a bookie's life."""
        await deferLater(reactor, 0, lambda: None)  # trial, too, changes it while a test waits
        same, before = reactor, _parts(reactor)
        self.assertIn("callLater", before)
        service = await self.start()
        client = await self.connect(service.port)
        entries = run(1, 0, 10, bytes(100))
        client.transport.write(adds(entries))  # type: ignore[union-attr]
        await client.take(28 * 10)
        during = _parts(reactor)
        client.transport.loseConnection()  # type: ignore[union-attr]
        await service.stop()
        from twisted.internet import reactor as installed

        self.assertIs(installed, same)
        for parts in (during, _parts(reactor)):
            changed = [name for name, part in before.items() if not _same(parts.get(name), part)]
            self.assertEqual(changed, [])

    async def test_http(self) -> None:
        """The heartbeat answers."""
        service = await self.start()
        client = await self.connect(service.http_port)
        client.transport.write(b"GET /heartbeat HTTP/1.0\r\n\r\n")  # type: ignore[union-attr]
        self.assertTrue((await client.take(15)).startswith(b"HTTP/1.0 200"))
        client.transport.loseConnection()  # type: ignore[union-attr]
        await service.stop()

"""The transport that sends at once, held against Twisted's own: real sockets, a reactor turned by hand."""

import socket
from collections.abc import Sequence
from typing import Any, cast

from twisted.internet.abstract import FileDescriptor
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.internet.protocol import Factory
from twisted.internet.tcp import Connector, Port
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import ILogObserver, capturedLogs, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.protocol.direct_transport import (
    DIRECT,
    GATHER_SIZE,
    MAX_BURST,
    MAX_GATHERED,
    DirectConnection,
    DirectConnector,
    DirectPort,
    missing,
)
from bookkeeper_twisted.protocol.interfaces import IGatheringTransport

from ..bounds import until
from .loopback import AcceptedTestCase, DialledTestCase, LoopbackTestCase, RecordingProducer

_MUCH = bytes(range(256)) * 16 * 1024  # 4 MiB: more than sockets as small as ours hold


class _Contract:
    """What holds for any transport."""

    class Tests(LoopbackTestCase):
        """The suite."""

        def test_writes(self) -> None:
            """Writes and sequences of writes arrive in order, whether something waits or not."""
            self.transport.write(b"one ")
            self.transport.writeSequence([b"two ", b"", b"three "])
            self.transport.write(_MUCH)
            self.transport.write(b"four ")
            self.transport.writeSequence([b"five ", _MUCH])
            expected = b"one two three " + _MUCH + b"four five " + _MUCH
            self.assertTrue(self.read(len(expected)) == expected)

        def test_nothing(self) -> None:
            """Empty writes are nothing."""
            self.transport.write(b"")
            self.transport.writeSequence([])
            self.transport.writeSequence([b""])
            self.transport.write(b"x")
            self.assertEqual(self.read(1), b"x")

        def test_no_bytes(self) -> None:
            """What is no bytes is refused."""
            for wrong in ("text", 5, None):
                self.assertRaises(TypeError, self.transport.write, wrong)
                self.assertRaises(TypeError, self.transport.writeSequence, [wrong])

        def test_push_producer(self) -> None:
            """It is paused while more waits than fits, and resumed when nothing waits any more."""
            producer = RecordingProducer()
            self.transport.registerProducer(producer, True)
            self.transport.write(b"x")
            self.assertEqual(producer.events, [])
            self.transport.write(_MUCH)
            self.assertEqual(producer.events, ["pause"])
            self.assertEqual(len(self.read(len(_MUCH) + 1)), len(_MUCH) + 1)
            self.turn_until(lambda: len(producer.events) == 2)
            self.assertEqual(producer.events, ["pause", "resume"])
            self.transport.loseConnection()
            self.lose()
            self.assertEqual(producer.events, ["pause", "resume", "stop"])

        def test_paused_producer_keeps_the_connection(self) -> None:
            """A paused producer is resumed before the close that was asked for; its leaving ends the connection."""
            producer = RecordingProducer()
            self.transport.registerProducer(producer, True)
            self.transport.write(_MUCH)
            self.transport.loseConnection()
            self.assertTrue(self.read(len(_MUCH)) == _MUCH)
            self.turn_until(lambda: producer.events == ["pause", "resume"])
            self.transport.write(b"last")
            self.transport.unregisterProducer()
            self.assertEqual(self.read(5), b"last")
            self.assertIsNotNone(self.lose().check(ConnectionDone))

        def test_unregistered_producer(self) -> None:
            """It is told nothing any more."""
            producer = RecordingProducer()
            self.transport.registerProducer(producer, True)
            self.assertRaises(RuntimeError, self.transport.registerProducer, producer, True)
            self.transport.unregisterProducer()
            self.transport.write(_MUCH)
            self.assertEqual(len(self.read(len(_MUCH))), len(_MUCH))
            self.assertEqual(producer.events, [])

        def test_pull_producer(self) -> None:
            """It is asked for more by events, never from inside its write."""
            producer = RecordingProducer()
            self.transport.registerProducer(producer, False)
            for n in range(1, 4):
                self.transport.write(b"x")
                self.assertEqual(producer.events, ["resume"] * n)
                self.turn_until(lambda n=n: len(producer.events) > n)
            self.assertEqual(self.read(3), b"xxx")

        def test_lose_connection(self) -> None:
            """A close goes behind what was written before and after it."""
            self.transport.write(_MUCH)
            self.transport.loseConnection()
            self.transport.write(b"behind")
            self.assertEqual(self.protocol.lost, [])
            self.assertTrue(self.read(len(_MUCH) + 7) == _MUCH + b"behind")
            self.assertIsNotNone(self.lose().check(ConnectionDone))
            self.transport.write(b"nobody")

        def test_lose_idle_connection(self) -> None:
            """A close with nothing to wait for comes with the next turn."""
            self.transport.loseConnection()
            self.assertEqual(self.protocol.lost, [])
            self.assertIsNotNone(self.lose().check(ConnectionDone))
            self.assertEqual(self.read(1), b"")

        def test_abort(self) -> None:
            """An abort drops what waits and all that is written later."""
            self.transport.write(_MUCH)
            self.transport.abortConnection()
            self.transport.abortConnection()
            self.transport.write(b"never")
            self.assertEqual(self.protocol.lost, [])
            self.assertIsNotNone(self.lose().check(ConnectionAborted))

        def test_abort_while_idle(self) -> None:
            """What is written behind an abort is not sent, even if nothing else waits."""
            self.transport.abortConnection()
            self.transport.write(b"never")
            self.lose()
            self.assertRaises(ConnectionResetError, self.peer.recv, 1)

        def test_reset_by_the_peer(self) -> None:
            """Writes to a peer that is gone raise nothing; the reactor says so, once, and not from inside a write."""
            self.reset()
            for _ in range(3):
                self.transport.write(b"x")
                self.transport.writeSequence([b"y", b"z"])
            self.assertEqual(self.protocol.lost, [])
            self.assertIsNotNone(self.lose().check(ConnectionLost, ConnectionDone))

        def test_reset_while_data_waits(self) -> None:
            """The same with a backlog; its producer is stopped."""
            producer = RecordingProducer()
            self.transport.registerProducer(producer, True)
            self.transport.pauseProducing()  # so that only the write event can tell
            self.transport.write(_MUCH)
            self.reset()
            self.transport.write(b"x")
            self.assertEqual(self.protocol.lost, [])
            self.assertIsNotNone(self.lose().check(ConnectionLost))
            self.assertEqual(producer.events[-1], "stop")

        def test_half_close(self) -> None:
            """Only the writing end is closed, behind what waits; the peer can go on, and ends it."""
            self.transport.write(_MUCH)
            self.transport.loseWriteConnection()
            self.assertTrue(self.read(len(_MUCH) + 1) == _MUCH)
            self.turn_until(lambda: self.protocol.half_closed)
            self.transport.write(b"closed")
            self.peer.sendall(b"more")
            self.turn_until(lambda: self.protocol.received)
            self.assertEqual(self.protocol.received, [b"more"])
            self.peer.shutdown(socket.SHUT_WR)
            self.assertIsNotNone(self.lose().check(ConnectionDone))
            self.assertEqual(self.protocol.half_closed, ["write", "read"])

        def test_fairness(self) -> None:
            """A peer that sends without a pause is heard once a turn, for no more than one buffer."""
            self.transport.bufferSize = 10
            self.peer.sendall(b"x" * 1000)
            for turn in range(1, 4):
                self.reactor.iterate(0)
                self.assertEqual([len(data) for data in self.protocol.received], [10] * turn)

        def test_paused(self) -> None:
            """A transport that is paused reads nothing until it is resumed."""
            self.transport.pauseProducing()
            self.peer.sendall(b"x")
            self.reactor.iterate(0)
            self.assertEqual(self.protocol.received, [])
            self.transport.resumeProducing()
            self.turn_until(lambda: self.protocol.received)


class TwistedServerContractTests(AcceptedTestCase, _Contract.Tests):
    """Twisted's transport of a server: the measure."""

    port_class = Port


class TwistedClientContractTests(DialledTestCase, _Contract.Tests):
    """Twisted's transport of a client."""

    connector_class = Connector


class DirectServerContractTests(AcceptedTestCase, _Contract.Tests):
    """Our server's."""

    port_class = DirectPort


class DirectClientContractTests(DialledTestCase, _Contract.Tests):
    """Our client's."""

    connector_class = DirectConnector


class _SlowSocket:
    """Takes little at a time, and remembers the objects it was given to read from."""

    def __init__(self, real: socket.socket) -> None:
        self._real = real
        self.given: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def send(self, data: Any) -> int:
        view = memoryview(data)
        self.given.append(view.obj)
        return self._real.send(view[:1000])

    def sendmsg(self, pieces: Sequence[Any]) -> int:
        return self.send(pieces[0])


class _Beyond:
    """What ours do beyond the contract."""

    class Tests(LoopbackTestCase):
        """The suite."""

        def test_interface(self) -> None:
            """It says that it gathers."""
            self.assertIsInstance(self.transport, DirectConnection)
            verifyObject(IGatheringTransport, self.transport)

        def test_at_once(self) -> None:
            """What the kernel takes is there without a turn of the reactor, which is asked for nothing."""
            self.transport.write(b"one ")
            self.transport.writeSequence([b"two ", memoryview(b"three")])
            self.assertEqual(self.peer.recv(100), b"one two three")
            self.assertEqual(self.reactor.getWriters(), [])

        def test_order_of_nested_writes(self) -> None:
            """What a resumed producer writes goes out at once, behind what waited."""
            producer = RecordingProducer()
            producer.resumeProducing = lambda: self.transport.write(b"nested")  # type: ignore[method-assign]
            self.transport.registerProducer(producer, True)
            self.transport.write(_MUCH)
            self.assertTrue(self.read(len(_MUCH) + 6) == _MUCH + b"nested")

        def test_burst(self) -> None:
            """A producer whose peer takes all that comes is paused after a burst, until the next turn."""
            producer = RecordingProducer()
            self.transport.registerProducer(producer, True)
            sent = 0
            for _ in until(lambda: producer.events, MAX_BURST // 512):
                self.transport.write(b"x" * 1024)
                sent += len(self.peer.recv(1024, socket.MSG_WAITALL))
            self.assertEqual((sent, producer.events), (MAX_BURST + 1024, ["pause"]))
            self.reactor.iterate(0)
            self.assertEqual(producer.events, ["pause", "resume"])
            self.transport.write(b"x")
            self.assertEqual(self.reactor.getWriters(), [])

        def test_waiting_is_bounded(self) -> None:
            """Big chunks may be received without as much being held for a peer that does not read."""
            producer = RecordingProducer()
            self.transport.bufferSize = 4 * len(_MUCH)
            self.transport.registerProducer(producer, True)
            self.transport.write(_MUCH)
            self.assertEqual(producer.events, ["pause"])

        def test_gathered(self) -> None:
            """Long pieces of any number arrive in order."""
            pieces = [bytes([n % 251]) * GATHER_SIZE for n in range(MAX_GATHERED + 5)]
            self.transport.writeSequence(pieces)
            expected = b"".join(pieces)
            self.assertTrue(self.read(len(expected)) == expected)

        def test_views_are_let_go(self) -> None:
            """Memory behind a view may change, or go, once the write has returned."""
            memory = bytearray(_MUCH)
            self.transport.writeSequence([b"head", memoryview(memory)])
            memory.clear()
            memory.extend(b"changed")
            self.transport.writeSequence([b"tail", memoryview(memory)])
            memory.clear()
            expected = b"head" + _MUCH + b"tailchanged"
            self.assertTrue(self.read(len(expected)) == expected)

        def test_encrypted(self) -> None:
            """Once there is a layer of encryption all writes go through the base class, behind what was queued before;
            the base class passes them to the layer, if this Python has one."""
            above: list[bytes] = []
            self.transport.write(_MUCH)
            self.protocol.write = above.append  # type: ignore[attr-defined]
            self.protocol.writeSequence = above.extend  # type: ignore[attr-defined]
            self.transport.TLS = True
            self.transport.write(b"a")
            self.transport.writeSequence([b"b", memoryview(b"c")])
            FileDescriptor.write(self.transport, b"encrypted ")
            FileDescriptor.writeSequence(self.transport, [b"by", b" layer"])
            layered = hasattr(self.transport, "startTLS")
            expected = _MUCH + (b"" if layered else b"abc") + b"encrypted by layer"
            self.assertTrue(self.read(len(expected)) == expected)
            self.assertEqual(above, [b"a", b"b", b"c"] if layered else [])
            self.transport.TLS = False

        def test_closed(self) -> None:
            """What is queued is freed with the connection."""
            self.transport.write(_MUCH)
            self.assertGreater(self.transport._queued, 0)
            self.transport.abortConnection()
            self.lose()
            self.assertEqual((self.transport._queued, len(self.transport._pieces)), (0, 0))

        def test_bytes_accepted(self) -> None:
            """What the kernel has accepted is counted, also while more waits: a peer that reads is told from one that
            does not."""
            self.transport.write(b"four")
            self.assertEqual(self.transport.bytes_accepted, 4)
            self.transport.write(_MUCH)
            self.assertEqual(self.transport.bytes_accepted + self.transport._queued, 4 + len(_MUCH))
            self.assertGreater(self.transport._queued, 0)
            self.read(4 + len(_MUCH))
            self.assertEqual(self.transport.bytes_accepted, 4 + len(_MUCH))

        def test_slow_peer(self) -> None:
            """What waits for a slow peer is sent from where it was, not copied with every event."""
            self.transport.socket = slow = _SlowSocket(self.transport.socket)
            pieces = [bytes([n]) * 10_000 for n in range(3)]
            for piece in pieces:
                self.transport.write(piece)
            self.assertTrue(self.read(30_000) == b"".join(pieces))
            self.assertGreaterEqual(len(slow.given), 30)
            for given in slow.given:
                self.assertTrue(any(given is piece for piece in pieces))


class DirectServerTests(AcceptedTestCase, _Beyond.Tests):
    """The end that was accepted."""

    port_class = DirectPort


class PortTests(SynchronousTestCase):
    """A port that has no descriptor left."""

    def test_lines(self) -> None:
        """What it says about each connection that it cannot take is one line a minute."""
        clock = MemoryReactorClock()
        port = DirectPort(0, Factory(), 50, "", clock)
        clock.advance(1000)
        with capturedLogs() as events:
            for _ in range(3):
                for _ in range(100):
                    port._logger.info("EMFILE recovery: Closed socket from {address}", address="1.2.3.4")
                clock.advance(60)
        self.assertEqual(len(events), 3)


class MissingTests(SynchronousTestCase):
    """The check of what is borrowed from Twisted."""

    def test_this_version(self) -> None:
        """The version of Twisted that is installed has all of it."""
        self.assertTrue(DIRECT)
        self.assertEqual(missing(), [])

    def test_missing(self) -> None:
        """What a version lacks is named, and logged in one line."""
        lines: list[Any] = []
        observer = cast(ILogObserver, lines.append)
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        names = missing({Port: ("transport", "_gone"), Connector: ("_going",)})
        self.assertEqual(names, ["Port._gone", "Connector._going"])
        self.assertEqual(missing({Port: ("transport",)}), [])
        [line] = [formatEvent(line) for line in lines]
        self.assertIn("Port._gone", line)
        self.assertIn("slower", line)


class DirectClientTests(DialledTestCase, _Beyond.Tests):
    """The end that was asked for."""

    connector_class = DirectConnector

"""The sockets of one bookie: how many, which one, when again, when fewer."""

from random import Random

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.logger import LogLevel, capturedLogs, formatEvent

from bookkeeper_twisted.client.connections.bookie_peer import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    BookiePeer,
    PeerCounts,
)
from bookkeeper_twisted.client.connections.bookie_socket import BookieSocket
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ClientClosedError
from bookkeeper_twisted.security.reasons import BrokenTlsError, lost_connection

from ...bounds import until
from .socket_case import ADDRESS, BOOKIE, SocketCase


class BookiePeerTests(SocketCase):
    """At most three sockets."""

    limit = 3

    def setUp(self) -> None:
        super().setUp()
        self.peer = BookiePeer(self.settings, BOOKIE, V2, self.limit)

    def _choose(self) -> BookieSocket:
        return self.peer.choose(self.ids())

    def _fails(self) -> None:
        try:
            socket = self._choose()
        except BookieHandleNotAvailableError:
            return
        self.failureResultOf(socket.connected(1), BookieHandleNotAvailableError)

    def test_logged_once(self) -> None:
        """A bookie that is lost has one line in the log, whatever the number of its sockets and of the attempts that
        follow; one more when it is away for longer."""
        for _ in range(3):
            self._choose()
        with capturedLogs() as events:
            self.network.break_connections(ADDRESS)
            self.network.listeners.clear()
            for _ in range(21):
                self._fails()
                self.clock.advance(LONGEST_PAUSE)
        lines = [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn]
        self.assertEqual(len(lines), 2, lines)
        self.assertIn(f"bookie {BOOKIE}: the connection to {BOOKIE} was lost", lines[0])

    def test_broken_tls(self) -> None:
        """Sockets whose TLS has broken are counted; each way is a line a minute, which no other line hides."""
        with capturedLogs() as events:
            for cause in (ConnectionDone(), *map(BrokenTlsError, ("bad record", "bad record", "cut off"))):
                self._choose()._lost(lost_connection(BOOKIE, cause))
        lines = [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn]
        self.assertEqual(len(lines), 3, lines)
        self.assertIn("was lost: bad record", lines[1])
        self.assertEqual((self.peer.n_broken_tls, self.peer.n_lost), (3, 4))

    def test_overdue_is_logged_once(self) -> None:
        """Requests without a reply in time are a line a minute for all sockets, which has the number since the last."""
        sockets = [self._choose() for _ in range(2)]
        with capturedLogs() as events:
            for _ in range(30):
                for socket in sockets:
                    socket._overdue(5)
                self.clock.advance(5)
        lines = [formatEvent(event) for event in events]
        self.assertEqual(
            lines,
            [
                f"bookie {BOOKIE}: 5 requests had no reply in time",
                f"bookie {BOOKIE}: 120 requests had no reply in time",
                f"bookie {BOOKIE}: 120 requests had no reply in time",
            ],
        )

    def test_spread(self) -> None:
        """Flows open sockets up to the limit, then share them evenly."""
        chosen = [self._choose() for _ in range(6)]
        self.assertEqual(len(set(chosen[:3])), 3)
        self.assertTrue(all(socket.key is self.peer.key for socket in chosen))
        self.assertEqual(chosen[3:], chosen[:3])
        self.assertEqual(len(self.network.attempts), 3)

    def test_burst(self) -> None:
        """A burst before the first connection is there spreads as well, and never exceeds the limit."""
        self.hold()
        for _ in range(300):
            self._choose()
            self.assertLessEqual(len(self.peer.sockets), self.limit)
        self.assertEqual([len(socket.flows) for socket in self.peer.sockets], [100] * 3)
        self.let()
        self.assertEqual(len(self.network.attempts), 3)

    def test_idle_first(self) -> None:
        """A socket without flows is taken before another is made."""
        ids = self.ids()
        socket = self.peer.choose(ids)
        socket.leave(ids, ClientClosedError())
        self.assertIs(self._choose(), socket)
        self.assertEqual(len(self.network.attempts), 1)

    def test_one_attempt(self) -> None:
        """A socket that is being made is not made again for the flow that takes the place of its first."""
        self.hold()
        ids = self.ids()
        socket = self.peer.choose(ids)
        socket.leave(ids, ClientClosedError())
        self.assertIs(self._choose(), socket)
        self.let()
        self.assertEqual(len(self.network.attempts), 1)

    def _ask(self, socket: BookieSocket, size: int) -> None:
        """So many bytes are unacknowledged on a socket."""
        assert socket.connection is not None
        in_flight = socket.connection.in_flight
        in_flight.call(in_flight.own, 1, size, 5.0, 7, 0, int, int, Deferred())

    def test_load(self) -> None:
        """Bytes decide before flows; newcomers do not pile up on the socket that was idle."""
        first, second, third = (self._choose() for _ in range(3))
        self._ask(first, 10_000)
        second.traffic.wrote(5_000)
        third.traffic.wrote(1_000)
        chosen = [self._choose() for _ in range(12)]
        self.assertIs(chosen[0], third)
        self.assertIn(second, chosen)

    def test_load_spread(self) -> None:
        """Flows of very unequal rates spread: the busiest socket has at most a quarter more than the mean."""
        ratios = []
        for seed in range(5):
            self.setUp()
            chance, rates = Random(seed), dict[BookieSocket, float]()
            peer = BookiePeer(self.settings, BOOKIE, V2, 10)
            flows: list[tuple[BookieSocket, float]] = []
            for _ in range(600):
                flows.append((peer.choose(self.ids()), chance.paretovariate(2)))
                self.clock.advance(1)
                for socket, rate in flows:
                    socket.traffic.wrote(rate * 1000)
            for socket, rate in flows:
                rates[socket] = rates.get(socket, 0.0) + rate
            ratios.append(max(rates.values()) * len(rates) / sum(rates.values()))
        self.assertLessEqual(sorted(ratios)[2], 1.25)

    def test_lost(self) -> None:
        """After a loss the next flow gets a new socket at once; losses are counted."""
        first = self._choose()
        self.network.break_connections(ADDRESS)
        self.assertEqual((self.peer.sockets, self.peer.n_lost), ([], 1))
        self.assertIsNot(self._choose(), first)
        self._choose()
        self.assertEqual((self.peer.n_failed, self.peer.n_reconnects), (0, 1))

    def test_pauses(self) -> None:
        """Between attempts there is a pause that grows to a limit; in it flows fail without an attempt."""
        self.network.listeners.clear()
        pauses = []
        for _ in range(8):
            attempts = len(self.network.attempts)
            waited = 0.0
            for _ in until(lambda: len(self.network.attempts) > attempts):  # noqa: B023
                self._fails()
                if len(self.network.attempts) == attempts:
                    self.clock.advance(FIRST_PAUSE / 2)
                    waited += FIRST_PAUSE / 2
            pauses.append(round(waited, 1))
        self.assertEqual(pauses[0], 0.0)
        self.assertEqual(pauses[1:], sorted(pauses[1:]))
        self.assertAlmostEqual(pauses[1], FIRST_PAUSE, delta=FIRST_PAUSE / 2)
        self.assertAlmostEqual(pauses[-1], LONGEST_PAUSE, delta=FIRST_PAUSE)

    def test_success_ends_the_pauses(self) -> None:
        """After a connection that was there the pauses begin small again."""
        listener = self.network.listeners.pop(ADDRESS)
        for _ in range(3):
            self._fails()
            self.clock.advance(LONGEST_PAUSE)
        self.network.listeners[ADDRESS] = listener
        self._choose()
        del self.network.listeners[ADDRESS]
        self.network.break_connections(ADDRESS)
        self._fails()
        self.network.listeners[ADDRESS] = listener
        self.clock.advance(FIRST_PAUSE)
        self.assertTrue(self._choose().usable)

    def test_refused_beside_an_open_one(self) -> None:
        """While another socket cannot be made, flows share the one that is there."""
        first = self._choose()
        self.network.listeners.clear()
        self._fails()
        self.assertIs(self._choose(), first)
        self.assertEqual((self.peer.n_failed, self.peer.n_reconnects), (1, 0))

    def test_counts(self) -> None:
        """Sockets count from the first moment, connections once they are there."""
        first = self._choose()
        self._ask(first, 7)
        self.hold()
        self._choose()
        self.assertEqual(self.peer.counts(), PeerCounts(1, 2, 2, 0, 7, 0))

    def test_idle(self) -> None:
        """Sockets without flows are closed after a while, above a minimum; others are not."""
        flows = [self.ids() for _ in range(3)]
        sockets = [self.peer.choose(ids) for ids in flows]
        for socket, ids in zip(sockets[1:], flows[1:], strict=True):
            socket.leave(ids, ClientClosedError())
        self.clock.advance(239)
        self.peer.tick(240, 0, ClientClosedError())
        self.assertEqual(len(self.peer.sockets), 3)
        self.clock.advance(1)
        for socket in sockets:
            assert socket.connection is not None
            socket.connection.dataReceived(b"")
        self.peer.tick(240, 2, ClientClosedError())
        self.assertEqual(len(self.peer.sockets), 2)
        self.peer.tick(240, 0, ClientClosedError())
        self.assertEqual((self.peer.sockets, self.peer.n_lost), ([sockets[0]], 0))

    def test_close(self) -> None:
        """Closing fires when the last socket is gone, those that are being made included."""
        self._choose()
        self.hold()
        waiting = self._choose().connected(1)
        closed: Deferred[None] = self.peer.close(ClientClosedError())
        self.failureResultOf(waiting, ClientClosedError)
        self.assertNoResult(closed)
        self.network.move()
        self.successResultOf(closed)

    def test_close_unused(self) -> None:
        """A peer that was never used closes at once."""
        self.successResultOf(self.peer.close(ClientClosedError()))


class OwnSocketsTests(SocketCase):
    """Pooling is off."""

    def test_own(self) -> None:
        """Every flow has a socket of its own, which ends with it."""
        peer = BookiePeer(self.settings, BOOKIE, V2, 0)
        flows = [self.ids() for _ in range(5)]
        sockets = [peer.choose(ids) for ids in flows]
        self.assertEqual((len(set(sockets)), len(self.network.attempts)), (5, 5))
        sockets[0].leave(flows[0], ClientClosedError())
        self.network.move()
        self.successResultOf(sockets[0].gone)
        self.assertEqual(peer.sockets, sockets[1:])

    def test_given_up(self) -> None:
        """A flow that ends before its socket is made is no failure of the bookie: others need not wait."""
        peer = BookiePeer(self.settings, BOOKIE, V2, 0)
        self.hold()
        ids = self.ids()
        peer.choose(ids).leave(ids, ClientClosedError())
        self.assertTrue(peer.choose(self.ids()).usable)
        self.assertEqual((peer.n_failed, peer.n_reconnects), (0, 0))

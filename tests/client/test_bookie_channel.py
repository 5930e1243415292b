"""One connection to one bookie: when it is made, who gets it, what happens when it cannot be made."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.bookie_channel import FIRST_PAUSE, LONGEST_PAUSE, BookieChannel
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ClientClosedError
from bookkeeper_twisted.protocol.client import ClientConnection, RequestLimits
from bookkeeper_twisted.testing.memory_network import MemoryNetwork

ADDRESS = ("h", 1)


class BookieChannelTests(SynchronousTestCase):
    """A channel on a network in memory."""

    def setUp(self) -> None:
        """A bookie listens."""
        self.clock = Clock()
        self.network = MemoryNetwork()
        self.network.listeners[ADDRESS] = Factory.forProtocol(Protocol)
        self.channel = self._channel(lambda _: succeed(self.network.endpoint(*ADDRESS)))

    def _channel(self, resolve: Any) -> BookieChannel:
        return BookieChannel(self.clock, "h:1", 2, RequestLimits(), True, resolve)

    def _connected(self) -> ClientConnection:
        return self.successResultOf(self.channel.connected())

    def test_lazy(self) -> None:
        """The connection is made when first asked for, and once."""
        self.assertEqual(self.network.attempts, [])
        self.assertIsNone(self.channel.ready)
        connection = self._connected()
        self.assertIs(self._connected(), connection)
        self.assertIs(self.channel.ready, connection)
        self.assertEqual(len(self.network.attempts), 1)

    def test_waiters_in_order(self) -> None:
        """Those who wait get the connection in the order they asked; who asks meanwhile comes last."""
        gate: Deferred[IStreamClientEndpoint] = Deferred()
        channel = self._channel(lambda _: gate)
        order: list[str] = []

        def first(_: object) -> None:
            order.append("first")
            self.assertIsNone(channel.ready)
            channel.connected().addCallback(lambda _: order.append("third"))

        channel.connected().addCallback(first)
        channel.connected().addCallback(lambda _: order.append("second"))
        gate.callback(self.network.endpoint(*ADDRESS))
        self.assertEqual(order, ["first", "second", "third"])
        self.assertEqual(len(self.network.attempts), 1)

    def test_cancelled_waiter(self) -> None:
        """A waiter that gave up is not called; the others are."""
        gate: Deferred[IStreamClientEndpoint] = Deferred()
        channel = self._channel(lambda _: gate)
        one, two = channel.connected(), channel.connected()
        one.cancel()
        self.failureResultOf(one, CancelledError)
        gate.callback(self.network.endpoint(*ADDRESS))
        self.successResultOf(two)

    def test_waiter_cancelled_by_another(self) -> None:
        """Who hears of the failure first may cancel those behind."""
        self.network.listeners.clear()
        gate: Deferred[IStreamClientEndpoint] = Deferred()
        channel = self._channel(lambda _: gate)
        first, second = channel.connected(), channel.connected()

        def give_up(failure: Failure) -> Failure:
            second.cancel()
            return failure

        failed = first.addErrback(give_up)
        gate.callback(self.network.endpoint(*ADDRESS))
        self.failureResultOf(failed, BookieHandleNotAvailableError)
        self.failureResultOf(second, CancelledError)

    def test_lost(self) -> None:
        """After a loss the next request connects again at once."""
        connection = self._connected()
        self.network.break_connections(ADDRESS)
        self.assertIsNone(self.channel.ready)
        self.assertIsNot(self._connected(), connection)

    def test_refused(self) -> None:
        """A refused connection fails all who wait, with the reason."""
        self.network.listeners.clear()
        failure = self.failureResultOf(self.channel.connected(), BookieHandleNotAvailableError)
        self.assertIn("h:1", str(failure.value))

    def test_pauses(self) -> None:
        """Between attempts there is a pause that grows to a limit; in it requests fail without an attempt."""
        self.network.listeners.clear()
        pauses = []
        for _ in range(8):
            attempts = len(self.network.attempts)
            waited = 0.0
            while len(self.network.attempts) == attempts:
                self.failureResultOf(self.channel.connected(), BookieHandleNotAvailableError)
                if len(self.network.attempts) == attempts:
                    self.clock.advance(FIRST_PAUSE / 2)
                    waited += FIRST_PAUSE / 2
            pauses.append(round(waited, 1))
        self.assertEqual(pauses[0], 0.0)
        self.assertEqual(pauses[1:], sorted(pauses[1:]))
        self.assertAlmostEqual(pauses[1], FIRST_PAUSE, delta=FIRST_PAUSE / 2)
        self.assertAlmostEqual(pauses[-1], LONGEST_PAUSE, delta=FIRST_PAUSE)

    def test_success_ends_the_pauses(self) -> None:
        """After a success the pauses begin small again."""
        listener = self.network.listeners.pop(ADDRESS)
        for _ in range(3):
            self.failureResultOf(self.channel.connected(), BookieHandleNotAvailableError)
            self.clock.advance(LONGEST_PAUSE)
        self.network.listeners[ADDRESS] = listener
        self._connected()
        del self.network.listeners[ADDRESS]
        self.network.break_connections(ADDRESS)
        self.failureResultOf(self.channel.connected(), BookieHandleNotAvailableError)
        self.network.listeners[ADDRESS] = listener
        self.clock.advance(FIRST_PAUSE)
        self._connected()

    def test_no_address(self) -> None:
        """A bookie whose address is not found is not available."""
        channel = self._channel(lambda _: fail(BookieHandleNotAvailableError("unknown")))
        self.failureResultOf(channel.connected(), BookieHandleNotAvailableError)

    def test_close(self) -> None:
        """Closing ends the connection and fires when the socket is gone; later requests fail."""
        self._connected()
        closed = self.channel.close(ClientClosedError())
        self.assertNoResult(closed)
        self.network.move()
        self.successResultOf(closed)
        self.failureResultOf(self.channel.connected(), ClientClosedError)

    def test_close_while_connecting(self) -> None:
        """Closing during an attempt fails those who wait, and the attempt is given up."""
        self.network.unanswered.add(ADDRESS)
        waiter = self.channel.connected()
        self.successResultOf(self.channel.close(ClientClosedError()))
        self.failureResultOf(waiter, ClientClosedError)
        self.failureResultOf(self.channel.connected(), ClientClosedError)

    def test_close_unused(self) -> None:
        """A channel that was never used closes at once."""
        self.successResultOf(self.channel.close(ClientClosedError()))

"""A reactor that looks again before it sleeps."""

import select
import socket
from collections import deque
from typing import Any

from twisted.internet.abstract import FileDescriptor
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.selectreactor import SelectReactor
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.server import busy_poll
from bookkeeper_twisted.protocol.server.busy_poll import ROUND, BusyPoller, make_busy

LIMIT = 50e-6
READY = [(3, 1)]


class FakeEpoll:
    """Time passes with every look; what comes is scripted by moments."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ready_at: deque[float] = deque()
        self.timeouts: list[float] = []

    def poll(self, timeout: float = -1, maxevents: int = -1) -> list[tuple[int, int]]:
        """A look takes 10 us; a wait lasts until something is ready."""
        self.timeouts.append(timeout)
        self.now += 10e-6
        if timeout and self.ready_at:
            self.now = max(self.now, self.ready_at[0])
        if self.ready_at and self.ready_at[0] <= self.now:
            self.ready_at.popleft()
            return READY
        return []

    register = modify = unregister = fileno = close = poll


class BusyPollerTests(SynchronousTestCase):
    """:class:`BusyPoller` over a scripted epoll."""

    def setUp(self) -> None:
        self.epoll = FakeEpoll()
        self.patch(busy_poll, "perf_counter", lambda: self.epoll.now)
        self.requests: list[tuple[int, int]] = []
        self.takes = False
        self.answers = True
        self.poller = BusyPoller(self.epoll, LIMIT, self.handle)  # type: ignore[arg-type]

    def handle(self, fd: int, event: int) -> bool:
        """A connection that answers at once, if it does."""
        if self.takes:
            self.requests.append((fd, event))
            self.poller.answered = self.answers
        return self.takes

    def turn(self, after: float, answered: bool = True, timeout: float = 5.0) -> list[float]:
        """One poll for something that becomes ready ``after`` seconds; the time-outs it passed on."""
        self.epoll.timeouts.clear()
        self.epoll.ready_at.append(self.epoll.now + after)
        self.poller.answered = answered
        self.assertEqual(self.poller.poll(timeout, 9), READY)
        return list(self.epoll.timeouts)

    def test_caught(self) -> None:
        """What comes soon after an answer is found without sleeping."""
        self.assertEqual(self.turn(25e-6), [0, 0, 0])
        self.assertEqual(self.poller.caught, 1)

    def test_only_after_an_answer(self) -> None:
        """Without an answer it sleeps at once, and one answer counts once."""
        self.assertEqual(self.turn(25e-6, answered=False), [5.0])
        self.turn(5e-6)
        self.epoll.timeouts.clear()
        self.assertEqual(self.poller.poll(5.0, 9), [])
        self.assertEqual(self.epoll.timeouts, [5.0])

    def test_in_vain(self) -> None:
        """Where looking was in vain it sleeps at once, until a wait has been short again."""
        self.assertEqual(self.turn(1.0)[-1], 5.0)
        self.assertEqual(self.turn(1.0), [5.0])
        self.assertEqual(self.turn(60e-6), [5.0])
        self.assertEqual(self.turn(5e-6), [0])

    def test_no_time(self) -> None:
        """A poll that may hardly wait is passed on."""
        self.assertEqual(self.turn(5e-6, timeout=0), [0])
        self.assertEqual(self.turn(5e-6, timeout=20e-6), [20e-6])

    def test_for_ever(self) -> None:
        """A poll without a limit looks again, too."""
        self.assertEqual(self.turn(15e-6, timeout=-1), [0, 0])


    def test_handled_here(self) -> None:
        """The requests of one connection are handled without a turn of the reactor, until no more come."""
        self.takes = self.poller.answered = True
        self.epoll.ready_at.extend([5e-6, 35e-6, 60e-6])
        self.epoll.ready_at.append(0.5)
        self.assertEqual(self.poller.poll(5.0, 9), READY)
        self.assertEqual((self.requests, self.epoll.timeouts[-1]), (READY * 3, 5.0))

    def test_not_answered(self) -> None:
        """A request that is not answered at once ends it: something else has to happen first."""
        self.takes, self.answers, self.poller.answered = True, False, True
        self.epoll.ready_at.extend([5e-6, 15e-6])
        self.assertEqual(self.poller.poll(5.0, 9), [])
        self.assertEqual(len(self.requests), 1)

    def test_round(self) -> None:
        """A connection that always has more to say, or others that have, leave the reactor its turns."""
        for timeout, most in ((5.0, ROUND), (200e-6, 200e-6)):
            self.takes = self.poller.answered = True
            began = self.epoll.now
            self.epoll.ready_at = deque([began] * 1000)
            self.assertEqual(self.poller.poll(timeout, 9), READY)
            self.assertLessEqual(self.epoll.now - began, most + 20e-6)
            self.assertGreater(self.epoll.now - began, most - 20e-6)
        self.patch(self.epoll, "poll", lambda timeout, maxevents: READY * 2)
        poller = BusyPoller(self.epoll, LIMIT, self.handle)  # type: ignore[arg-type]
        poller.answered = True
        self.assertEqual(poller.poll(5.0, 9), READY * 2)


class MakeBusyTests(SynchronousTestCase):
    """:func:`make_busy`."""

    def reactor(self, kind: Any) -> Any:
        """A reactor of its own."""
        reactor = kind()
        for reader in reactor.removeAll():
            self.addCleanup(reader.connectionLost, None)
        return reactor

    def test_real(self) -> None:
        """A reactor on epoll goes on as before, with what was registered; it is made busy once."""
        reactor = self.reactor(EPollReactor)
        self.addCleanup(reactor._poller.close)
        one, two = socket.socketpair()
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        reactor._poller.register(one.fileno(), select.EPOLLIN)
        poller = make_busy(reactor, LIMIT)
        assert poller is not None
        self.assertIs(make_busy(reactor, LIMIT), poller)
        self.assertIs(reactor._poller, poller)
        two.send(b"x")
        poller.answered = True
        self.assertEqual(poller.poll(1.0, 8), [(one.fileno(), select.EPOLLIN)])

    def test_handle(self) -> None:
        """Only connections that answer at once are handled outside of the reactor's turn, and not where calls wait."""
        reactor = self.reactor(EPollReactor)
        poller = make_busy(reactor, 1.0)
        assert poller is not None
        self.addCleanup(poller.close)
        one, two = socket.socketpair()
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        read: list[bytes] = []

        class Selectable(FileDescriptor):
            answers_at_once = True

            def fileno(self) -> int:
                return one.fileno()

            def doRead(self) -> None:
                read.append(one.recv(10))

        selectable = Selectable(reactor)
        reactor.addReader(selectable)
        ready = [(one.fileno(), select.EPOLLIN)]
        for at_once, waiting, events in ((True, [], []), (False, [], ready), (True, [None], ready)):
            selectable.answers_at_once, reactor._newTimedCalls = at_once, waiting
            two.send(b"x")
            poller.answered = True
            self.assertEqual(poller.poll(5.0, 8), events)
        self.assertEqual(read, [b"x"])

    def test_others(self) -> None:
        """Other reactors stay as they are, and so does every reactor where it is not wanted."""
        self.assertIsNone(make_busy(self.reactor(SelectReactor), LIMIT))
        reactor = self.reactor(EPollReactor)
        self.addCleanup(reactor._poller.close)
        self.assertIsNone(make_busy(reactor, 0))
        self.assertIsInstance(reactor._poller, select.epoll)

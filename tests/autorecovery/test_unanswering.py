"""The record of bookies that are registered and do not answer."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.unanswering import ENOUGH, FIRST_PAUSE, LONGEST_PAUSE, UnansweringBookies
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    ClientClosedError,
    NoSuchEntryError,
    RequestTimeoutError,
    TooManyRequestsError,
)


class UnansweringTests(SynchronousTestCase):
    """One bookie, or two."""

    def setUp(self) -> None:
        """Makes the record."""
        self.clock = Clock()
        self.record = UnansweringBookies(self.clock, "tests")
        self.sent: list[Deferred[int]] = []
        self.lines: list[str] = []
        observer: Any = self._line
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)

    def _line(self, event: Any) -> None:
        if event["log_namespace"].endswith("UnansweringBookies"):
            self.lines.append(event["log_format"].format(**event))

    def send(self) -> "Deferred[int]":
        """A request without an answer yet."""
        self.sent.append(Deferred())
        return self.sent[-1]

    def ask(self, bookie_id: str = "b:1") -> "Deferred[int]":
        """A request is made."""
        return Deferred.fromCoroutine(self.record.ask(bookie_id, self.send))

    def unanswered(self, times: int, bookie_id: str = "b:1") -> None:
        """Requests that are sent and time out."""
        for _ in range(times):
            asked = self.ask(bookie_id)
            self.sent[-1].errback(RequestTimeoutError())
            self.failureResultOf(asked, RequestTimeoutError)

    def test_left_out(self) -> None:
        """After some unanswered requests no other is sent for a while; other bookies are asked."""
        self.unanswered(ENOUGH - 1)
        self.assertEqual(list(self.record.bookies), [])
        self.unanswered(1)
        self.assertEqual(list(self.record.bookies), ["b:1"])
        error = self.failureResultOf(self.ask(), BookieHandleNotAvailableError).value
        self.assertEqual(str(error), "not checked: bookie b:1 does not answer")
        self.assertEqual((len(self.sent), self.record.left_out), (ENOUGH, 1))
        self.assertNoResult(self.ask("c:1"))

    def test_no_connection(self) -> None:
        """A bookie that cannot be reached does not answer, either."""
        for _ in range(ENOUGH):
            self.record.heard("b:1", BookieHandleNotAvailableError())
        self.assertIsNotNone(self.record.refusal("b:1"))

    def test_answers_between(self) -> None:
        """Only requests in a row count: an error of the bookie, or that it is overloaded, is an answer."""
        for error in (None, NoSuchEntryError(1), TooManyRequestsError(1)):
            self.unanswered(ENOUGH - 1)
            self.record.heard("b:1", error)
        self.unanswered(ENOUGH - 1)
        self.assertIsNone(self.record.refusal("b:1"))

    def test_one_tries(self) -> None:
        """After the pause one request is sent, and the next after a longer one, up to a limit."""
        self.unanswered(ENOUGH)
        pause = FIRST_PAUSE
        for _ in range(5):
            self.clock.advance(pause - 1)
            self.failureResultOf(self.ask(), BookieHandleNotAvailableError)
            self.clock.advance(1)
            asked = self.ask()
            self.failureResultOf(self.ask(), BookieHandleNotAvailableError)
            self.sent[-1].errback(RequestTimeoutError())
            self.failureResultOf(asked, RequestTimeoutError)
            pause = min(2 * pause, LONGEST_PAUSE)
        self.assertEqual(pause, LONGEST_PAUSE)

    def test_answers_again(self) -> None:
        """An answer, also one to an older request, ends it, and as many requests as before begin it anew."""
        late = self.ask()
        self.unanswered(ENOUGH)
        self.clock.advance(7)
        self.sent[0].callback(3)
        self.assertEqual((self.successResultOf(late), list(self.record.bookies)), (3, []))
        self.unanswered(ENOUGH - 1)
        self.assertNoResult(self.ask())

    def test_says_nothing(self) -> None:
        """A request that was cancelled, or ended with the client, is neither answered nor unanswered."""
        self.unanswered(ENOUGH - 1)
        asked = self.ask()
        asked.cancel()
        self.failureResultOf(asked)
        self.record.heard("b:1", ClientClosedError())
        self.assertEqual(list(self.record.bookies), [])
        self.unanswered(1)
        self.assertEqual(list(self.record.bookies), ["b:1"])
        self.record.heard("b:1", ClientClosedError())
        self.assertEqual(list(self.record.bookies), ["b:1"])

    def test_log(self) -> None:
        """A line says that a bookie does not answer, however many requests there are, and one that it does again."""
        self.unanswered(ENOUGH)
        for _ in range(3):
            self.record.heard("b:1", RequestTimeoutError())
        self.clock.advance(40)
        self.record.heard("b:1")
        self.record.heard("b:1")
        self.assertEqual(self.lines, [
            "bookie b:1 does not answer: tests leave it out and try it again after 30 s",
            "bookie b:1 answers again after 40 s",
        ])  # fmt: skip

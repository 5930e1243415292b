"""The questions of the console to the bookies of the cluster."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.admin import DiskSpace
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, RequestTimeoutError, UnauthorizedAccessError
from bookkeeper_twisted.http.console import bookie_answers
from bookkeeper_twisted.http.console.bookie_answers import AGAIN, KNOWN_SECONDS, PATIENCE, BookieAnswers


class AskedBookies:
    """The client of a cluster whose bookies answer when a test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Deferred[Any]]] = []

    async def disk_space_of(self, bookie_id: str) -> Any:
        """Waits for the test."""
        answer: Deferred[Any] = Deferred()
        self.asked.append((bookie_id, answer))
        return await answer

    def answer(self, answer: object) -> None:
        """Answer all questions."""
        asked, self.asked = self.asked, []
        for _, each in asked:
            each.callback(answer)


class BookieAnswersTests(SynchronousTestCase):
    """With bookies of the test."""

    def setUp(self) -> None:
        self.clock, self.admin = Clock(), AskedBookies()
        self.clock.advance(100)
        self.answers = BookieAnswers(self.clock)

    def ask(self, *bookie_ids: str) -> "Deferred[Any]":
        """Begin a sample."""
        return Deferred.fromCoroutine(self.answers.ask(self.admin, bookie_ids))  # type: ignore[arg-type]

    def of(self, bookie_id: str) -> Any:
        """What a bookie has answered."""
        return self.answers.of(bookie_id)

    def names(self) -> list[str]:
        """The bookies with an open question."""
        return [name for name, _ in self.admin.asked]

    def test_at_once(self) -> None:
        """All bookies are asked at the same time, and a sample ends when all have answered."""
        sample = self.ask("a", "b")
        self.assertEqual(self.names(), ["a", "b"])
        self.assertNoResult(sample)
        self.admin.answer(DiskSpace(2, 1))
        self.clock.advance(0)
        self.successResultOf(sample)
        self.assertEqual((self.of("a").space, self.of("b").why, self.of("c")), (DiskSpace(2, 1), "", None))
        self.assertIsNone(self.of("a").unanswered_since)

    def test_silent(self) -> None:
        """A sample ends without a bookie that does not answer; later ones do not wait for it, and see its answer."""
        sample = self.ask("a", "b")
        self.admin.asked.pop(0)[1].callback(DiskSpace(2, 1))
        self.clock.advance(PATIENCE - 0.1)
        self.assertNoResult(sample)
        self.clock.pump([0.1, 0])
        self.successResultOf(sample)
        self.assertEqual((self.of("b").why, self.of("b").unanswered_since), ("no answer within 2 s", 100))
        self.clock.advance(AGAIN)
        sample = self.ask("b")
        self.clock.advance(0)
        self.successResultOf(sample)
        self.assertEqual((self.names(), self.of("a")), (["b"], None))
        self.admin.answer(RequestTimeoutError("given up"))
        self.assertEqual(self.of("b").why, "no answer within 2 s")
        sample = self.ask("b")
        self.clock.advance(0)
        self.successResultOf(sample)
        self.assertEqual((self.names(), self.of("b").unanswered_since), (["b"], 100))
        self.admin.answer(BookieHandleNotAvailableError("no connection"))
        self.assertEqual((self.of("b").why, self.of("b").unanswered_since), ("no connection", 100))
        self.clock.advance(AGAIN)
        self.ask("b")
        self.admin.answer(UnauthorizedAccessError(1))
        self.assertEqual((self.of("b").why, self.of("b").unanswered_since, self.of("b").space), ("", None, None))

    def test_held_up(self) -> None:
        """An answer that came while this process was held up counts, though it is read after the time."""
        sample = self.ask("a").addCallback(lambda _: self.of("a").why)
        self.clock.callLater(PATIENCE + 1, self.admin.answer, DiskSpace(2, 1))
        self.clock.advance(PATIENCE + 1)
        self.clock.advance(0)
        self.assertEqual(self.successResultOf(sample), "")

    def test_turns(self) -> None:
        """Bookies are asked again after a time, first those that were asked the longest ago; new ones at once."""
        self.patch(bookie_answers, "MOST_AT_ONCE", 1)
        self.ask("a", "b")
        self.admin.answer(DiskSpace(2, 1))
        self.ask("a", "b", "c", "d")
        self.assertEqual(self.names(), ["c", "d"])
        self.admin.answer(DiskSpace(2, 1))
        for name in "abcd":
            self.clock.advance(AGAIN / 2 if name == "b" else AGAIN)
            self.ask("a", "b", "c", "d")
            self.assertEqual(self.names(), [name])
            self.admin.answer(DiskSpace(2, 1))
        self.clock.advance(KNOWN_SECONDS + 1)
        self.ask("a", "b")
        self.assertEqual(self.names(), ["a", "b"])

    def test_known_silent(self) -> None:
        """Which bookies do not answer is known from the newest questions; if those are old, all are asked again."""

        def silent() -> "Deferred[Any]":
            return Deferred.fromCoroutine(self.answers.silent(self.admin, ["a", "b"]))  # type: ignore[arg-type]

        found = silent()
        self.assertEqual(self.names(), ["a", "b"])
        self.admin.asked.pop(0)[1].callback(DiskSpace(2, 1))
        second = silent()
        self.clock.pump([PATIENCE, 0])
        for each in (found, second):
            self.assertEqual(self.successResultOf(each), {"b"})
        self.clock.advance(KNOWN_SECONDS - PATIENCE)
        found = silent()
        self.clock.advance(0)
        self.assertEqual((self.successResultOf(found), self.names()), ({"b"}, ["b"]))
        self.clock.advance(1)
        found = silent()
        self.assertEqual(self.names(), ["b", "a", "b"])
        self.admin.answer(DiskSpace(2, 1))
        self.clock.advance(0)
        self.assertEqual(self.successResultOf(found), frozenset())

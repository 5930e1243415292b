"""Reading ahead: in order, within the budget, one fetch at a time."""

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.entry_batch import EntryBatch
from bookkeeper_twisted.client.read_ahead import ReadAhead
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import ReadError
from bookkeeper_twisted.model import DigestType

DIGESTER = Digester(DigestType.DUMMY, b"")


def _batch(first: int, count: int, size: int = 64) -> EntryBatch:
    """Records of 100 bytes."""
    return EntryBatch(DIGESTER.seal(1, first, -1, 0, [b"x" * size] * count), DIGESTER)


class ReadAheadTests(SynchronousTestCase):
    """An iterator over a source that answers when told."""

    def setUp(self) -> None:
        """Nothing is asked yet."""
        self.asked: list[tuple[int, int, int, Deferred[EntryBatch]]] = []

    async def _fetch(self, first: int, max_count: int, max_size: int) -> EntryBatch:
        answer: Deferred[EntryBatch] = Deferred()
        self.asked.append((first, max_count, max_size, answer))
        return await answer

    def _next(self, ahead: ReadAhead) -> "Deferred[EntryBatch]":
        return Deferred.fromCoroutine(ahead.__anext__())

    def _answer(self, count: int) -> None:
        first, *_, answer = self.asked[-1]
        answer.callback(_batch(first, count))

    def test_in_order(self) -> None:
        """Each fetch begins after what came; the iteration ends after the last entry."""
        ahead = ReadAhead(self._fetch, 10, 19, 4000)
        got = self._next(ahead)
        self.assertEqual([a[:3] for a in self.asked], [(10, 10, 1000)])
        self._answer(7)
        self.assertEqual(list(self.successResultOf(got).ids), list(range(10, 17)))
        self._answer(3)
        self.assertEqual(len(self.asked), 2)
        self.assertEqual(self.successResultOf(self._next(ahead)).last, 19)
        self.failureResultOf(self._next(ahead), StopAsyncIteration)

    def test_nothing_before_the_first_step(self) -> None:
        """Nothing is fetched for an iterator nobody uses; an empty range ends at once."""
        ReadAhead(self._fetch, 0, 9, 4000)
        self.failureResultOf(self._next(ReadAhead(self._fetch, 5, 4, 4000)), StopAsyncIteration)
        self.assertEqual(self.asked, [])

    def test_budget(self) -> None:
        """No more than the budget waits for a slow consumer; taking a batch makes room."""
        ahead = ReadAhead(self._fetch, 0, 999, 4000)
        first = self._next(ahead)
        for _ in range(4):
            self._answer(10)
        self.assertEqual(len(self.asked), 5)
        self.assertEqual(self.successResultOf(first).first, 0)
        self._answer(10)  # 4000 bytes wait now
        self.assertEqual(len(self.asked), 5)
        self.assertEqual(self.successResultOf(self._next(ahead)).first, 10)
        self.assertEqual(len(self.asked), 6)

    def test_great_entry(self) -> None:
        """An entry above the budget comes through, one at a time."""
        ahead = ReadAhead(self._fetch, 0, 1, 100)
        got = self._next(ahead)
        self.asked[-1][3].callback(_batch(0, 1, 5000))
        self.assertEqual(len(self.successResultOf(got)), 1)
        got = self._next(ahead)
        self.asked[-1][3].callback(_batch(1, 1, 5000))
        self.assertEqual(self.successResultOf(got).first, 1)

    def test_error(self) -> None:
        """What was read before an error is given first, then the error, again and again."""
        ahead = ReadAhead(self._fetch, 0, 99, 4000)
        got = self._next(ahead)
        self._answer(5)
        self.successResultOf(got)
        self.asked[-1][3].errback(ReadError("broken"))
        for _ in range(2):
            self.failureResultOf(self._next(ahead), ReadError)
        self.assertEqual(len(self.asked), 2)

    def test_error_while_waiting(self) -> None:
        """An error wakes a consumer that waits."""
        got = self._next(ReadAhead(self._fetch, 0, 99, 4000))
        self.asked[-1][3].errback(ReadError("broken"))
        self.failureResultOf(got, ReadError)

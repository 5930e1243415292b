"""Reading ahead: in order, within the budget, several requests at a time, and nothing after the end."""

from random import Random

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.read_ahead import ReadAhead
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import ReadError
from bookkeeper_twisted.ledger.entry_batch import EntryBatch
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

from ...bounds import until

DIGESTER = Digester(DigestType.DUMMY, b"")


def _batch(first: int, count: int, size: int = 64) -> EntryBatch:
    """Records of 100 bytes."""
    return EntryBatch(sealed(DIGESTER, 1, first, -1, 0, [b"x" * size] * count), DIGESTER)


class AheadCase(SynchronousTestCase):
    """An iterator over a source that answers when told."""

    def setUp(self) -> None:
        """Nothing is asked yet."""
        self.asked: list[tuple[int, int, int]] = []
        self.answers: list[Deferred[EntryBatch]] = []
        self.cancelled: list[int] = []

    async def fetch(self, first: int, max_count: int, max_size: int) -> EntryBatch:
        """Notes what is asked for."""
        answer: Deferred[EntryBatch] = Deferred(lambda _: self.cancelled.append(first))
        self.asked.append((first, max_count, max_size))
        self.answers.append(answer)
        return await answer

    def next(self, ahead: ReadAhead) -> "Deferred[EntryBatch]":
        """One step."""
        return Deferred.fromCoroutine(ahead.__anext__())

    def answer(self, index: int, count: int, size: int = 64) -> None:
        """Answers a request with so many entries."""
        self.answers[index].callback(_batch(self.asked[index][0], count, size))

    def waiting(self) -> int:
        """Requests that are not answered."""
        return sum(not answer.called for answer in self.answers)


class OrderTests(AheadCase):
    """What comes, and when."""

    def test_in_order(self) -> None:
        """Each request begins where the one before ends; the iteration ends after the last entry."""
        ahead = ReadAhead(self.fetch, 10, 19, 4000)
        got = self.next(ahead)
        self.assertEqual(self.asked, [(10, 10, 1000)])
        self.answer(0, 7)
        self.assertEqual(list(self.successResultOf(got).ids), list(range(10, 17)))
        self.assertEqual(self.asked[1:], [(17, 3, 1000)])
        self.answer(1, 3)
        self.assertEqual(self.successResultOf(self.next(ahead)).last, 19)
        self.failureResultOf(self.next(ahead), StopAsyncIteration)

    def test_several_at_a_time(self) -> None:
        """Once a reply has told how many entries one holds, more requests are under way; answers may come
        in any order."""
        ahead = ReadAhead(self.fetch, 0, 999, 4000)
        got = self.next(ahead)
        self.answer(0, 10)
        self.successResultOf(got)
        self.assertEqual(self.asked[1:], [(10, 10, 1000), (20, 10, 1000), (30, 10, 1000)])
        got = self.next(ahead)
        self.answer(2, 10)
        self.assertNoResult(got)
        self.answer(1, 10)
        self.assertEqual(self.successResultOf(got).first, 10)
        self.assertEqual(self.successResultOf(self.next(ahead)).first, 20)

    def test_short_reply(self) -> None:
        """What a short reply left out is asked for before anything behind it, although the budget is used up."""
        ahead = ReadAhead(self.fetch, 0, 999, 4000)
        got = self.next(ahead)
        self.answer(0, 10)
        self.successResultOf(got)
        for index in (2, 3):
            self.answer(index, 10)
        before = len(self.asked)
        got = self.next(ahead)
        self.answer(1, 4)
        self.assertEqual(self.successResultOf(got).last, 13)
        self.assertEqual(self.asked[before], (14, 6, 1000))
        self.answer(before, 6)
        self.assertEqual([self.successResultOf(self.next(ahead)).first for _ in range(3)], [14, 20, 30])

    def test_count_follows_the_replies(self) -> None:
        """Entries that got greater are asked for in smaller numbers, smaller ones in greater."""
        ahead = ReadAhead(self.fetch, 0, 9999, 4000)

        def step(most: int, size: int) -> int:
            """Answers what comes next in the ledger; how many entries it was asked for."""
            got = self.next(ahead)
            index = min((self.asked[i][0], i) for i, a in enumerate(self.answers) if not a.called)[1]
            wanted = self.asked[index][1]
            self.answer(index, min(most, wanted), size)
            self.successResultOf(got)
            return wanted

        step(10, 64)
        self.assertEqual([step(8, 89) for _ in range(8)][-1], 7)
        self.assertEqual([step(1000, 1) for _ in range(8)][-1], 14)

    def test_nothing_before_the_first_step(self) -> None:
        """Nothing is fetched for an iterator that is not used; an empty range ends at once."""
        ReadAhead(self.fetch, 0, 9, 4000)
        self.failureResultOf(self.next(ReadAhead(self.fetch, 5, 4, 4000)), StopAsyncIteration)
        self.assertEqual(self.asked, [])

    def test_any_replies(self) -> None:
        """Whatever comes short and in whichever order, each entry comes once and the budget holds."""
        for seed in range(40):
            self._any_replies(Random(seed))

    def _any_replies(self, chance: Random) -> None:
        """A consumer that rests now and then, answers in any order."""
        self.setUp()
        seen: list[int] = []
        rest: list[Deferred[None]] = []
        returned = 0

        async def consume() -> None:
            nonlocal returned
            async for batch in ReadAhead(self.fetch, 0, 299, 4000):
                seen.extend(batch.ids)
                returned -= batch.size
                if chance.random() < 0.3:
                    rest.append(Deferred())
                    await rest[-1]

        running = Deferred.fromCoroutine(consume())
        for _ in until(lambda: running.called):
            under_way = [index for index, answer in enumerate(self.answers) if not answer.called]
            self.assertLessEqual(returned + 1000 * len(under_way), 4000)
            if rest and not rest[-1].called and (not under_way or chance.random() < 0.3):
                rest[-1].callback(None)
                continue
            index = chance.choice(under_way)
            count = chance.randint(1, min(self.asked[index][1], 10))
            returned += 100 * count
            self.answer(index, count)
        self.successResultOf(running)
        self.assertEqual(seen, list(range(300)))


class BudgetTests(AheadCase):
    """How much waits for the consumer."""

    def test_budget(self) -> None:
        """Under way and waiting are no more than the budget together; taking a batch makes room."""
        ahead = ReadAhead(self.fetch, 0, 999, 4000)
        first = self.next(ahead)
        self.answer(0, 10)
        self.successResultOf(first)
        for index in (1, 2, 3):
            self.answer(index, 10)
        self.assertEqual(len(self.asked), 4)
        self.assertEqual(self.successResultOf(self.next(ahead)).first, 10)
        self.assertEqual(len(self.asked), 5)

    def test_great_entry(self) -> None:
        """Entries above the budget come through, one at a time."""
        ahead = ReadAhead(self.fetch, 0, 3, 100)
        for index in range(4):
            got = self.next(ahead)
            self.assertEqual(self.waiting(), 1)
            self.answer(index, 1, 5000)
            self.assertEqual(self.successResultOf(got).first, index)


class EndTests(AheadCase):
    """Errors, cancelling, closing."""

    def begun(self) -> ReadAhead:
        """After the first batch, with three requests under way."""
        ahead = ReadAhead(self.fetch, 0, 999, 4000)
        got = self.next(ahead)
        self.answer(0, 10)
        self.successResultOf(got)
        return ahead

    def test_error(self) -> None:
        """What was read before an error is given first, then the error, again and again; what is behind it ends."""
        ahead = self.begun()
        self.answers[2].errback(ReadError("broken"))
        self.assertEqual(self.cancelled, [30])
        got = self.next(ahead)
        self.assertNoResult(got)
        self.answer(1, 4)
        self.assertEqual(self.successResultOf(got).last, 13)
        self.answer(4, 6)
        self.assertEqual(self.successResultOf(self.next(ahead)).last, 19)
        for _ in range(2):
            self.failureResultOf(self.next(ahead), ReadError)
        self.assertEqual(len(self.asked), 5)

    def test_earlier_error(self) -> None:
        """Of two errors the one that comes first in the ledger is told."""
        ahead = self.begun()
        self.answers[2].errback(ReadError("later"))
        self.answers[1].errback(ReadError("earlier"))
        self.assertIn("earlier", str(self.failureResultOf(self.next(ahead), ReadError).value))

    def test_error_while_waiting(self) -> None:
        """An error wakes a consumer that waits."""
        got = self.next(ReadAhead(self.fetch, 0, 99, 4000))
        self.answers[0].errback(ReadError("broken"))
        self.failureResultOf(got, ReadError)

    def test_cancelled_step(self) -> None:
        """Cancelling a step ends the iteration and every request."""
        ahead = self.begun()
        got = self.next(ahead)
        got.cancel()
        self.failureResultOf(got, CancelledError)
        self.assertEqual((self.cancelled, self.waiting()), ([10, 20, 30], 0))
        self.failureResultOf(self.next(ahead), StopAsyncIteration)

    def test_close(self) -> None:
        """Closing ends the requests, drops what was read, and tells who waits; closing again does no harm."""
        ahead = self.begun()
        self.answer(2, 10)
        got = self.next(ahead)
        self.successResultOf(Deferred.fromCoroutine(ahead.aclose()))
        self.failureResultOf(got, StopAsyncIteration)
        self.assertEqual((self.cancelled, self.waiting()), ([10, 30], 0))
        ahead.close()
        self.failureResultOf(self.next(ahead), StopAsyncIteration)
        self.assertEqual(len(self.asked), 4)

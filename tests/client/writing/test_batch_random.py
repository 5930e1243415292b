"""Batches in any order of appends, answers and failures, by seed."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.errors import BookieIOError, BookKeeperError, LedgerFencedError
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import LedgerState

from .batch_case import BatchCase, Request

SEEDS = 150
STEPS = 120
QUORUMS = ((3, 3, 2), (3, 3, 2), (3, 3, 3), (3, 2, 2), (5, 3, 2), (4, 2, 1), (1, 1, 1))


@attrs.define(eq=False)
class Written:
    """What is known of one ledger.

    :ivar kept: sees to it that an entry that was acknowledged is kept.
    :ivar payloads: of all appends that were taken, in order.
    :ivar told: the ids that were acknowledged, in the order in which those who wait were told.
    :ivar failed: ids of the appends that failed, in the same order.
    :ivar waiting: those who were not told.
    """

    writer: LedgerWriter
    kept: Callable[[int, int], object]
    payloads: list[bytes] = attrs.field(factory=list)
    told: list[int] = attrs.field(factory=list)
    failed: list[int] = attrs.field(factory=list)
    waiting: int = 0
    closed: "Deferred[None] | None" = None

    def append(self, payloads: list[bytes], then: Callable[[], None]) -> None:
        """Appends, one or many.

        :param then: called after the one who waits was told.
        """
        first = len(self.payloads)
        ids = range(first, first + len(payloads))
        waiter: Deferred[Any]
        if len(payloads) == 1:
            waiter = self.writer.append(payloads[0])
        else:
            waiter = self.writer.append_many(payloads)
        if isinstance(waiter.result if waiter.called else None, Failure):
            waiter.addErrback(lambda failure: failure.trap(BookKeeperError))
            return
        self.payloads += payloads
        self.waiting += 1
        waiter.addCallbacks(self._done, self._failed, (ids,), errbackArgs=(ids,)).addCallback(lambda _: then())

    def _done(self, result: Any, ids: range) -> None:
        assert result == (ids[0] if type(result) is int else (ids[0], ids[-1])), (result, ids)
        assert not self.failed
        self.waiting -= 1
        self.told += ids
        for entry_id in ids:
            self.kept(self.writer.ledger_id, entry_id)

    def _failed(self, failure: Failure, ids: range) -> None:
        failure.trap(BookKeeperError)
        self.waiting -= 1
        self.failed += ids


def _many(request: Request) -> bool:
    """Whether adds of many ledgers were sent together."""
    return len(set(request.ledger_ids)) > 1


class RandomTests(BatchCase):
    """A client whose bookies answer in any order, or fail."""

    writers_count = 0
    quorums = (5, 3, 2)
    spares = 2

    def _begin(self, seed: int) -> None:
        super().setUp()
        self.random = random = Random(seed)
        self.seen: dict[tuple[int, int], bytes] = {}
        self.broken: list[tuple[int, int]] = []
        self.hold(*self.names, "s0", "s1")
        self.bookies.watch = self._watch
        self.context = self.client(
            delay_ensemble_change=random.random() < 0.3,
            **random.choice([{}, {}, {"max_in_flight_bytes": 400}, {"max_client_in_flight_bytes": 900}]),
        )
        self.written = {n: self._open(n) for n in range(1, random.randrange(3, 8))}
        self.fail_rate = random.choice((0, 0.1, 0.3))

    def _open(self, ledger_id: int) -> Written:
        quorums = self.random.choice(QUORUMS)
        names = self.random.sample(self.names, quorums[0])
        return Written(self.open(ledger_id, names, quorums, context=self.context), self._kept)

    def _watch(self, request: Request) -> None:
        """LAC and length of what is sent are true, and what is sent again are the same bytes."""
        for (ledger_id, entry_id), frame in zip(request.keys, request.frames, strict=True):
            before = self.seen.setdefault((ledger_id, entry_id), frame)
            self.assertEqual(frame, before)
            if before is not frame:
                continue
            written = self.written[ledger_id]
            entry = self.digester.entry(ledger_id, entry_id, frame[28:])
            self.assertEqual(entry.length, sum(map(len, written.payloads[: entry_id + 1])))
            self.assertLessEqual(entry.last_add_confirmed, written.writer.last_add_confirmed)
        self.counted["many" if _many(request) else "one"] += 1

    # ---- steps ---------------------------------------------------------------------------------------

    def _append(self, written: Written) -> None:
        count = self.random.choice((1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 5))
        payloads = [b"%d" % self.random.randrange(10 ** self.random.randrange(1, 40)) for _ in range(count)]
        written.append(payloads, self._then if self.random.random() < 0.15 else lambda: None)

    def _then(self) -> None:
        """What a callback does."""
        written = self.random.choice(list(self.written.values()))
        if self.random.random() < 0.9:
            self._append(written)
        else:
            self._close(written)

    def _append_each(self) -> None:
        for written in self.random.sample(list(self.written.values()), self.random.randrange(1, len(self.written) + 1)):
            self._append(written)

    def _close(self, written: Written) -> None:
        if written.closed is None:
            written.closed = written.writer.close()
            written.closed.addErrback(lambda failure: failure.trap(BookKeeperError) and None)

    def _answer(self) -> None:
        """A bookie answers for something, or for everything it was sent."""
        left = [request for request in self.bookies.sent if request.left]
        if not left:
            return
        request = self.random.choice(left)
        if self.random.random() < 0.3:
            self.bookies.answer(request.bookie_id)
            return
        ledger_ids = self.random.sample(sorted(self.written), self.random.randrange(len(self.written) + 1))
        error: Exception | None = None
        if self.random.random() < self.fail_rate * (1 + _many(request)):
            error = BookieIOError()
            self.counted["failed"] += _many(request)
        elif self.random.random() < 0.01:
            error = LedgerFencedError(0)
        request.answer(*ledger_ids, error=error)

    def _calm(self, turns: int) -> None:
        """All bookies answer for everything."""
        for _ in range(turns):
            self.turn()
            left = [request for request in self.bookies.sent if request.left]
            if not left:
                return
            for request in left:
                request.answer()

    def _step(self) -> None:
        choice = self.random.random()
        if choice < 0.2:
            self._append_each()
        elif choice < 0.4:
            self.turn()
        elif choice < 0.48:
            self._calm(3)
        elif choice < 0.96:
            self._answer()
        elif choice < 0.963:
            self._close(self.random.choice(list(self.written.values())))

    def _finish(self) -> None:
        """All bookies are well."""
        self.fail_rate = 0
        for written in self.written.values():
            self._close(written)
        self._calm(1000)
        self.assertEqual([request for request in self.bookies.sent if request.left], [])

    # ---- what is true --------------------------------------------------------------------------------

    def _kept(self, ledger_id: int, entry_id: int) -> list[str]:
        """The bookies of an entry's write set that have it, an ack quorum at least."""
        metadata = self.metadata(ledger_id)
        schedule = Schedule(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
        names = next(s for s in reversed(metadata.segments) if s.first_entry_id <= entry_id).bookies
        holders = [names[position] for position in schedule.write_set(entry_id)]
        held = [name for name in holders if entry_id in self.bookies[name].entries.get(ledger_id, {})]
        if len(held) < schedule.ack_quorum:
            self.broken.append((ledger_id, entry_id))
        return held

    def _check(self, ledger_id: int) -> None:
        written = self.written[ledger_id]
        self.assertEqual(written.waiting, 0)
        self.assertEqual(written.told, list(range(len(written.told))))
        self.assertEqual(written.told + written.failed, list(range(len(written.payloads))))
        metadata = self.metadata(ledger_id)
        self.assertIs(metadata.state, LedgerState.CLOSED)
        self.assertGreaterEqual(metadata.last_entry_id, len(written.told) - 1)
        for entry_id in range(metadata.last_entry_id + 1):
            for name in self._kept(ledger_id, entry_id):
                self.assertEqual(self.header(name, ledger_id, entry_id)[2], written.payloads[entry_id])
        self.assertEqual(metadata.length, sum(map(len, written.payloads[: metadata.last_entry_id + 1])))
        self.counted["changes"] += len(metadata.segments) - 1
        self.counted["ended"] += bool(written.failed)
        self.failureResultOf(written.writer.append(b""), BookKeeperError)

    def _try(self, seed: int) -> None:
        self._begin(seed)
        for _ in range(STEPS):
            self._step()
        self._finish()
        for ledger_id in self.written:
            self._check(ledger_id)
        self.assertEqual((self.broken, self.context.budget.used), ([], 0))

    def test_seeds(self) -> None:
        """Each who waits is told once, in order; what is acknowledged is on an ack quorum of the bookies that the
        metadata names, with the right bytes; nothing is on its way in the end (S12-S16)."""
        self.counted: Counter[str] = Counter()
        for seed in range(SEEDS):
            try:
                self._try(seed)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error}") from error
        expected = {"many": 1000, "one": 1000, "failed": 50, "changes": 80, "ended": 8}
        for what, least in expected.items():
            self.assertGreater(self.counted[what], least, what)
        self.assertEqual(self.flushLoggedErrors(), [])

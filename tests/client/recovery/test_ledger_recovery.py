"""Recovery of ledgers: where it ends, what it writes back, what it stores (S12, S14, S15, S17)."""

from functools import partial

import attrs

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    LedgerRecoveryError,
    MetadataError,
    NotEnoughBookiesError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.model import MAX_ENTRY_ID, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.sealing import sealed

from .recovery_case import LEDGER, SIZE, RecoveryTestCase, payload


class EndTests(RecoveryTestCase):
    """Where a ledger ends."""

    def ends(self, last: int) -> LedgerMetadata:
        """Recovers; the ledger is closed after this entry, all of which have their copies."""
        stored = self.recover()
        self.assertEqual(stored, self.stored())
        self.assertEqual(stored.state, LedgerState.CLOSED)
        self.assertEqual((stored.last_entry_id, stored.length), (last, (last + 1) * SIZE))
        return stored

    def test_empty(self) -> None:
        """A ledger without entries is closed empty, and no ack quorum of its bookies takes adds any more."""
        self.ends(-1)
        self.assertGreaterEqual(sum(LEDGER in self.bookies[name].fenced for name in self.names), 2)

    def test_full_copies(self) -> None:
        """Entries beyond the LAC that are on all bookies are kept."""
        self.leave_range(0, 9)
        self.ends(9)

    def test_highest_id(self) -> None:
        """A ledger with the highest id that there is ends there, after this entry has its copies."""
        stored = sealed(self.digester, LEDGER, MAX_ENTRY_ID, MAX_ENTRY_ID - 1, 5, [payload(MAX_ENTRY_ID)])
        self.bookies["b0"].entries[LEDGER] = {MAX_ENTRY_ID: stored.entry(MAX_ENTRY_ID)}
        self.bookies["b1"].delay = self.bookies["b2"].delay = 0.1
        closed = self.recover()
        self.assertEqual(closed, self.stored())
        self.assertEqual(
            (closed.state, closed.last_entry_id, closed.length),
            (LedgerState.CLOSED, MAX_ENTRY_ID, 5 + len(payload(MAX_ENTRY_ID))),
        )
        self.assertGreaterEqual(len(self.held(MAX_ENTRY_ID)), 2)

    def test_many(self) -> None:
        """Many entries beyond the LAC take few requests."""
        for entry_id in range(300):
            self.leave(entry_id, -1)
        self.ends(299)
        self.assertLess(sum(len(self.bookies[n].requests) for n in self.names), 40)

    def test_tail_on_one_bookie(self) -> None:
        """What only one bookie has was not acknowledged with two; it is not kept unless it is found."""
        self.leave_range(0, 4)
        self.leave(5, 4, [0])
        self.bookies["b1"].delay = self.bookies["b2"].delay = 0.1
        self.ends(5)
        self.assertGreaterEqual(len(self.held(5)), 2)

    def test_tail_found_too_late(self) -> None:
        """Two bookies without it are enough to end the ledger."""
        self.leave_range(0, 4)
        self.leave(5, 4, [0])
        self.bookies["b0"].delay = 0.1
        self.ends(4)

    def test_written_back(self) -> None:
        """What is kept is brought to its quorum, with the same payload and length."""
        self.leave_range(0, 4)
        for entry_id in (5, 6, 7):
            self.leave(entry_id, 4, [0])
        self.bookies["b1"].delay = self.bookies["b2"].delay = 0.1
        self.ends(7)
        for entry_id in (5, 6, 7):
            self.assertGreaterEqual(len(self.held(entry_id)), 2)

    def test_without_batches(self) -> None:
        """Bookies that know no batch reads are read entry by entry, many at a time."""
        for entry_id in range(300):
            self.leave(entry_id, -1)
        for name in self.names:
            self.bookies[name].fail("read_batch", partial(BookieHandleNotAvailableError, "closed"))
        self.ends(299)

    def test_no_batches(self) -> None:
        """Where batch reads are off, or a bookie has just some of the entries, none is asked for."""
        if self.quorums[0] == self.quorums[1]:
            self.context = attrs.evolve(self.context, config=ClientConfig(batch_read_enabled=False))
        for entry_id in range(10):
            self.leave(entry_id, -1)
        self.ends(9)
        asked = {operation for name in self.names for operation, *_ in self.bookies[name].requests}
        self.assertNotIn("read_batch", asked)

    def test_nothing_beyond_the_lac(self) -> None:
        """The length is that of the last entry, not of one that was reported and never acknowledged."""
        self.leave_range(0, 4)
        self.leave(5, 4, [0])
        self.bookies["b0"].fail("read", BookieHandleNotAvailableError, first=5, last=5)
        self.ends(4)

    def test_lac_from_elsewhere(self) -> None:
        """The newest ensemble is empty: the ledger ends before it, with a length that is read from the one before."""
        self.leave_range(0, 4)
        self._next_ensemble(5, ("b0", "b1", "b3"))
        self.assertEqual(len(self.ends(4).segments), 2)

    def test_start_of_the_newest_ensemble(self) -> None:
        """What comes before the newest ensemble is acknowledged, whatever its bookies tell of the LAC."""
        self.leave_range(0, 4)
        self._next_ensemble(5, ("b0", "b1", "b3"))
        self.leave(5, 2)
        self.ends(5)

    def _next_ensemble(self, first: int, names: tuple[str, ...]) -> None:
        stored = self.do(self.driver.ledgers.read(LEDGER))
        changed = attrs.evolve(stored.value, segments=(*stored.value.segments, Segment(first, names)))
        self.do(self.driver.ledgers.write(LEDGER, changed, stored.version))


class StripedTests(EndTests):
    """The same with more bookies than copies."""

    quorums = (4, 3, 2)

    def _next_ensemble(self, first: int, names: tuple[str, ...]) -> None:
        super()._next_ensemble(first, ("b0", "b1", "b4", "b3"))

    def test_tail_found_too_late(self) -> None:
        """Two bookies without it are enough to end the ledger."""
        self.leave_range(0, 4)
        self.leave(5, 4, [1])
        self.bookies["b1"].delay = 0.1
        self.ends(4)

    def test_tail_on_one_bookie(self) -> None:
        """What only one bookie has is kept if it is found."""
        self.leave_range(0, 4)
        self.leave(5, 4, [1])
        for name in ("b0", "b2", "b3"):
            self.bookies[name].delay = 0.1
        self.ends(5)
        self.assertGreaterEqual(len(self.held(5)), 2)

    def test_written_back(self) -> None:
        """Every entry is brought to the bookies of its own write set."""
        self.leave_range(0, 4)
        for entry_id in (5, 6, 7):
            self.leave(entry_id, 4, [entry_id % 4, (entry_id + 1) % 4])
        self.ends(7)
        for entry_id in (5, 6, 7):
            self.assertEqual(self.held(entry_id), sorted(f"b{(entry_id + i) % 4}" for i in range(3)))

    def test_many(self) -> None:
        """Many entries beyond the LAC are read many at a time."""
        for entry_id in range(300):
            self.leave(entry_id, -1)
        self.ends(299)

    def test_coverage(self) -> None:
        """Two bookies that are down share a write set, and could have acknowledged: no recovery."""
        self.leave_range(0, 4)
        for name in ("b1", "b2"):
            self.bookies[name].up = False
        self.failureResultOf(self.finished(self.start()), LedgerRecoveryError)


class DownTests(RecoveryTestCase):
    """Some of the bookies are down."""

    config = ClientConfig(recovery_read_batch_size=4)

    def test_each_number(self) -> None:
        """With fewer than an ack quorum down every acknowledged entry is kept; with more nothing is decided."""
        for wq in (1, 2, 3, 4):
            for aq in range(1, wq + 1):
                for n_down in range(wq + 1):
                    with self.subTest(write_quorum=wq, ack_quorum=aq, down=n_down):
                        self._case(wq, aq, n_down)

    def _case(self, wq: int, aq: int, n_down: int) -> None:
        self.quorums, self.spares = (wq, wq, aq), 4
        RecoveryTestCase.setUp(self)
        for entry_id in range(10):
            self.leave(entry_id, entry_id - 3, range(aq))
        for i in range(n_down):
            self.bookies[f"b{i}"].up = False
        recovering = self.finished(self.start())
        if n_down < aq:
            closed = self.successResultOf(recovering).value
            self.assertEqual((closed.last_entry_id, closed.length), (9, 10 * SIZE))
            self.assertGreaterEqual(len(self.held(9)), aq)
        else:
            self.failureResultOf(recovering, LedgerRecoveryError)
            self.assertIs(self.stored().state, LedgerState.IN_RECOVERY)

    def test_later(self) -> None:
        """Once the bookies are back another recovery finds everything."""
        self._case(3, 2, 2)
        for name in self.names:
            self.bookies[name].up = True
        self.assertEqual(self.recover().last_entry_id, 9)


class EnsembleChangeTests(RecoveryTestCase):
    """Bookies that do not take entries back."""

    quorums = (2, 2, 2)
    spares = 2

    def test_replaced(self) -> None:
        """A bookie that fails is replaced from the first entry it lacks, stored with the end."""
        self.leave_range(0, 4)
        for entry_id in (5, 6):
            self.leave(entry_id, 4)
        self.bookies["b1"].fail("add", WriteOnReadOnlyBookieError, first=6)
        closed = self.recover()
        self.assertEqual(closed.last_entry_id, 6)
        first, second = closed.segments
        self.assertEqual((first, second.first_entry_id, second.bookies[0]), (Segment(0, self.names), 6, "b0"))
        self.assertIn(second.bookies[1], ("b2", "b3"))
        self.assertIn(second.bookies[1], self.held(6))

    def test_equal_start(self) -> None:
        """A change that begins with the newest ensemble replaces it."""
        self.leave(0, -1)
        self.bookies["b1"].fail("add", WriteOnReadOnlyBookieError)
        (segment,) = self.recover().segments
        self.assertEqual((segment.first_entry_id, segment.bookies[0]), (0, "b0"))
        self.assertIn(segment.bookies[1], ("b2", "b3"))

    def test_none_left(self) -> None:
        """Without a bookie to replace it the recovery fails, and the metadata is as before."""
        self.leave_range(0, 4)
        before = self.stored().segments
        for name in ("b1", "b2", "b3"):
            self.bookies[name].fail("add", WriteOnReadOnlyBookieError)
        failure = self.failureResultOf(self.finished(self.start()), LedgerRecoveryError)
        self.assertIsInstance(failure.value.__cause__, NotEnoughBookiesError)
        self.assertEqual((self.stored().state, self.stored().segments), (LedgerState.IN_RECOVERY, before))


class MetadataTests(RecoveryTestCase):
    """What is stored, and what others store."""

    def setUp(self) -> None:
        """Bookies take their time."""
        super().setUp()
        for name in self.names:
            self.bookies[name].delay = 0.1

    def test_announced(self) -> None:
        """The ledger is IN_RECOVERY before anything else is done."""
        recovering = self.start()
        self.assertIs(self.stored().state, LedgerState.IN_RECOVERY)
        self.successResultOf(self.finished(recovering))

    def test_closed_meanwhile(self) -> None:
        """A ledger that is closed is taken as it is, without asking a bookie."""
        known = self.do(self.driver.ledgers.read(LEDGER))
        self._close(2, 30)
        closed = self.do(self.recovery().run(known)).value
        self.assertEqual((closed.last_entry_id, closed.length), (2, 30))
        self.assertEqual([self.bookies[name].requests for name in self.names], [[], [], []])

    def test_closed_by_another(self) -> None:
        """Who is second adopts what the first stored, and forgets his own ensembles (S14)."""
        self.leave_range(0, 4)
        self.bookies["b1"].fail("add", WriteOnReadOnlyBookieError)
        recovering = self.start()
        self._close(2, 30)
        closed = self.successResultOf(self.finished(recovering)).value
        self.assertEqual((closed.last_entry_id, closed.length, len(closed.segments)), (2, 30, 1))
        self.assertEqual(closed, self.stored())

    def _close(self, last: int, length: int) -> None:
        stored = self.do(self.driver.ledgers.read(LEDGER))
        closed = attrs.evolve(stored.value, state=LedgerState.CLOSED, last_entry_id=last, length=length)
        self.do(self.driver.ledgers.write(LEDGER, closed, stored.version))

    def test_re_replicated_meanwhile(self) -> None:
        """Changes of older ensembles, made by others, stay."""
        self.leave_range(0, 4)
        stored = self.do(self.driver.ledgers.read(LEDGER))
        segments = (*stored.value.segments, Segment(5, ("b1", "b2", "b3")))
        self.do(self.driver.ledgers.write(LEDGER, attrs.evolve(stored.value, segments=segments), stored.version))
        recovering = self.start()
        stored = self.do(self.driver.ledgers.read(LEDGER))
        moved = (Segment(0, ("b3", "b1", "b2")), segments[1])
        self.do(self.driver.ledgers.write(LEDGER, attrs.evolve(stored.value, segments=moved), stored.version))
        self.assertEqual(self.successResultOf(self.finished(recovering)).value.segments, moved)

    def test_deleted(self) -> None:
        """A ledger that is deleted meanwhile is not created again."""
        recovering = self.start()
        self.do(self.driver.ledgers.remove(LEDGER))
        failure = self.failureResultOf(self.finished(recovering), LedgerRecoveryError)
        self.assertIsInstance(failure.value.__cause__, MetadataError)

    def test_reopened(self) -> None:
        """A ledger that is OPEN again is not closed: another client broke the rules (S15)."""
        recovering = self.start()
        stored = self.do(self.driver.ledgers.read(LEDGER))
        opened = attrs.evolve(stored.value, state=LedgerState.OPEN)
        self.do(self.driver.ledgers.write(LEDGER, opened, stored.version))
        self.failureResultOf(self.finished(recovering), LedgerRecoveryError)

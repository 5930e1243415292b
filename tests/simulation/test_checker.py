"""The checker notices what must not be, and nothing else."""

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.model import Entry, LedgerMetadata, LedgerState, Segment

from .checker import Checker

BOOKIES = ("a:1", "b:1", "c:1")
OPEN = LedgerMetadata(3, 3, 2, (Segment(0, BOOKIES),))
RECOVERED = attrs.evolve(OPEN, state=LedgerState.IN_RECOVERY)


def _closed(last: int, length: int) -> LedgerMetadata:
    return attrs.evolve(OPEN, state=LedgerState.CLOSED, last_entry_id=last, length=length)


def _payload(entry_id: int) -> bytes:
    return b"entry%d" % entry_id


class CheckerTests(SynchronousTestCase):
    """A ledger with four entries; the first three are acknowledged by two bookies."""

    def setUp(self) -> None:
        self.checker = Checker()
        self.checker.metadata_changed(1, OPEN)
        for entry_id in range(4):
            self.checker.appended(1, entry_id, _payload(entry_id))
        for entry_id in range(3):
            self.store(entry_id, *BOOKIES[:2])
            self.checker.acked(1, entry_id)
        self.assertEqual(self.checker.violations, [])

    def store(self, entry_id: int, *bookies: str, payload: bytes | None = None, recovery: bool = False) -> None:
        header = b"".join(n.to_bytes(8, "big", signed=True) for n in (1, entry_id, entry_id - 1, 0))
        run = EntryRun.of_entries(1, entry_id, [header + (_payload(entry_id) if payload is None else payload)])
        for bookie in bookies:
            self.checker.stored(bookie, run, recovery, False)

    def noticed(self, *invariants: str) -> None:
        self.assertEqual(tuple(v.invariant for v in self.checker.violations), invariants, self.checker.violations)

    def test_good_end(self) -> None:
        """A ledger that is recovered with its acknowledged entries, opened and read is fine."""
        self.checker.metadata_changed(1, RECOVERED)
        self.checker.metadata_changed(1, _closed(2, 18))
        self.checker.opened(1, True, 2, 18)
        self.checker.read(1, 0, [Entry(1, e, _payload(e), 6 * (e + 1), e - 1) for e in range(3)])
        self.noticed()

    def test_longer_end(self) -> None:
        """A recovery may keep an entry that was not acknowledged, once an ack quorum has it."""
        self.store(3, *BOOKIES[1:], recovery=True)
        self.checker.metadata_changed(1, _closed(3, 24))
        self.noticed()

    def test_truncated(self) -> None:
        """An end before an acknowledged entry is noticed (S12)."""
        self.checker.metadata_changed(1, _closed(1, 12))
        self.noticed("S12")

    def test_kept_in_one_place(self) -> None:
        """A recovery that keeps an entry without an ack quorum is noticed (S17)."""
        self.store(3, "a:1")
        self.checker.metadata_changed(1, _closed(3, 24))
        self.noticed("S17")

    def test_wrong_length(self) -> None:
        """A wrong length is noticed (S14)."""
        self.checker.metadata_changed(1, _closed(2, 17))
        self.noticed("S14")

    def test_out_of_order(self) -> None:
        """An acknowledgement before its turn is noticed (S13)."""
        self.checker.appended(1, 4, _payload(4))
        self.store(3, *BOOKIES)
        self.store(4, *BOOKIES)
        self.checker.acked(1, 4)
        self.noticed("S13")

    def test_beyond_the_end(self) -> None:
        """An acknowledgement beyond the end of a closed ledger is noticed (S14)."""
        self.checker.metadata_changed(1, _closed(2, 18))
        self.store(3, *BOOKIES)
        self.checker.acked(1, 3)
        self.noticed("S14")

    def test_too_few(self) -> None:
        """An acknowledgement by too few of the bookies that count is noticed (S16)."""
        self.store(3, "a:1", "x:1")
        self.checker.acked(1, 3)
        self.noticed("S16")

    def test_moved_away(self) -> None:
        """An ensemble change that covers an acknowledged entry is noticed (S16)."""
        segments = (Segment(0, BOOKIES), Segment(2, ("a:1", "x:1", "y:1")))
        self.checker.metadata_changed(1, attrs.evolve(OPEN, segments=segments))
        self.noticed("S16")

    def test_good_change(self) -> None:
        """An ensemble change behind the acknowledged entries is fine."""
        segments = (Segment(0, BOOKIES), Segment(3, ("a:1", "x:1", "y:1")))
        self.checker.metadata_changed(1, attrs.evolve(OPEN, segments=segments))
        self.noticed()

    def test_metadata_backwards(self) -> None:
        """A state, or an old segment, that changes back is noticed (S15)."""
        changed = attrs.evolve(RECOVERED, segments=(Segment(0, BOOKIES), Segment(3, BOOKIES)))
        self.checker.metadata_changed(1, changed)
        self.checker.metadata_changed(1, attrs.evolve(changed, state=LedgerState.OPEN))
        self.checker.metadata_changed(1, OPEN)
        self.noticed("S15", "S15")

    def test_replicated(self) -> None:
        """Another bookie in an old segment is fine once it has the entries, those it does not keep apart (S19)."""
        moved = ("a:1", "x:1", "c:1")
        two = (Segment(0, BOOKIES), Segment(3, BOOKIES))
        self.checker.metadata_changed(1, attrs.evolve(OPEN, segments=two))
        for entry_id in range(3):
            self.store(entry_id, "x:1", recovery=True)
        self.checker.metadata_changed(1, attrs.evolve(OPEN, segments=(Segment(0, moved), two[1])))
        self.noticed()

    def test_metadata_before_the_copy(self) -> None:
        """Another bookie of a closed ledger that lacks an entry is noticed (S19), and that the entry is below its ack
        quorum (S16)."""
        moved = ("a:1", "x:1", "c:1")
        closed = _closed(2, 18)
        self.checker.metadata_changed(1, closed)
        for entry_id in range(2):
            self.store(entry_id, "x:1", recovery=True)
        self.checker.metadata_changed(1, attrs.evolve(closed, segments=(Segment(0, moved),)))
        self.noticed("S19", "S16")

    def test_changed_in_recovery(self) -> None:
        """A writer that changes the ensemble of a ledger in recovery is noticed (S15)."""
        self.checker.metadata_changed(1, RECOVERED)
        segments = (Segment(0, BOOKIES), Segment(3, ("a:1", "x:1", "y:1")))
        self.checker.metadata_changed(1, attrs.evolve(RECOVERED, segments=segments))
        self.noticed("S15")

    def test_changed_after_the_end(self) -> None:
        """A closed ledger that changes is noticed (S14)."""
        self.checker.metadata_changed(1, _closed(2, 18))
        self.store(3, *BOOKIES)
        self.checker.metadata_changed(1, _closed(3, 24))
        self.noticed("S14")

    def test_two_truths(self) -> None:
        """Opens that tell different ends are noticed (S14)."""
        self.checker.metadata_changed(1, _closed(2, 18))
        self.checker.opened(1, True, 3, 24)
        self.noticed("S14")

    def test_falling_lac(self) -> None:
        """A reader's LAC that falls is noticed (S13)."""
        self.checker.heard_lac(1, 2, 1)
        self.noticed("S13")

    def test_lac_too_high(self) -> None:
        """A reader's LAC that no ack quorum has is noticed (S16); it is a promise from then on (S12)."""
        self.checker.heard_lac(1, 2, 3)
        self.noticed("S16")
        self.store(3, *BOOKIES)
        self.checker.metadata_changed(1, _closed(2, 18))
        self.noticed("S16", "S12")

    def test_lac_too_low(self) -> None:
        """Bookies that do not tell the LAC they were given are noticed (S13)."""
        expected = self.checker.expected_lac(1)
        self.assertEqual(expected, (0, 1))
        self.checker.asked_lac(1, expected, OPEN, 1)
        self.checker.asked_lac(1, expected, attrs.evolve(OPEN, segments=(Segment(0, ("x:1", "b:1", "c:1")),)), -1)
        self.noticed()
        self.checker.asked_lac(1, expected, OPEN, 0)
        self.noticed("S13")

    def test_wrong_entry(self) -> None:
        """Other bytes than were appended are noticed, on a bookie (S14) and read (S18)."""
        self.store(3, "a:1", payload=b"other")
        self.checker.read(1, 0, [Entry(1, 0, b"other", 6, -1)])
        self.noticed("S14", "S18")

    def test_sent_otherwise(self) -> None:
        """An entry that its writer sends again with another header is noticed (S14); a recovery's may differ."""
        header = b"".join(n.to_bytes(8, "big", signed=True) for n in (1, 2, 0, 6))
        run = EntryRun.of_entries(1, 2, [header + _payload(2)])
        self.checker.stored("c:1", run, True, False)
        self.noticed()
        self.checker.stored("c:1", run, False, False)
        self.noticed("S14")

    def test_taken_after_a_fence(self) -> None:
        """An ordinary add after a fence is noticed (S3); a recovery's is fine."""
        run = EntryRun.of_entries(1, 3, [bytes(32) + _payload(3)])
        self.checker.stored("a:1", run, True, True)
        self.noticed()
        self.checker.stored("a:1", run, False, True)
        self.noticed("S3")

    def test_close_without_an_end(self) -> None:
        """A writer's close that succeeds although an append is missing is noticed (S14)."""
        self.checker.metadata_changed(1, _closed(2, 18))
        self.checker.writer_closed(1, 2)
        self.noticed("S14")

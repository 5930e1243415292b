"""Entries of several ledgers as one item."""

import struct

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun, RunSequence, sequence


def _sealed(ledger_id: int, entry_id: int, lac: int) -> bytes:
    return struct.pack(">qqqq", ledger_id, entry_id, lac, 0)


class MixedRunTests(SynchronousTestCase):
    """Entries of several ledgers in the order they came."""

    IDS = ((5, 0), (3, 7), (5, 1), (4, 0), (3, 7), (9, 2))

    def setUp(self) -> None:
        entries = [_sealed(ledger, entry_id, entry_id - 1) + bytes(entry_id) for ledger, entry_id in self.IDS]
        ledger_ids, entry_ids = zip(*self.IDS, strict=True)
        self.run_ = MixedRun(ledger_ids, entry_ids, [i - 1 for i in entry_ids], entries)

    def test_runs(self) -> None:
        """Each entry as a run; together they are the same bytes."""
        runs = list(self.run_.runs())
        self.assertEqual([(r.ledger_id, r.first, r.count) for r in runs], [(*ids, 1) for ids in self.IDS])
        self.assertEqual(b"".join([r.data for r in runs]), self.run_.data)
        self.assertEqual((self.run_.count, self.run_.size), (6, sum(r.size for r in runs)))

    def test_split(self) -> None:
        """A part for each remainder that occurs; the order of its entries is kept."""
        parts = dict(self.run_.split(4))
        ids = {n: list(zip(part.ledger_ids, part.entry_ids, strict=True)) for n, part in parts.items()}
        self.assertEqual(ids, {0: [(4, 0)], 1: [(5, 0), (5, 1), (9, 2)], 3: [(3, 7), (3, 7)]})
        self.assertEqual(parts[1].lacs, [-1, 0, 1])
        expected = [r.data for r in self.run_.runs() if r.ledger_id % 4 == 1]
        self.assertEqual(parts[1].data, b"".join(expected))

    def test_whole(self) -> None:
        """One part is the run itself."""
        self.assertEqual(list(self.run_.split(1)), [(0, self.run_)])

    def test_repr(self) -> None:
        """The repr tells how much it is."""
        self.assertEqual(repr(self.run_), f"<MixedRun of 4 ledgers, 6 entries, {self.run_.size} bytes>")


class RunSequenceTests(SynchronousTestCase):
    """Runs of several ledgers in the order they came."""

    def setUp(self) -> None:
        self.runs = [
            EntryRun.of_entries(ledger_id, first, [_sealed(ledger_id, first + i, first + i - 1) for i in range(count)])
            for ledger_id, first, count in ((5, 0, 3), (3, 7, 1), (5, 3, 2), (8, 0, 4))
        ]
        self.sequence = RunSequence(self.runs)

    def test_columns(self) -> None:
        """Each run has its ledger, its last entry and that one's LAC; the records lie side by side."""
        found = self.sequence
        self.assertEqual((found.ledger_ids, found.entry_ids, found.lacs), ([5, 3, 5, 8], [2, 7, 4, 3], [1, 6, 3, 2]))
        self.assertEqual((found.count, found.size), (10, 10 * 36))
        self.assertEqual(found.data, b"".join(run.data for run in self.runs))
        self.assertEqual(list(found.runs()), self.runs)

    def test_split(self) -> None:
        """A part for each remainder that occurs; the order of its runs is kept."""
        parts = dict(self.sequence.split(4))
        self.assertEqual({n: list(part.runs()) for n, part in parts.items()}, {
            0: [self.runs[3]], 1: [self.runs[0], self.runs[2]], 3: [self.runs[1]],
        })  # fmt: skip
        self.assertEqual(list(self.sequence.split(1)), [(0, self.sequence)])

    def test_single(self) -> None:
        """A single run needs no sequence."""
        self.assertIs(sequence(self.runs[:1]), self.runs[0])
        self.assertEqual(sequence(self.runs).count, 10)

    def test_repr(self) -> None:
        """The repr tells how much it is."""
        self.assertEqual(repr(self.sequence), "<RunSequence of 4 runs, 10 entries, 360 bytes>")

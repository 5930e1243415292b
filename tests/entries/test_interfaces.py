"""The set of methods that entries of all shapes have."""

import struct
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.interfaces import Entries
from bookkeeper_twisted.entries.mixed_runs import MixedRun, RunSequence


def _sealed(ledger_id: int, entry_id: int) -> bytes:
    return struct.pack(">qqqq", ledger_id, entry_id, entry_id - 2, 0) + bytes(entry_id)


def _run(ledger_id: int, first: int, count: int) -> EntryRun:
    return EntryRun.of_entries(ledger_id, first, [_sealed(ledger_id, first + i) for i in range(count)])


def _ids(entries: Entries) -> list[tuple[int, int]]:
    return [(run.ledger_id, entry_id) for run in entries.runs() for entry_id in range(run.first, run.last + 1)]


class EntriesTests(SynchronousTestCase):
    """A run, single entries and runs in turn; what they say of themselves is what their runs say."""

    def setUp(self) -> None:
        ids = ((5, 2), (3, 7), (5, 3), (4, 0), (9, 2))
        ledger_ids, entry_ids = zip(*ids, strict=True)
        single = MixedRun(ledger_ids, entry_ids, [i - 2 for i in entry_ids], [_sealed(*each) for each in ids])
        sequence = RunSequence([_run(5, 0, 3), _run(3, 7, 1), _run(5, 3, 2), _run(8, 0, 4)])
        self.shapes: Sequence[Entries] = (_run(5, 2, 4), single, sequence)

    def test_columns(self) -> None:
        """The columns have ledger, last entry and its LAC of each run; one ledger is a constant column."""
        for entries in self.shapes:
            with self.subTest(repr(entries)):
                columns = zip(entries.ledger_ids, entries.entry_ids, entries.lacs, strict=True)
                expected = [(run.ledger_id, run.last, run.last_add_confirmed()) for run in entries.runs()]
                self.assertEqual(list(columns), expected)

    def test_records(self) -> None:
        """The records of all runs lie side by side, and are counted."""
        for entries in self.shapes:
            with self.subTest(repr(entries)):
                data = b"".join([run.data for run in entries.runs()])
                self.assertEqual((entries.data, entries.size), (data, len(data)))
                self.assertEqual(entries.count, sum(run.count for run in entries.runs()))

    def test_ids(self) -> None:
        """The ids of all entries come in order, as do the spans of runs."""
        for entries in self.shapes:
            with self.subTest(repr(entries)):
                self.assertEqual(list(entries.ids()), _ids(entries))
                spans = [(run.ledger_id, run.first, run.last) for run in entries.runs()]
                self.assertEqual(list(entries.spans()), spans)

    def test_dispatch(self) -> None:
        """Either function gets every entry once, and the results are in order."""
        run, single, sequence = self.shapes
        for entries, of_run, of_mixed in ((run, 1, 0), (single, 0, 1), (sequence, 4, 0)):
            calls: list[str] = []

            def called(part: Entries, name: str, calls: list[str] = calls) -> list[tuple[int, int]]:
                calls.append(name)
                return list(part.ids())

            found = entries.dispatch(lambda part: called(part, "run"), lambda part: called(part, "mixed"))
            self.assertEqual([each for part in found for each in part], _ids(entries))
            self.assertEqual((calls.count("run"), calls.count("mixed")), (of_run, of_mixed))

    def test_split(self) -> None:
        """Each ledger is in the part of its number, in order; ledgers that are elsewhere have another number."""
        for entries in self.shapes:
            for n, elsewhere in ((1, {}), (2, {}), (3, {}), (3, {5: 0, 8: 1})):
                with self.subTest(repr(entries), n=n, elsewhere=elsewhere):
                    found = {number: _ids(part) for number, part in entries.split(n, elsewhere)}
                    expected = dict[int, list[tuple[int, int]]]()
                    for ledger_id, entry_id in _ids(entries):
                        number = elsewhere.get(ledger_id, ledger_id % n)
                        expected.setdefault(number, []).append((ledger_id, entry_id))
                    self.assertEqual(found, expected)
                    if not elsewhere:
                        self.assertTrue(set(entries.part_numbers(n)).issuperset(found))

    def test_part_numbers_of_a_run(self) -> None:
        """A run has one number."""
        self.assertEqual([list(self.shapes[0].part_numbers(n)) for n in (1, 2, 4)], [[0], [1], [1]])

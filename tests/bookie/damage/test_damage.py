"""Flipped bits, zeroed sectors and cut files; ``python -m tests.bookie.damage`` tries many more of them."""

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage import ledger_storage
from bookkeeper_twisted.storage.entry_log.reader import EntryLogReader
from bookkeeper_twisted.storage.index import index_file, run_index
from bookkeeper_twisted.storage.interfaces import IndexRow
from bookkeeper_twisted.storage.maintenance import row_reader

from .cases import Case, Tally, cases
from .worlds import sweep_collected, sweep_older, sweep_real, sweep_simulated


class DamageTests(SynchronousTestCase):
    """A sample of each kind of file."""

    def _good(self, tally: Tally, kinds: set[str]) -> None:
        self.assertEqual(tally.violations[:3], [])
        self.assertEqual(set(tally.cases), kinds)

    def _files(self, seed: int) -> None:
        tally = sweep_simulated(700, seed)
        others = {"lastMark", "lastId", "IDENTITY", "BOOKIE_STATUS", "damage.json", "journalSizes"}
        self._good(tally, {"journal", "entry log", *others})
        self.assertGreater(tally.unreadable["entry log"], 50)
        self.assertGreater(tally.refused["journal"], 1)

    def test_files(self) -> None:
        """What was acknowledged is served, or reported as unreadable where its record was touched (S5, S9)."""
        self._files(3)

    def test_other_places(self) -> None:
        """The same at other places."""
        self._files(4)

    def test_index(self) -> None:
        """Damage of the index is noticed at the start, or by the look-up that meets it (S5)."""
        tally = sweep_real(150, 3, self.mktemp())
        self._good(tally, {"index"})
        self.assertGreater(tally.refused["index"], 10)

    def test_collected_index(self) -> None:
        """What is deleted, removed and compacted by a damaged index loses nothing (S8)."""
        tally = sweep_collected(60, 3, self.mktemp())
        self._good(tally, {"index"})
        self.assertLess(tally.refused["index"], 40)


    def test_older_files(self) -> None:
        """An older copy of a file that is put back loses nothing in silence (S5, S8)."""
        tally = sweep_older(self.mktemp())
        self._good(tally, {"entry log", "index", "journalSizes", "lastId", "lastMark"})
        self.assertEqual(tally.refused["index"], tally.cases["index"])


class NoticedTests(SynchronousTestCase):
    """The sweep notices storage that does not check what it reads."""

    def test_unchecked_records(self) -> None:
        """Records of other entries are served."""
        self.patch(EntryLogReader, "read", _read_unchecked)
        self.assertNotEqual(sweep_simulated(300, 3).violations, [])

    def test_unchecked_structure(self) -> None:
        """Rows that a damaged page of the index hides are denied."""
        self.patch(run_index, "check_to_open", lambda *_: None)
        self.patch(index_file, "check_structure", lambda *_: None)
        self.assertIn("is denied", "".join(sweep_collected(60, 2, self.mktemp()).violations))

    def test_unnoticed_older_index(self) -> None:
        """What was flushed after the copy of an index was made is denied."""
        self.patch(ledger_storage, "log_mark_commits", lambda *_: 0)
        self.assertIn("is denied", "".join(sweep_older(self.mktemp()).violations))

    def test_blind_scrub(self) -> None:
        """A scrub that compares no checksums finds nothing."""
        self.patch(row_reader, "first_bad_block", lambda *_: None)
        self.assertIn("a scrub did not find", "".join(sweep_simulated(600, 3).violations))


def _read_unchecked(reader: EntryLogReader, row: IndexRow, entry_id: int, max_bytes: int) -> None:
    """Denies what it cannot read."""
    return None


class CaseTests(SynchronousTestCase):
    """What is damaged."""

    def test_kinds(self) -> None:
        """Each kind of file is damaged equally often, in each way."""
        found = list(cases({"/a/1.log": 5000, "/a/2.log": 100, "/b/lastMark": 16, "/b/LOCK": 0}, 800, Random(1)))
        self.assertEqual({case.kind for case in found}, {"entry log", "lastMark"})
        self.assertEqual(sum(case.kind == "entry log" for case in found), 400)
        ways = [case.way for case in found if case.kind == "lastMark"]
        self.assertEqual([ways.count(way) for way in ("flip", "zero", "cut")], [200, 100, 100])
        self.assertEqual(Case("/x/index.sqlite-wal", "cut", 0).kind, "index log")

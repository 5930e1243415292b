"""Pieces of a comparison, and the machine they were made on."""

from pathlib import Path

import attrs
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.grouping import GROUPED, Grouping
from benchmarks.compare.pieces import Piece, together
from benchmarks.compare.syscalls import CALLS, Counts
from benchmarks.shared.machine import Stolen, disk_rate

from .made_up import BESIDE_OLD, FACTS, RUNS

_GROUPING = {"V2": {GROUPED: Grouping(300_000, 2.0, Counts(dict.fromkeys(CALLS, 3.0)))}}


class PieceTests(SynchronousTestCase):
    """What a run keeps for a report."""

    def test_kept(self) -> None:
        """A file gives back what was kept, the counts of system calls included."""
        piece, path = Piece(FACTS, RUNS, _GROUPING), Path(self.mktemp())
        piece.keep(path)
        self.assertEqual(Piece.kept(path), piece)

    def test_together(self) -> None:
        """Pieces add up; the last run of a workload counts."""
        first, last = Piece(FACTS, RUNS, _GROUPING), Piece(attrs.evolve(FACTS, load=2.0), BESIDE_OLD, {})
        self.assertEqual(together([first, last]), ({**RUNS, **BESIDE_OLD}, _GROUPING))


class MachineTests(SynchronousTestCase):
    """Facts of a machine."""

    def test_disk(self) -> None:
        """The disk has a rate."""
        self.assertGreater(disk_rate(Path.cwd(), 2), 0)

    def test_stolen(self) -> None:
        """What the host takes is a share."""
        self.assertTrue(0 <= Stolen().share() <= 1)

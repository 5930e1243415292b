"""The command that compares our bookie with Apache's."""

from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import cast

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.compare import main, parse, results_folder, rounds_of
from benchmarks.compare.pieces import Piece
from benchmarks.compare.stage import OURS, Stage
from benchmarks.shared.loads import Figures
from benchmarks.shared.processes import ROOT
from benchmarks.shared.workloads import WORKLOADS, Workload

from .made_up import FACTS, RUNS


class ResultsTests(SynchronousTestCase):
    """Where the results are written."""

    def test_part(self) -> None:
        """A part of the workloads, or less work, replaces no figures in the repository."""
        for words in (["add-*"], ["--scale", "0.5"], ["add-*", "--against", "elsewhere"]):
            self.assertIsNone(results_folder(parse(words)))

    def test_whole(self) -> None:
        """All workloads do, and so do kept pieces, which are together what was run."""
        for words in ([], ["--rounds", "5"], ["--report", "a.json"]):
            self.assertEqual(results_folder(parse(words)), ROOT / "benchmarks")

    def test_named(self) -> None:
        """A folder that is named gets them in any case."""
        for words in ([], ["add-*"], ["--report", "a.json"]):
            self.assertEqual(results_folder(parse([*words, "--results", "there"])), Path("there"))

    def test_report(self) -> None:
        """Kept pieces are reported in the named folder."""
        folder = Path(self.mktemp())
        folder.mkdir()
        Piece(FACTS, RUNS, {}).keep(folder / "a.json")
        with redirect_stdout(StringIO()) as output:
            main(["--report", str(folder / "a.json"), "--results", str(folder / "new")])
        page, _, _ = output.getvalue().rpartition("\n\n")
        self.assertEqual((folder / "new" / "results.md").read_text().strip(), page.strip())
        self.assertTrue((folder / "new" / "results.svg").exists())


class _MadeStage:
    """A stage on which some runs are refused.

    :ivar refused: (name of the bookie, number of its run, from 1) of these runs.
    """

    def __init__(self, *refused: tuple[str, int]) -> None:
        self.refused = refused
        self._counts: Counter[str] = Counter()

    def prepare(self, name: str, workload: Workload) -> None:
        """Do nothing."""

    def settle(self) -> None:
        """Do nothing."""

    def run(self, name: str, workload: Workload) -> Figures:
        """Return the number of the run as its rate."""
        self._counts[name] += 1
        if (name, self._counts[name]) in self.refused:
            raise RuntimeError(f"{name} has refused")
        return {"rate": float(self._counts[name])}


class RoundsTests(SynchronousTestCase):
    """Rounds in which a bookie refuses requests."""

    def _rates(self, *refused: tuple[str, int]) -> dict[str, list[float]]:
        with redirect_stderr(StringIO()) as output:
            found = rounds_of(cast(Stage, _MadeStage(*refused)), WORKLOADS[0], 3, [OURS])
        self.said = output.getvalue()
        return {name: [figures["rate"] for figures in runs] for name, runs in found.items()}

    def test_other_refuses(self) -> None:
        """A round counts for nobody if Apache's bookie has refused requests; the other rounds do."""
        self.assertEqual(self._rates(("java", 2))[OURS], [1.0, 2.0])
        self.assertEqual(self._rates(("java", 1)), {OURS: [2.0, 3.0], "java": [2.0, 3.0]})
        self.assertIn("java: round 1 does not count: java has refused", self.said)

    def test_ours_refuses(self) -> None:
        """Our bookie must answer all requests; and of some round there must be figures."""
        for refused in ([(OURS, 2)], [("java", number) for number in (1, 2, 3)]):
            self.assertIn("has refused", str(self.assertRaises(RuntimeError, self._rates, *refused)))

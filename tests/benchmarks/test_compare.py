"""The command that compares our bookie with Apache's."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.compare import main, parse, results_folder
from benchmarks.compare.pieces import Piece
from benchmarks.shared.processes import ROOT

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

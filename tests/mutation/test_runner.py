"""Plants are tried in a copy of a small tree."""

import shutil
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .plant import Plant, PlantedTest, TextPlant
from .runner import Tree, Trial, Verdict, judge, try_all, try_plant

ROOT = Path(__file__).parents[2]
_SOURCE = "def double(n):\n    while False:\n        pass\n    return n + n\n"
_TESTS = """
from twisted.trial.unittest import SynchronousTestCase
from bookkeeper_twisted.sums import double
class DoubleTests(SynchronousTestCase):
    def test_three(self): self.assertEqual(double(3), 6)
    def test_zero(self): self.assertEqual(double(0), 0)
"""


def plant(old: str, new: str) -> Plant:
    """A defect in the small tree."""
    return Plant(f"{old} becomes {new}", "sums.py", old, new, ["tests.test_sums"], where="")


class RunnerTests(SynchronousTestCase):
    """A function, two tests of it, and changes of the function."""

    def setUp(self) -> None:
        self.original, self.scratch = Path(self.mktemp()).absolute(), Path(self.mktemp()).absolute()
        for folder in ("bookkeeper_twisted", "tests"):
            (self.original / folder).mkdir(parents=True)
            (self.original / folder / "__init__.py").touch()
        for name in ("__main__.py", "side_by_side.py", "time_limit.py"):
            shutil.copy(ROOT / "tests" / name, self.original / "tests" / name)
        (self.original / "bookkeeper_twisted/sums.py").write_text(_SOURCE)
        (self.original / "tests/test_sums.py").write_text(_TESTS)

    def _try(self, tried: Plant | PlantedTest, seconds: float = 30.0) -> Trial:
        return try_plant(Tree(self.original, self.scratch), tried, seconds)

    def test_noticed(self) -> None:
        """A test that fails is named with the reason, and the source is as before."""
        trial = self._try(plant("n + n", "n + 3"))
        self.assertEqual((trial.verdict, trial.test), (Verdict.NOTICED, "tests.test_sums.DoubleTests.test_zero"))
        self.assertEqual(trial.reason, "twisted.trial.unittest.FailTest: 3 != 0")
        self.assertEqual((self.scratch / "bookkeeper_twisted/sums.py").read_text(), _SOURCE)

    def test_not_noticed(self) -> None:
        """A defect that no test fails for is a hole."""
        self.assertEqual(self._try(plant("n + n", "n * (n - 1)")).verdict, Verdict.MISSED)

    def test_hang(self) -> None:
        """A test that does not end is no notice."""
        self.assertEqual(self._try(plant("while False: ...", "while True: ..."), 0.5).verdict, Verdict.HUNG)

    def test_broken(self) -> None:
        """A plant whose code is not there, and one after which nothing loads, are errors of the plant."""
        trial = self._try(plant("n - n", "n"))
        self.assertEqual(trial.verdict, Verdict.BROKEN)
        self.assertEqual(
            trial.reason, "n - n becomes n: its code occurs 0 times in the module; bookkeeper_twisted/sums.py"
        )
        shutil.rmtree(self.scratch)
        self.assertEqual(self._try(plant("def double(n): ...", "def triple(n): ...")).verdict, Verdict.BROKEN)

    def test_text(self) -> None:
        """The text of a plant of text has to occur once, too."""
        trial = self._try(TextPlant("the sum of one", "sums.py", "return n + ", "return ", ["tests.test_sums"]))
        self.assertEqual(trial.verdict, Verdict.NOTICED)
        shutil.rmtree(self.scratch)
        trial = self._try(TextPlant("no number", "sums.py", "n", "", ["tests.test_sums"]))
        self.assertIn("its text occurs 4 times", trial.reason)

    def test_planted_test(self) -> None:
        """A test that makes a defect by itself has noticed it if it passes."""
        self.assertEqual(
            self._try(PlantedTest("zero", "tests.test_sums.DoubleTests.test_zero")).verdict, Verdict.NOTICED
        )
        shutil.rmtree(self.scratch)
        self.assertEqual(self._try(PlantedTest("one", "tests.test_sums.DoubleTests.test_one")).verdict, Verdict.MISSED)

    def test_killed(self) -> None:
        """A process that had to be killed, or that died without a word, hung."""
        self.assertEqual(judge(None, "tests.a.B.test_c ... ")[0], Verdict.HUNG)

    def test_all(self) -> None:
        """Plants are tried in trees of their own and reported as they end."""
        reported: list[Trial] = []
        plants = [plant("n + n", "n"), plant("n + n", "3 * n"), plant("n + n", "n * (n - 1)")]
        trials = try_all(self.original, self.scratch, plants, 2, reported.append)
        self.assertEqual(trials, reported)
        verdicts = {trial.plant.name[-11:]: trial.verdict for trial in trials}
        self.assertEqual(sorted(v.value for v in verdicts.values()), ["NOT NOTICED", "noticed", "noticed"])

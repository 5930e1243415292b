"""Sizes and ways of ``python -m benchmarks structure``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.writing.structure import changes, sizes, table, way


class StructureTests(SynchronousTestCase):
    """Counting."""

    def test_way(self) -> None:
        """Modules count once, changes each time."""
        calls = ["a.b", "a.b", "a.c", "d.e", "a.b"]
        self.assertEqual(way(calls, ""), {"files": 3, "changes of room": 3, "changes of package": 2})
        self.assertEqual(changes([]), 0)

    def test_sizes(self) -> None:
        """Functions inside functions count, too; what is for tests does not."""
        package = Path(self.mktemp()) / "bookkeeper_twisted"
        (package / "testing").mkdir(parents=True)
        (package / "one.py").write_text("def f():\n    def g(): pass\n    return g\n")
        (package / "two.py").write_text("x = 1\n")
        (package / "testing" / "three.py").write_text("y = 1\n" * 100)
        found = sizes(package.parent)
        self.assertEqual((found["modules"], found["lines"], found["functions"]), (2, 4, 2))

    def test_table(self) -> None:
        """A line for each figure, with the ratio of two trees."""
        results = {"this": {"all": {"lines": 1}}, "old": {"all": {"lines": 2}}}
        (_, line) = table(results)
        self.assertEqual(line.split(), ["all:", "lines", "1", "2", "0.50"])

"""The page and the picture of a comparison."""

from xml.etree import ElementTree

import attrs
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.chart import better, svg
from benchmarks.compare.comparison import changes, headlines, rows
from benchmarks.compare.grouping import GROUPED, ONE_BY_ONE, Grouping
from benchmarks.compare.results import figure, markdown
from benchmarks.compare.syscalls import CALLS, Counts

from .made_up import BESIDE_OLD, FACTS, RUNS

_SVG = "{http://www.w3.org/2000/svg}"


class PageTests(SynchronousTestCase):
    """``results.md``."""

    def test_table(self) -> None:
        """A row says what was measured, the ratio with its extremes, the target, and whether it was met."""
        page = markdown(rows(RUNS), {}, {}, [FACTS])
        self.assertIn("| add-1K-1000-v2 | entries/s | 300 | 100 | java | 3.00 (1.00..4.00) | ≥ 1.5 | met |", page)
        self.assertIn(
            "| add-1K-1000-v2 | CPU s per million | 1 | 1 | java | 1.00 (1.00..1.00) | ≤ 0.6 | **missed** |", page
        )
        self.assertNotIn("BP-62", page)

    def test_circumstances(self) -> None:
        """The machine is named, and for each command the load, the host's share and the disk; a trial says so."""
        page = markdown([], {}, {}, [FACTS, attrs.evolve(FACTS, command="another", load=2.0)])
        self.assertIn("2 cores (a CPU), 8 GiB, Linux 6.1.", page)
        self.assertIn("* `python -m benchmarks compare`, 2026-01-01: 0.50, 1.0%, 0.20 ms, 1,500 MiB/s\n", page)
        self.assertIn("* `another`, 2026-01-01: 2.00,", page)
        self.assertNotIn("trial", page)
        self.assertIn("A trial with 0.1 of the work", markdown([], {}, {}, [attrs.evolve(FACTS, scale=0.1)]))

    def test_changes(self) -> None:
        """What another source tree was run with has a line in a table of its own."""
        page = markdown(rows(BESIDE_OLD), {}, {}, [FACTS], changes(BESIDE_OLD))
        self.assertIn("| add-1K-1000-v2 | entries/s | 300 | 200 | 1.50 (0.50..2.00) |", page)
        self.assertNotIn("old tree", markdown(rows(RUNS), {}, {}, [FACTS], changes(RUNS)))

    def test_headline(self) -> None:
        """BP-62's table has a row for each bookie and a target for ours."""
        page = markdown([], headlines(RUNS), {}, [FACTS])
        self.assertIn("| ours | 3,000 | 5,000 | 200 | 15.0 | ≥ 22.5, **missed** |", page)
        self.assertIn("| java | 300 | 300 | 10 | 30.0 |  |", page)

    def test_grouping(self) -> None:
        """System calls stand beside the rate, and what is lost without grouping below."""
        few, many = (Counts(dict.fromkeys(CALLS, n)) for n in (3.0, 1000.0))
        ways = {GROUPED: Grouping(300_000, 2.0, few), ONE_BY_ONE: Grouping(100_000, 5.0, many)}
        page = markdown([], {}, {"V2": ways}, [FACTS])
        self.assertIn("| V2 | grouped | 3.0 | 3.0 | 3.0 | 3.0 | 300,000 | 2 | met |", page)
        self.assertIn("V2 loses a factor of 3.00 in rate\nand of 2.50 in CPU", page)

    def test_figures(self) -> None:
        """Three digits count."""
        self.assertEqual([figure(x) for x in (1234567.8, 99.94, 0.12345)], ["1,234,568", "99.9", "0.123"])


class PictureTests(SynchronousTestCase):
    """``results.svg``."""

    def test_bars(self) -> None:
        """One bar a row, coloured by whether the target was met."""
        picture = ElementTree.fromstring(svg(rows(RUNS)))
        bars = [bar.attrib["class"] for bar in picture.iter(f"{_SVG}rect")]
        self.assertEqual(bars, ["met", "missed", "met", "met", "met", "met"])
        self.assertEqual(len([line for line in picture.iter(f"{_SVG}line") if line.attrib["class"] == "target"]), 6)

    def test_right_is_better(self) -> None:
        """A rate three times as high and a cost of a third reach equally far."""
        self.assertAlmostEqual(better(3, "rate"), better(1 / 3, "cpu"))

    def test_nothing(self) -> None:
        """Without rows it is still a picture."""
        self.assertEqual(list(ElementTree.fromstring(svg([])).iter(f"{_SVG}rect")), [])

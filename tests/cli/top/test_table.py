"""The table of ``top``."""

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.top.figures import MetricsSample
from bookkeeper_twisted.cli.top.load import COLUMNS, BookieLoad, line_of, load_of, title_line
from bookkeeper_twisted.cli.top.table import HELP, KEYS, SORTS, ordered, table_lines

A = BookieLoad("a:1", "writable", 1234.4, 5, 2_500_000, 1, 1.234, 7, 40.06, 3)
B = BookieLoad("b:1", "readOnly", 2000, None, note="disk full")
C = BookieLoad("c:1", "down", note="not registered")


class LoadTests(SynchronousTestCase):
    """Rates and lines of a bookie."""

    def test_rates(self) -> None:
        """Differences of two samples, by the time between them."""
        before = MetricsSample(10.0, 100, 10, 1000, 0)
        now = MetricsSample(14.0, 180, 10, 9000, 2, 1.5, 3, 40.0, 2)
        expected = BookieLoad("a:1", "writable", 20, 0, 2000, 0.5, 1.5, 3, 40, 2)
        self.assertEqual(load_of("a:1", "writable", before, now, ""), expected)

    def test_unknown(self) -> None:
        """No rate is known of the first sample, after a restart, and of what a bookie does not export."""
        now = MetricsSample(14.0, 5, 10, connections=2)
        for before in (None, MetricsSample(10.0, 100, None), MetricsSample(14.0, 1, 1)):
            found = load_of("a:1", "writable", before, now, "")
            self.assertEqual((found.adds_per_second, found.reads_per_second, found.connections), (None, None, 2))
        self.assertEqual(load_of("c:1", "down", now, None, "not registered"), C)

    def test_lines(self) -> None:
        """Figures stand below their titles; what is not known is a dash; the note comes last."""
        title, first, second = title_line(COLUMNS), line_of(A, COLUMNS), line_of(C, COLUMNS)
        for column, text in zip(COLUMNS, ("1234", "5", "2.50", "0.00", "1.23", "7", "40.1", "3"), strict=True):
            end = title.index(column.title) + len(column.title)
            self.assertEqual(first[:end].split()[-1], text)
            self.assertEqual(second[end - 1], "-")
        self.assertEqual(title.index("BOOKIE"), first.index("a:1"))
        self.assertTrue(second.endswith("c:1  not registered"))


class TableTests(SynchronousTestCase):
    """Lines on a terminal."""

    def test_order(self) -> None:
        """By id, or the greatest figure first; bookies whose figure is unknown come last, by id."""
        for sort, expected in (("bookie", "abc"), ("adds", "bac"), ("reads", "abc"), ("disk", "abc")):
            found = "".join(load.bookie_id[0] for load in ordered([C, B, A], sort))
            self.assertEqual(found, expected)
        self.assertEqual([load.bookie_id for load in ordered([C, B], "p99")], ["b:1", "c:1"])

    def test_keys(self) -> None:
        """Each order has a key, and the help names it."""
        self.assertEqual(set(KEYS.values()), set(SORTS))
        for key in KEYS:
            self.assertIn(f" {key} ", HELP)

    def test_width(self) -> None:
        """A narrow terminal shows fewer figures, then cuts lines; the id is there while it can be."""
        for width in range(140):
            lines = table_lines([A, B, C], width, 10, False)
            self.assertTrue(all(len(line) <= width for line in lines), width)
            if width >= 30:
                self.assertIn("a:1", lines[1])
        self.assertIn("CONNS", table_lines([A], 120, 10, False)[0])
        narrow = table_lines([A], 50, 10, False)[0]
        self.assertTrue("ADDS/S" in narrow and "CONNS" not in narrow)

    def test_height(self) -> None:
        """A low terminal shows the first bookies, and how many there are besides."""
        loads = [attrs.evolve(A, bookie_id=f"b{n}") for n in range(10)]
        self.assertEqual(len(table_lines(loads, 120, 11, False)), 11)
        lines = table_lines(loads, 120, 5, False)
        self.assertEqual((len(lines), lines[-1]), (5, "and 7 more"))
        for height in (-1, 0, 1, 2):
            self.assertEqual(len(table_lines(loads, 120, height, False)), max(height, 0))

    def test_colour(self) -> None:
        """Bookies that take no adds have a colour where colours are wanted, nowhere else."""
        plain = table_lines([A, B, C], 120, 10, False)
        self.assertNotIn("\x1b", "".join(plain))
        coloured = table_lines([A, B, C], 120, 10, True)
        self.assertEqual(coloured[:2], plain[:2])
        self.assertEqual(coloured[2:], [f"\x1b[33m{plain[2]}\x1b[0m", f"\x1b[31m{plain[3]}\x1b[0m"])

"""The table of the matrix."""

from twisted.trial.unittest import SynchronousTestCase

from .table import Cell, Table


class TableTextTests(SynchronousTestCase):
    """:class:`Table`."""

    def test_marks(self) -> None:
        """A cell is ok if all of its variants are; else it names those that failed; "-" if it was not tried."""
        table = Table(("who",), ("read", "tail"))
        table.record(Cell(("ours",), "read", "CRC32"), True)
        table.record(Cell(("ours",), "read", "HMAC"), False)
        table.record(Cell(("Java",), "read", "CRC32"), True)
        lines = ["who   read       tail", "----  ---------  ----", "ours  FAIL HMAC  -", "Java  ok         -"]
        self.assertEqual(table.text().split("\n"), lines)

    def test_missing(self) -> None:
        """A cell that failed, and one that was not tried, are missing."""
        table = Table(("who",), ("read",))
        good, bad, untried = (Cell(("ours",), "read", name) for name in ("good", "bad", "untried"))
        table.record(good, True)
        table.record(bad, False)
        self.assertEqual(table.missing([good, bad, untried]), [bad, untried])

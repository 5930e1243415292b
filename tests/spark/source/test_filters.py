"""Comparisons that are pushed down."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.spark.id_ranges import ALL_IDS
from bookkeeper_twisted.spark.source.filters import IdFilter


class FilterTests(SynchronousTestCase):
    """What a read sees to, and what is left to Spark."""

    def clipped(self, *comparisons: tuple[str, object]) -> tuple[int, int]:
        """What is left of entries 0 to 99."""
        wanted = IdFilter()
        for kind, value in comparisons:
            wanted.accept(kind, "entry_id", value)
        return wanted.entries.clipped(0, 99)

    def test_ranges(self) -> None:
        """Each comparison narrows the range as it says."""
        self.assertEqual(self.clipped(("GreaterThan", 9), ("LessThan", 20)), (10, 19))
        self.assertEqual(self.clipped(("GreaterThanOrEqual", 9), ("LessThanOrEqual", 20)), (9, 20))
        self.assertEqual(self.clipped(("EqualTo", 5)), (5, 5))
        self.assertEqual(self.clipped(("In", (7, 3, 200))), (3, 99))
        self.assertEqual(self.clipped(("In", (7, 3)), ("GreaterThan", 3)), (7, 7))
        first, last = self.clipped(("In", ()))
        self.assertGreater(first, last)

    def test_ledgers(self) -> None:
        """Ledgers are chosen by the same comparisons."""
        wanted = IdFilter()
        self.assertTrue(wanted.accept("In", "ledger_id", (1, 2, 3)))
        self.assertTrue(wanted.accept("GreaterThan", "ledger_id", 1))
        self.assertEqual(list(wanted.ledgers.ids()), [2, 3])
        wanted = IdFilter()
        self.assertEqual(wanted.ledgers.ids(), ALL_IDS)
        self.assertTrue(wanted.accept("LessThan", "ledger_id", 9))
        self.assertTrue(wanted.accept("GreaterThanOrEqual", "ledger_id", 7))
        self.assertEqual(list(wanted.ledgers.ids()), [7, 8])
        self.assertTrue(wanted.accept("GreaterThan", "ledger_id", 8))
        self.assertFalse(wanted.ledgers.ids())

    def test_left_to_spark(self) -> None:
        """Other columns, other comparisons and other types are Spark's; so is a list of entries with gaps."""
        wanted = IdFilter()
        for kind, column, value in (
            ("EqualTo", "length", 5), ("IsNull", "entry_id", None), ("EqualTo", "entry_id", "5"),
            ("In", "entry_id", (1, 9)), ("StringContains", "ledger_id", 1),
        ):  # fmt: skip
            self.assertFalse(wanted.accept(kind, column, value))

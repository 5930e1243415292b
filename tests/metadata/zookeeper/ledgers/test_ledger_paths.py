"""Paths of ledgers."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import FLAT_FORM, LONG_FORM, SHORT_FORM


class LedgerFormTests(SynchronousTestCase):
    """:class:`LedgerForm`."""

    def test_paths(self) -> None:
        """Digits are cut into groups, the last with a letter."""
        self.assertEqual(SHORT_FORM.path(1234567890), "12/3456/L7890")
        self.assertEqual(LONG_FORM.path(4294967296), "000/0000/0042/9496/L7296")
        self.assertEqual(LONG_FORM.path((1 << 63) - 1), "922/3372/0368/5477/L5807")
        self.assertEqual(FLAT_FORM.path(7), "L0000000007")
        self.assertEqual(FLAT_FORM.path(12345678901), "L12345678901")

    def test_too_large(self) -> None:
        """An id with more digits than the form has no path: cut off, it would be another ledger's."""
        self.assertRaises(IncorrectParameterError, SHORT_FORM.path, 10**10)

    def test_names(self) -> None:
        """A name gives its digits, any other none."""
        self.assertEqual(SHORT_FORM.digits(0, "01"), "01")
        self.assertEqual(SHORT_FORM.digits(2, "L0001"), "0001")
        self.assertEqual(FLAT_FORM.digits(0, "L12345678901"), "12345678901")
        for level, name in (
            (0, "1"),
            (0, "001"),
            (0, "0x"),
            (0, "\u0660\u0661"),
            (1, "L0001"),
            (2, "0001"),
            (2, "L0001\n"),
        ):
            self.assertIsNone(SHORT_FORM.digits(level, name), name)
        for name in ("idgen", "LAYOUT", "L123", "ID-0000000001"):
            self.assertFalse(FLAT_FORM.is_top(name), name)

    def test_spans(self) -> None:
        """The digits down to a level span the ids below it."""
        self.assertEqual(SHORT_FORM.span("12"), (1200000000, 1299999999))
        self.assertEqual(SHORT_FORM.span("1234567890"), (1234567890, 1234567890))
        self.assertEqual(LONG_FORM.span(""), (0, 10**19 - 1))
        self.assertEqual(FLAT_FORM.span("12345678901"), (12345678901, 12345678901))

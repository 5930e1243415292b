"""Shared values: bookie ids, ensembles."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment, check_bookie_id


class BookieIdTests(SynchronousTestCase):
    """:func:`check_bookie_id`."""

    def test_valid(self) -> None:
        """Host and port, names, and every character of the set are taken, and given back."""
        for bookie_id in ("10.0.0.1:3181", "bookie-four", "a", "A-Za:z0;9<=>?@[\\]^_.", "readonly2"):
            self.assertEqual(check_bookie_id(bookie_id), bookie_id)

    def test_invalid(self) -> None:
        """Other characters, nothing, a final line feed and the reserved name in any case are refused."""
        for bookie_id in ("", "a/b", "a b", "a+b", "a,b", "b\u00fccher", "a\n", "readonly", "ReadOnly"):
            self.assertRaises(IncorrectParameterError, check_bookie_id, bookie_id)


class LedgerMetadataTests(SynchronousTestCase):
    """:class:`LedgerMetadata`."""

    def test_ensemble_at(self) -> None:
        """An entry is kept by the segment with the greatest start not above it."""
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("a",)), Segment(5, ("b",)), Segment(9, ("c",))))
        self.assertEqual([metadata.ensemble_at(e)[0] for e in (0, 4, 5, 8, 9, 1 << 40)], list("aabbcc"))

    def test_closed(self) -> None:
        """Only CLOSED is closed."""
        closed = [LedgerMetadata(1, 1, 1, (), state=state).closed for state in LedgerState]
        self.assertEqual(closed, [False, False, True])

"""Which copies of an entry a bookie may give."""

from twisted.trial.unittest import SynchronousTestCase

from ...bookie.rig import run
from .copies import StoredCopies


class StoredCopiesTests(SynchronousTestCase):
    """:class:`StoredCopies`, of a run of two entries that is written again with other bytes."""

    def setUp(self) -> None:
        self.copies = StoredCopies()
        self.old, self.new = run(1, 5, 2), run(1, 6, 1, b"other")
        self.copies.adding(self.old)

    def is_old(self, began: int | None = None) -> tuple[bool, bool, bool]:
        now = self.copies.begin() if began is None else began
        given = ((5, self.old.entry(5)), (6, self.old.entry(6)), (6, self.new.entry(6)))
        first, second, third = (self.copies.is_old(1, entry_id, data, now) for entry_id, data in given)
        return first, second, third

    def test_newer_copy(self) -> None:
        """A copy is too old for reads that begin once a newer one is acknowledged."""
        self.copies.acknowledged(self.old)
        self.copies.adding(self.new)
        before = self.copies.begin()
        self.assertEqual(self.is_old(), (False, False, False))
        self.copies.acknowledged(self.new)
        self.assertEqual(self.is_old(before), (False, False, False))
        self.assertEqual(self.is_old(), (False, True, False))
        self.copies.forget(1)
        self.assertEqual(self.is_old(), (False, False, False))

    def test_at_once(self) -> None:
        """Of adds that are under way at the same time any may be the last."""
        self.copies.adding(self.new)
        self.copies.acknowledged(self.new)
        self.copies.acknowledged(self.old)
        self.assertEqual(self.is_old(), (False, False, False))

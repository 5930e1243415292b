"""States of ledgers in memory."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_states import LedgerStates


class LedgerStatesTests(SynchronousTestCase):
    """What is known, and what the index does not hold yet."""

    def test_stored(self) -> None:
        """What was stored is known and not dirty."""
        states = LedgerStates([LedgerRow(1, b"key"), LedgerRow(2)])
        self.assertEqual(states.get(1), LedgerRow(1, b"key"))
        self.assertIsNone(states.get(3))
        self.assertIn(2, states)
        self.assertEqual(len(states), 2)
        self.assertEqual(states.take_dirty(), [])

    def test_dirty(self) -> None:
        """A change is taken once, in its newest form; the same state again is no change."""
        states = LedgerStates([LedgerRow(1, b"key")])
        states.put(LedgerRow(1, b"key"))
        self.assertEqual(states.take_dirty(), [])
        states.put(LedgerRow(5))
        states.put(LedgerRow(1, b"key", fenced=True))
        states.put(LedgerRow(1, b"key", fenced=True, explicit_lac=b"x"))
        self.assertEqual(states.take_dirty(), [LedgerRow(1, b"key", True, b"x"), LedgerRow(5)])
        self.assertEqual(states.take_dirty(), [])

    def test_not_stored(self) -> None:
        """What could not be stored is dirty again, in the form it has by then."""
        states = LedgerStates()
        states.put(LedgerRow(1))
        taken = states.take_dirty()
        states.put(LedgerRow(1, b"key"))
        states.not_stored(taken)
        self.assertEqual(states.take_dirty(), [LedgerRow(1, b"key")])

    def test_keys_are_shared(self) -> None:
        """Equal master keys are one object."""
        states = LedgerStates([LedgerRow(1, bytes([5] * 20))])
        states.put(LedgerRow(2, bytes([5] * 20)))
        one, two = states.get(1), states.get(2)
        assert one is not None and two is not None
        self.assertIs(one.master_key, two.master_key)


class ForgottenTests(SynchronousTestCase):
    """Ledgers that are deleted."""

    def setUp(self) -> None:
        self.states = LedgerStates([LedgerRow(1, b"key"), LedgerRow(2, b"key", fenced=True)])

    def test_forgotten(self) -> None:
        """A deleted ledger is unknown at once; the stored rows are deleted once."""
        self.states.forget(1, 100)
        self.assertEqual((self.states.ids(), self.states.get(1)), ([2], None))
        self.assertTrue(self.states.is_deleted(1))
        self.assertEqual((self.states.take_deleted(), self.states.take_dirty()), ([1], []))
        self.assertTrue(self.states.is_deleted(1))
        self.states.deleted([1], True)
        self.assertFalse(self.states.is_deleted(1))
        self.assertEqual(self.states.take_deleted(), [])
        self.assertFalse(self.states.was_fenced(1))

    def test_fence_remains(self) -> None:
        """S3: of a fenced ledger, the fence remains, in a row of its own."""
        self.states.forget(2, 100)
        row = LedgerRow(2, fenced=True, forgotten_at=100)
        self.assertEqual((self.states.take_deleted(), self.states.take_dirty()), ([2], [row]))
        again = LedgerStates([row])
        for states in (self.states, again):
            self.assertTrue(states.was_fenced(2))
            self.assertIsNone(states.get(2))
        self.assertEqual(again.ids(), [])

    def test_keys_go_with_their_ledgers(self) -> None:
        """S11: keys of ledgers that are gone do not stay in memory, whoever brought how many of them."""
        count = 5000
        for i in range(count):
            self.states.put(LedgerRow(10 + i, i.to_bytes(20, "big"), fenced=i % 2 == 0))
        for i in range(count):
            self.states.forget(10 + i, 100)
        self.assertLess(len(self.states._keys), count / 4)
        row = self.states.get(2)
        assert row is not None
        self.states.put(LedgerRow(1, bytes([*b"key"])))
        again = self.states.get(1)
        assert again is not None
        self.assertIs(again.master_key, row.master_key)

    def test_expired(self) -> None:
        """A fence is forgotten when its time has come, and its row deleted."""
        self.states.forget(2, 100)
        self.assertEqual(self.states.expire(100), 0)
        self.states.not_stored(self.states.take_dirty())
        self.assertEqual(self.states.expire(101), 1)
        self.assertFalse(self.states.was_fenced(2))
        self.assertEqual((self.states.take_deleted(), self.states.take_dirty()), ([2], []))

    def test_not_deleted(self) -> None:
        """What could not be deleted is deleted by the next checkpoint, a new ledger of that id after it."""
        self.states.forget(1, 100)
        taken = self.states.take_deleted()
        self.states.put(LedgerRow(1, b"new"))
        self.states.deleted(taken, False)
        self.assertEqual((self.states.take_deleted(), self.states.take_dirty()), ([1], [LedgerRow(1, b"new")]))

    def test_unknown(self) -> None:
        """A ledger that is not known is not deleted."""
        self.states.forget(5, 100)
        self.assertEqual(self.states.take_deleted(), [])

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

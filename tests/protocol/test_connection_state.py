"""The states of connections."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.connection_state import NEXT, ConnectionState, following


class StateTests(SynchronousTestCase):
    """The table."""

    def test_table(self) -> None:
        """Every state has a row, every state but the last leads to the last, and none leads back."""
        order = list(ConnectionState)
        self.assertEqual(list(NEXT), order)
        for state, wanted in NEXT.items():
            self.assertTrue(all(order.index(each) > order.index(state) for each in wanted))
            self.assertEqual(ConnectionState.CLOSED in wanted, state is not ConnectionState.CLOSED)

    def test_following(self) -> None:
        """A state that may follow is returned; any other is refused, the same one included."""
        self.assertIs(following(ConnectionState.CONNECTING, ConnectionState.READY), ConnectionState.READY)
        for state, wanted in (
            (ConnectionState.READY, ConnectionState.AUTHENTICATING),
            (ConnectionState.READY, ConnectionState.READY),
            (ConnectionState.CLOSED, ConnectionState.READY),
        ):
            self.assertRaises(ValueError, following, state, wanted)

"""The table of a writer's states."""

from itertools import product

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.states import CHANGING_TO_CLOSE, ENDED, NEXT, OPEN, Event, State, following


def _reachable() -> set[State]:
    found, new = {OPEN}, {OPEN}
    while new:
        new = {after for state in new for after in NEXT[state].values()} - found
        found |= new
    return found


class TableTests(SynchronousTestCase):
    """What holds in every state."""

    def test_reached(self) -> None:
        """Each state of the table can be reached from that of a new writer."""
        self.assertEqual(_reachable(), set(NEXT))

    def test_end(self) -> None:
        """Every state can end at once; the end has no way out, and nothing happens in it."""
        for state in NEXT:
            self.assertIs(following(state, Event.END), ENDED)
        for event in Event:
            self.assertIs(following(ENDED, event), ENDED)
        self.assertFalse(ENDED.appends or ENDED.completes or ENDED.listens)

    def test_close(self) -> None:
        """No event lets a writer that is being closed take entries again."""
        for state, event in product(NEXT, Event):
            self.assertLessEqual(following(state, event).appends, state.appends)

    def test_changes(self) -> None:
        """Failed bookies begin a change where none is under way, and nothing completes before it is over (S16)."""
        for state in set(NEXT) - {ENDED}:
            changing = following(state, Event.BOOKIES_FAILED)
            self.assertFalse(changing.completes)
            self.assertEqual(changing is state, not state.completes)
            self.assertEqual(changing.appends, state.appends)
            after = following(changing, Event.CHANGED)
            self.assertTrue(after.completes)
            self.assertEqual(after.appends, state.appends)

    def test_change_and_close(self) -> None:
        """A change and a close that meet have one outcome, whichever came first."""
        for first, second in ((Event.CLOSE, Event.BOOKIES_FAILED), (Event.BOOKIES_FAILED, Event.CLOSE)):
            self.assertIs(following(following(OPEN, first), second), CHANGING_TO_CLOSE)

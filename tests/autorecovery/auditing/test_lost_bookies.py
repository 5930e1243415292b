"""The rules of lost bookies: every transition, and what the table cannot say."""

from itertools import product

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.auditing.lost_bookies import TRANSITIONS, Action, Detection, Loss, LostBookies


class LostBookiesTests(SynchronousTestCase):
    """:class:`LostBookies`."""

    def setUp(self) -> None:
        self.bookies = LostBookies({"a", "b", "c"}, 30)

    def test_table(self) -> None:
        """Every state, number of losses and delay has its transition; one state only waits."""
        self.assertEqual(set(TRANSITIONS), set(product(Detection, Loss, (False, True))))
        for (_, loss, _), (action, state) in TRANSITIONS.items():
            self.assertEqual(state is Detection.WAITING, action is Action.SCHEDULE or (
                loss is Loss.ONE and action is Action.NOTHING))  # fmt: skip

    def test_one_is_waited_for(self) -> None:
        """One lost bookie gets its delay, once, and an audit after it."""
        self.assertIs(self.bookies.bookies_are({"a", "b"}), Action.SCHEDULE)
        self.assertIs(self.bookies.bookies_are({"a", "b"}), Action.NOTHING)
        self.assertEqual(self.bookies.pending, {"c"})
        self.assertIs(self.bookies.expired(), Action.AUDIT)
        self.assertIs(self.bookies.bookies_are({"a", "b"}), Action.NOTHING)

    def test_back_in_time(self) -> None:
        """A bookie that is back within its delay is not lost, and can be lost again."""
        self.bookies.bookies_are({"a", "b"})
        self.assertIs(self.bookies.bookies_are({"a", "b", "c"}), Action.CANCEL)
        self.assertIs(self.bookies.expired(), Action.NOTHING)
        self.assertIs(self.bookies.bookies_are({"a", "b"}), Action.SCHEDULE)

    def test_two_are_not_waited_for(self) -> None:
        """A second loss ends the delay, whether both come at once or one after the other."""
        self.bookies.bookies_are({"a", "b"})
        self.assertIs(self.bookies.bookies_are({"a"}), Action.AUDIT)
        self.assertIs(LostBookies({"a", "b", "c"}, 30).bookies_are({"a"}), Action.AUDIT)

    def test_one_of_two_is_back(self) -> None:
        """Another bookie in the place of the one that is waited for goes on with its delay."""
        self.bookies.bookies_are({"a", "b"})
        self.assertIs(self.bookies.bookies_are({"b", "c"}), Action.NOTHING)
        self.assertEqual(self.bookies.pending, {"a"})

    def test_no_delay(self) -> None:
        """Without a delay a loss is looked into at once."""
        self.assertIs(LostBookies({"a", "b"}, 0).bookies_are({"a"}), Action.AUDIT)

    def test_new_bookies(self) -> None:
        """A bookie without a cookie is known from the moment it is there."""
        self.assertIs(self.bookies.bookies_are({"a", "b", "c", "d"}), Action.NOTHING)
        self.assertIs(self.bookies.bookies_are({"a", "b", "c"}), Action.SCHEDULE)

    def test_changes_of_the_delay(self) -> None:
        """Another delay begins anew; 0 and the same value are orders, also where no bookie is lost."""
        self.assertIs(self.bookies.delay_is(60), Action.NOTHING)
        self.bookies.bookies_are({"a", "b"})
        self.assertIs(self.bookies.delay_is(90), Action.SCHEDULE)
        self.assertEqual(self.bookies.delay, 90)
        self.assertIs(self.bookies.delay_is(90), Action.AUDIT)
        self.assertEqual((self.bookies.pending, self.bookies.state), (set(), Detection.CALM))
        self.assertIs(self.bookies.delay_is(0), Action.AUDIT)

    def test_look_into(self) -> None:
        """An audit takes all for lost that are not there; they are lost once, until they are back."""
        self.bookies.look_into({"a"})
        self.assertIs(self.bookies.bookies_are({"a"}), Action.NOTHING)
        self.bookies.bookies_are({"a", "b"})
        self.assertIs(self.bookies.bookies_are({"a"}), Action.SCHEDULE)

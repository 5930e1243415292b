"""Permits."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.requests.context import Permits


class PermitTests(SynchronousTestCase):
    """Taking, waiting, giving."""

    def test_no_limit(self) -> None:
        """Without a limit there are always permits."""
        permits = Permits()
        self.assertTrue(permits.take(1000) and permits.take(1000))
        self.assertEqual(permits.in_progress, 2000)

    def test_overshoot(self) -> None:
        """A run may take more than are left, and no other gets any until they are back."""
        permits = Permits(10)
        self.assertTrue(permits.take(9))
        self.assertTrue(permits.take(5))
        self.assertFalse(permits.take(1))
        permits.give(5)
        self.assertTrue(permits.take(1))

    def test_turns(self) -> None:
        """Who waits is called in turn, as long as there are permits."""
        permits = Permits(1)
        permits.take(1)
        served: list[str] = []

        def waiter(name: str) -> None:
            if permits.take(1):
                served.append(name)

        permits.wait(lambda: waiter("a"))
        permits.wait(lambda: waiter("b"))
        permits.give(1)
        self.assertEqual((served, permits.waiting), (["a"], 1))
        permits.give(1)
        self.assertEqual((served, permits.waiting), (["a", "b"], 0))

    def test_many_waiters_that_give_back_at_once(self) -> None:
        """A long queue of those who are done at once is no deep recursion."""
        permits = Permits(1)
        permits.take(1)
        served: list[int] = []

        def waiter(number: int) -> None:
            self.assertTrue(permits.take(1))
            served.append(number)
            permits.give(1)

        for number in range(5000):
            permits.wait(lambda number=number: waiter(number))  # type: ignore[misc]
        permits.give(1)
        self.assertEqual((served, permits.in_progress), (list(range(5000)), 0))

"""Permits."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.requests.context import Permits


class PermitTests(SynchronousTestCase):
    """Taking, waiting, giving."""

    def test_no_limit(self) -> None:
        """Without a limit there are always permits."""
        permits = Permits()
        self.assertTrue(permits.acquire(1000) and permits.acquire(1000))
        self.assertEqual(permits.in_progress, 2000)

    def test_limit(self) -> None:
        """A run takes all its permits at once or none."""
        permits = Permits(10)
        self.assertTrue(permits.acquire(9))
        self.assertFalse(permits.acquire(2))
        self.assertTrue(permits.acquire(1))
        permits.release(9)
        self.assertTrue(permits.acquire(9))

    def test_larger_than_the_limit(self) -> None:
        """A run of more requests than the limit goes alone."""
        permits = Permits(10)
        permits.acquire(1)
        self.assertFalse(permits.acquire(11))
        permits.release(1)
        self.assertTrue(permits.acquire(11))
        self.assertFalse(permits.acquire(1))

    def test_large_one_waits_in_turn(self) -> None:
        """A large run is not passed by small ones that come later, however many there are."""
        permits = Permits(10)
        served: list[int] = []

        def waiter(count: int) -> None:
            if permits.acquire(count):
                served.append(count)

        permits.acquire(6)
        permits.wait(8, lambda: waiter(8))
        self.assertFalse(permits.acquire(1))
        permits.wait(2, lambda: waiter(2))
        permits.wait(3, lambda: waiter(3))
        permits.release(3)
        self.assertEqual(served, [])
        permits.release(3)
        self.assertEqual((served, permits.waiting, permits.in_progress), ([8, 2], 1, 10))
        permits.release(8)
        self.assertEqual((served, permits.in_progress), ([8, 2, 3], 5))

    def test_turn_that_is_not_taken(self) -> None:
        """A caller that needs no permits any more, as its connection is lost, leaves its turn to the next one."""
        permits = Permits(2)
        served: list[bool] = []
        permits.acquire(2)
        permits.wait(2, lambda: None)
        permits.wait(2, lambda: served.append(permits.acquire(2)))
        permits.release(2)
        self.assertEqual((served, permits.in_progress), ([True], 2))

    def test_turns(self) -> None:
        """Who waits is called in turn, as long as there are permits."""
        permits = Permits(1)
        permits.acquire(1)
        served: list[str] = []

        def waiter(name: str) -> None:
            if permits.acquire(1):
                served.append(name)

        permits.wait(1, lambda: waiter("a"))
        permits.wait(1, lambda: waiter("b"))
        permits.release(1)
        self.assertEqual((served, permits.waiting), (["a"], 1))
        permits.release(1)
        self.assertEqual((served, permits.waiting), (["a", "b"], 0))

    def test_many_waiters_that_give_back_at_once(self) -> None:
        """A long queue of those who are done at once is no deep recursion."""
        permits = Permits(1)
        permits.acquire(1)
        served: list[int] = []

        def waiter(number: int) -> None:
            self.assertTrue(permits.acquire(1))
            served.append(number)
            permits.release(1)

        for number in range(5000):
            permits.wait(1, lambda number=number: waiter(number))  # type: ignore[misc]
        permits.release(1)
        self.assertEqual((served, permits.in_progress), (list(range(5000)), 0))

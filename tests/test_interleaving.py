"""The stepping of threads finds what a wrong order of two lines does, and ends."""

import sys
from types import ModuleType

from twisted.trial.unittest import SynchronousTestCase

from .bounds import until
from .interleaving import Deadlock, Turns, explore

_HERE: ModuleType = sys.modules[__name__]


class _Counter:
    def __init__(self) -> None:
        self.value = 0

    def add(self) -> None:
        value = self.value
        self.value = value + 1


class InterleavingTests(SynchronousTestCase):
    """Threads of this module."""

    def test_lost_update(self) -> None:
        """An update that another thread's falls into is found, with the schedule that loses it."""
        ends: set[int] = set()

        def run(schedule: tuple[int, ...], first: int) -> int:
            counter = _Counter()
            steps = Turns(_HERE, schedule=schedule, first=first).run(counter.add, counter.add)
            ends.add(counter.value)
            self.assertEqual(counter.value, 2)
            return steps

        error = self.assertRaises(AssertionError, explore, run)
        self.assertRegex(str(error), r"thread 0 first, hand-overs at steps \(\d+, ")
        self.assertEqual(ends, {1, 2})

    def test_lock(self) -> None:
        """What a lock guards is whole in every order."""

        def run(schedule: tuple[int, ...], first: int) -> int:
            counter, turns = _Counter(), Turns(_HERE, schedule=schedule, first=first)
            lock = turns.lock()

            def add() -> None:
                with lock:
                    counter.add()

            steps = turns.run(add, add)
            self.assertEqual(counter.value, 2)
            return steps

        self.assertGreater(explore(run), 10)

    def test_deadlock(self) -> None:
        """Threads that wait for what will not come are told so, and end."""
        turns = Turns(_HERE)
        self.assertRaises(Deadlock, turns.run, turns.signal().wait, turns.signal().wait)

    def test_left_alone(self) -> None:
        """So is one that is left when the others have ended."""
        turns = Turns(_HERE)
        self.assertRaises(Deadlock, turns.run, turns.signal().wait, lambda: None)

    def test_error(self) -> None:
        """What a thread raises comes out, though another waits for it."""
        turns = Turns(_HERE)

        def fail() -> None:
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, turns.run, turns.signal().wait, fail)


class UntilTests(SynchronousTestCase):
    """Loops with a bound."""

    def test_reached(self) -> None:
        """The loop ends when it is reached, in the last round too."""
        seen: list[int] = []
        for number in until(lambda: len(seen) == 3, 3):
            seen.append(number)
        self.assertEqual(seen, [0, 1, 2])

    def test_not_reached(self) -> None:
        """A loop that goes on is an error."""
        self.assertRaises(AssertionError, list, until(lambda: False, 3))

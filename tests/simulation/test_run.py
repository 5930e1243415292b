"""What is said of a run, good or bad."""

import gc
from contextlib import redirect_stdout
from inspect import CORO_SUSPENDED, getcoroutinestate
from io import StringIO
from itertools import count
from types import CoroutineType

import attrs

from bookkeeper_twisted.client.recovery.write_back import WriteBack

from .__main__ import main
from .case import SimulationTestCase
from .plants import PLANTS, FirstErrorEnds
from .run import simulate
from .scenario import FAULTS, Scenario


class RunTests(SimulationTestCase):
    """:func:`simulate` and the command line."""

    def _main(self, *arguments: str) -> tuple[int, list[str]]:
        output = StringIO()
        with redirect_stdout(output):
            status = main(list(arguments))
        return status, output.getvalue().splitlines()

    def test_good(self) -> None:
        """The last line of a good run counts seeds and violations; its status is 0."""
        status, lines = self._main("--seeds", "2", "--from", "5")
        self.assertEqual((status, lines[-1]), (0, "2 seeds, 0 violations"))

    def test_bad(self) -> None:
        """A seed that fails says what is violated and how it is run again; the status is 1."""
        (plant,) = [plant for plant in PLANTS if any(owner is WriteBack for owner, _, _ in plant.patches)]
        for patch in plant.patches:
            self.patch(*patch)
        for seed in range(1, 100):
            status, lines = self._main("--seeds", "1", "--from", str(seed))
            if status:
                break
        self.assertEqual(status, 1)
        self.assertNotEqual(lines[-1], "1 seeds, 0 violations")
        self.assertTrue(any(line.startswith(f"seed {seed}: S17: ") for line in lines), lines)
        self.assertIn(f"again: .venv/bin/python -m tests.simulation --seeds 1 --from {seed} --log", lines)

    def test_log(self) -> None:
        """A run can be had as lines for people; they change nothing."""
        quiet, told = simulate(3), simulate(3, lines=True)
        self.assertEqual(quiet.trace, told.trace)
        self.assertEqual(quiet.lines, ())
        self.assertTrue(any(" append " in line for line in told.lines))

    def test_nothing_is_left_at_work(self) -> None:
        """No coroutine of a run, of one that ends early even, is left for the garbage collection to end."""

        def at_work() -> dict[int, object]:
            coroutines = [each for each in gc.get_objects() if type(each) is CoroutineType]
            return {id(each): each for each in coroutines if getcoroutinestate(each) == CORO_SUSPENDED}

        (plant,) = [plant for plant in PLANTS if plant.rules is FirstErrorEnds]
        seed = next(i for i in count() if simulate(i, plant.scenario(i), plant.parts).violations)
        before = at_work()
        gc.disable()
        try:
            simulate(seed, plant.scenario(seed), plant.parts)
            self.assertEqual(at_work(), before)
        finally:
            gc.enable()

    def test_every_fault(self) -> None:
        """Every kind of fault strikes if it is switched on, and is survived."""
        scenario = attrs.evolve(Scenario.draw(1), faults=FAULTS, mean_fault=2.0, seconds=20.0)
        outcome = simulate(1, scenario)
        self.assertEqual(outcome.violations, ())
        self.assertEqual([kind for kind in FAULTS if f"fault: {kind}" not in outcome.counters], [])

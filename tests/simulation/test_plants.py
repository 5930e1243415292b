"""The simulation notices every planted defect."""

from ..silence import forget_failures
from .case import SimulationTestCase
from .plants import PLANTS, Plant
from .run import simulate

SEEDS = 1000
"""Within so many seeds a defect has to be noticed."""


class PlantTests(SimulationTestCase):
    """One test for each plant."""

    timeout = 300

    def _noticed(self, plant: Plant) -> int:
        """The first seed whose verdict names an invariant that the defect breaks."""
        for owner, name, replacement in plant.patches:
            self.patch(owner, name, replacement)
        for seed in range(SEEDS):
            outcome = simulate(seed, plant.scenario(seed), plant.parts)
            if any(violation.invariant in plant.invariants for violation in outcome.violations):
                return seed
        return SEEDS

    def test_every_invariant(self) -> None:
        """There is a plant for each invariant of clients."""
        named = {invariant for plant in PLANTS for invariant in plant.invariants}
        self.assertLessEqual({f"S{number}" for number in range(12, 19)}, named)


def _test_of(plant: Plant) -> object:
    def test(self: PlantTests) -> None:
        seed = self._noticed(plant)
        forget_failures(self)
        self.assertLess(seed, SEEDS, f"{plant.name} was not noticed")

    test.__doc__ = f"Noticed: {plant.name}."
    return test


for _number, _plant in enumerate(PLANTS):
    setattr(PlantTests, f"test_plant_{_number:02}", _test_of(_plant))

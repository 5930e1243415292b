"""Every plant there is, those of the lists and those that tests make by themselves."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from unittest import TestCase, TestSuite

from twisted.trial.runner import TestLoader

from .plant import Plant, PlantedTest


def listed() -> tuple[Plant, ...]:
    """The plants of all lists, which are the modules named ``plants_*`` beside this one."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("plants_*.py"))
    return tuple(plant for name in names for plant in import_module(f"{__package__}.{name}").PLANTS)


PLANTS = listed()

PLANTED_TESTS = (
    "tests.bookie.test_bookie_crash.PlantedBugTests",
    "tests.client.writing.test_quorum_writer_orders.PlantedTests",
    *(
        f"tests.client.recovery.test_recovery_races.RaceTests.test_{name}"
        for name in ("first_error", "no_fence", "one_negative", "start")
    ),
    "tests.simulation.test_plants.PlantTests",
    "tests.storage.test_checkpoint.CrashTests.test_plant_early_log_mark",
    "tests.storage.test_checkpoint.CrashTests.test_plant_no_sync",
    "tests.storage.journal.test_journal_crash.PlantedBugTests",
    "tests.testing.contracts.metadata.test_cluster_admin_contract.PlantedBugTests",
    "tests.testing.contracts.metadata.test_metadata_contract.PlantedWatchBugTests",
    "tests.testing.contracts.metadata.test_metadata_suites.PlantedBugTests",
    "tests.testing.contracts.metadata.test_zookeeper_contract.PlantedBugTests",
)
"""Tests, or classes of tests, that make a defect by themselves."""


def planted_tests() -> Iterator[PlantedTest]:
    """The tests named above."""
    for name in PLANTED_TESTS:
        for test in _flat(TestLoader().loadByName(name)):
            yield PlantedTest(test.shortDescription() or test.id(), test.id())


def _flat(tests: TestSuite | TestCase) -> Iterator[TestCase]:
    if isinstance(tests, TestCase):
        yield tests
    else:
        for part in tests:
            yield from _flat(part)


def chosen(room: str, name: str) -> list[Plant | PlantedTest]:
    """The plants of a room and the rooms inside it whose names contain a text."""
    plants: list[Plant | PlantedTest] = [*planted_tests(), *PLANTS]
    return [
        plant for plant in plants if (plant.room + "/").startswith(room + "/" if room else "") and name in plant.name
    ]

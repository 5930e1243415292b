"""The lists of plants fit the source."""

from collections import Counter
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .catalogue import PLANTS, chosen, planted_tests
from .plant import TextPlant

ROOT = Path(__file__).parents[2]


class CatalogueTests(SynchronousTestCase):
    """What every plant has to be."""

    def test_fresh(self) -> None:
        """The code of each plant occurs once in its function, and what takes its place is Python."""
        for plant in PLANTS:
            with self.subTest(plant.name):
                source = (ROOT / plant.path).read_text()
                changed = plant.applied(source)
                self.assertNotEqual(changed, source)
                compile(changed, plant.path, "exec", dont_inherit=True)

    def test_few_texts(self) -> None:
        """Hardly any plant hangs on the exact text of its file."""
        self.assertLess(sum(isinstance(plant, TextPlant) for plant in PLANTS), len(PLANTS) / 20)

    def test_names(self) -> None:
        """No two plants have one name."""
        names = Counter(plant.name for plant in PLANTS)
        self.assertEqual([name for name, count in names.items() if count > 1], [])

    def test_test_modules(self) -> None:
        """Each plant names test modules that exist, or classes in them."""
        for plant in PLANTS:
            self.assertTrue(plant.tests, plant.name)
            for test in plant.tests:
                parts = [part for part in test.split(".") if not part[0].isupper()]
                found = [ROOT / "/".join(parts[:end]) for end in (len(parts), len(parts) - 1)]
                self.assertTrue(found[0].is_dir() or any(path.with_suffix(".py").exists() for path in found), test)

    def test_planted_tests(self) -> None:
        """The named classes have tests, and each is a plant of its room."""
        tests = list(planted_tests())
        self.assertGreater(len(tests), 30)
        journal = "tests.storage.journal.test_journal_crash.PlantedBugTests"
        self.assertIn(f"{journal}.test_ack_before_sync", [t.test for t in tests])
        self.assertLessEqual({t.room for t in tests}, {p.room for p in chosen("", "")})

    def test_choice(self) -> None:
        """A room includes the rooms inside it and no others."""
        rooms = {plant.room for plant in chosen("storage", "")}
        self.assertEqual({room.partition("/")[0] for room in rooms}, {"storage"})
        self.assertEqual([plant.name for plant in chosen("", "no such plant")], [])

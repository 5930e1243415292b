"""Another id for a bookie in the metadata of ledgers."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.renaming import BookieRenaming
from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.model import Segment

from .cluster_case import BOOKIES, ClusterCase

_OLD, _NEW = BOOKIES[0], "new:3181"


class RenamingTests(ClusterCase):
    """Ledgers on four bookies."""

    def setUp(self) -> None:
        super().setUp()
        self.ids = []
        for _ in range(6):
            writer = self.do(self.bk.create_ledger(ensemble_size=4, write_quorum=2))
            self.do(writer.append(b"an entry"))
            self.do(writer.close())
            self.ids.append(writer.ledger_id)

    def renaming(self, **options: Any) -> BookieRenaming:
        """From the first bookie to a new id."""
        return BookieRenaming(self.clock, self.bk.metadata.ledgers, _OLD, _NEW, **options)

    def begin(self, work: Any) -> Deferred[Any]:
        """Starts a coroutine."""
        deferred = Deferred.fromCoroutine(work)
        self.settle()
        return deferred

    def ensembles(self) -> list[tuple[str, ...]]:
        """Of all ledgers."""
        return [self.do(self.bk.ledger_metadata(i)).segments[0].bookies for i in self.ids]

    def finish(self, renaming: BookieRenaming) -> tuple[int, int]:
        """Lets it run to its end; ledgers that were looked at, and that were changed."""
        seen: list[int] = []
        done = self.begin(renaming.run(lambda progress: seen.append(progress.examined)))
        while not done.called:
            self.clock.advance(1)
        progress = self.successResultOf(done)
        self.assertEqual(seen, list(range(1, progress.examined + 1)))
        return progress.examined, progress.updated

    def test_everywhere(self) -> None:
        """The new id takes the positions of the old one; once more changes nothing."""
        before = self.ensembles()
        self.assertEqual(self.finish(self.renaming()), (6, 6))
        self.assertEqual(self.ensembles(), [tuple(_NEW if b == _OLD else b for b in bookies) for bookies in before])
        self.assertEqual(self.finish(self.renaming()), (6, 0))

    def test_limit(self) -> None:
        """No more ledgers are changed than allowed, and none is looked at after that."""
        self.assertEqual(self.finish(self.renaming(limit=4, at_once=2)), (4, 4))
        self.assertEqual(sum(_NEW in bookies for bookies in self.ensembles()), 4)

    def test_rate(self) -> None:
        """Changes take their time."""
        done = self.begin(self.renaming(updates_per_second=2).run())
        changed = []
        for _ in range(6):
            changed.append(sum(_NEW in bookies for bookies in self.ensembles()))
            self.clock.advance(0.5)
        self.successResultOf(done)
        self.assertEqual(changed, [1, 2, 3, 4, 5, 6])

    def test_cancelled(self) -> None:
        """A cancellation ends it; what is changed stays so, and another run changes the rest."""
        done = self.begin(self.renaming(updates_per_second=1).run())
        self.clock.advance(1)
        done.cancel()
        self.failureResultOf(done)
        self.assertEqual(self.finish(self.renaming()), (6, 4))

    def test_two_bookies(self) -> None:
        """Where the last ensemble names both ids, no ledger is changed."""
        stored = self.do(self.bk.context.ledgers.read(self.ids[-1]))
        both = attrs.evolve(stored.value, segments=(Segment(0, (_OLD, _NEW, *BOOKIES[2:4])),))
        ledgers: Any = self.bk.metadata.ledgers
        self.do(ledgers.write(self.ids[-1], both, stored.version))
        before = self.ensembles()
        error = self.failureResultOf(self.begin(self.renaming(at_once=1).run()), IncorrectParameterError).value
        self.assertEqual(
            str(error), f"an ensemble of ledger {self.ids[-1]} names both {_OLD} and {_NEW}: they are two bookies"
        )
        self.assertEqual(self.ensembles(), before)

    def test_bad_numbers(self) -> None:
        """Equal ids, and numbers that are not greater than 0."""
        for bad in ({"updates_per_second": 0.0}, {"at_once": 0}, {"limit": 0}):
            self.assertRaises(IncorrectParameterError, self.renaming, **bad)
        self.assertRaises(IncorrectParameterError, BookieRenaming, self.clock, self.bk.metadata.ledgers, "a:1", "a:1")

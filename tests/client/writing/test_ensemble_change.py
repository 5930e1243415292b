"""How the metadata changes when bookies fail."""

from collections.abc import Mapping
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.client.interfaces import IEnsembleChange
from bookkeeper_twisted.client.writing.ensemble_change import (
    NoEnsembleChange,
    RememberedEnsembleChange,
    StoredEnsembleChange,
    with_segment,
)
from bookkeeper_twisted.errors import (
    LedgerClosedError,
    LedgerFencedError,
    MetadataError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    UnexpectedConditionError,
    WriteError,
)
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.random_placement import RandomPlacement

from .quorum_case import GatedLedgers

LEDGER = 3
OLD = ("a", "b", "c")


class WithSegmentTests(SynchronousTestCase):
    """The list of segments."""

    segments = (Segment(0, OLD), Segment(10, ("a", "b", "d")))
    change = ("e", "b", "d")

    def test_greater_start(self) -> None:
        """A later change is a new segment."""
        change = Segment(11, self.change)
        self.assertEqual(with_segment(self.segments, change), (*self.segments, change))

    def test_equal_start(self) -> None:
        """A change before anything of the newest segment was completed replaces it (S15)."""
        self.assertEqual(
            with_segment(self.segments, Segment(10, self.change)), (self.segments[0], Segment(10, self.change))
        )

    def test_lower_start(self) -> None:
        """Nothing that was completed changes its bookies."""
        self.assertRaises(UnexpectedConditionError, with_segment, self.segments, Segment(9, self.change))


class ChangeCase(SynchronousTestCase):
    """A ledger on a, b, c; d and e are to spare."""

    def setUp(self) -> None:
        """Creates the ledger."""
        self.clock = Clock()
        driver: Any = MemoryStore().driver(self.clock)
        self._do(driver.open())
        self.registration = driver.registration
        for name in "abcde":
            self._do(self.registration.register_bookie(name, False, BookieServiceInfo()))
        self.created = self._do(driver.ledgers.create(LEDGER, LedgerMetadata(3, 2, 2, (Segment(0, OLD),))))
        self.ledgers: Any = GatedLedgers(driver.ledgers, closed=False)
        self.watcher = BookieWatcher(self.registration, RandomPlacement(Random(1)))

    def _do(self, work: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(work))

    def _stored(self) -> LedgerMetadata:
        found: LedgerMetadata = self._do(self.ledgers.read(LEDGER)).value
        return found

    def _store(self, **changes: Any) -> None:
        found = self._do(self.ledgers.read(LEDGER))
        self._do(self.ledgers.write(LEDGER, attrs.evolve(found.value, **changes), found.version))


class StoredTests(ChangeCase):
    """The change of a writer."""

    def setUp(self) -> None:
        """A writer that may change bookies five times."""
        super().setUp()
        self.change = StoredEnsembleChange(LEDGER, self.ledgers, self.created, self.watcher, 5)

    def _replace(self, failed: Mapping[int, str], first: int, excluded: tuple[str, ...] = ()) -> Any:
        return Deferred.fromCoroutine(self.change.replace(failed, first, excluded))

    def _fails(self, failed: Mapping[int, str], first: int, error: type[Exception]) -> None:
        before = self._stored()
        self.failureResultOf(self._replace(failed, first), error)
        self.assertEqual(self._stored(), before)

    def test_interface(self) -> None:
        """All strategies have the methods of the interface."""
        for change in (self.change, RememberedEnsembleChange(self.created.value, self.watcher), NoEnsembleChange()):
            self.assertTrue(verifyObject(IEnsembleChange, change))

    def test_several(self) -> None:
        """Several bookies are replaced by one write, by different ones, and the rest stays where it is."""
        ensemble = self.successResultOf(self._replace({0: "a", 2: "c"}, 4))
        self.assertEqual((ensemble[1], {ensemble[0], ensemble[2]}), ("b", {"d", "e"}))
        self.assertEqual(self._stored().segments, (Segment(0, OLD), Segment(4, ensemble)))
        self.assertEqual(self.change.metadata.value, self._stored())
        self.assertEqual(self.change.metadata.version, 1)

    def test_in_place(self) -> None:
        """A change at the first entry of the newest segment replaces it."""
        ensemble = self.successResultOf(self._replace({0: "a"}, 0))
        self.assertEqual(self._stored().segments, (Segment(0, ensemble),))

    def test_excluded(self) -> None:
        """Who is excluded is not chosen."""
        for _ in range(3):
            self.setUp()
            self.assertEqual(self.successResultOf(self._replace({0: "a"}, 0, ("d",))), ("e", "b", "c"))

    def test_partly(self) -> None:
        """With too few to go round, those that can be are replaced."""
        self._do(self.registration.unregister_bookie("e"))
        self.assertEqual(self.successResultOf(self._replace({0: "a", 1: "b"}, 0)), ("d", "b", "c"))

    def test_nobody(self) -> None:
        """Without a spare bookie nothing is written, and the error names the bookies that failed."""
        for name in "de":
            self._do(self.registration.unregister_bookie(name))
        failure = self.failureResultOf(self._replace({0: "a", 1: "b"}, 0), NotEnoughBookiesError)
        self.assertIn("a, b", str(failure.value))
        self.assertEqual(self._stored(), self.created.value)

    def test_conflict(self) -> None:
        """What another client wrote meanwhile is kept."""
        self._store(custom_metadata={"k": b"v"})
        ensemble = self.successResultOf(self._replace({0: "a"}, 2))
        self.assertEqual(dict(self._stored().custom_metadata), {"k": b"v"})
        self.assertEqual(self._stored().segments[-1], Segment(2, ensemble))

    def test_replaced_by_somebody_else(self) -> None:
        """A bookie that another client replaced already is not replaced again."""
        self._store(segments=(Segment(0, ("x", "b", "c")),))
        self.assertEqual(self.successResultOf(self._replace({0: "a"}, 0)), ("x", "b", "c"))
        self.assertEqual(self._stored().segments, (Segment(0, ("x", "b", "c")),))

    def test_changed_after_our_end(self) -> None:
        """A change of the bookies of entries not yet written is by another writer: this one ends."""
        self._store(segments=(Segment(0, OLD), Segment(9, ("x", "b", "c"))))
        self._fails({0: "a"}, 4, UnexpectedConditionError)

    def test_other_hands(self) -> None:
        """A ledger in recovery, or closed, is left alone; its state is known afterwards."""
        for state, error in ((LedgerState.IN_RECOVERY, LedgerFencedError), (LedgerState.CLOSED, LedgerClosedError)):
            self.setUp()
            self._store(state=state, last_entry_id=-1)
            self._fails({0: "a"}, 0, error)
            self.assertIs(self.change.metadata.value.state, state)

    def test_deleted(self) -> None:
        """A ledger that was deleted is not brought back."""
        self._do(self.ledgers._ledgers.remove(LEDGER))
        self.failureResultOf(self._replace({0: "a"}, 0), NoSuchLedgerMetadataError)

    def test_lost_answers(self) -> None:
        """Whether a write was applied whose answer was lost is decided by what is stored."""
        for losses in ([True], [False], [False, True], [False, False, True]):
            self.setUp()
            self.ledgers.losing = [(applied, MetadataError("connection lost")) for applied in losses]
            ensemble = self.successResultOf(self._replace({0: "a"}, 3))
            self.assertEqual(self._stored().segments, (Segment(0, OLD), Segment(3, ensemble)))

    def test_failing_store(self) -> None:
        """A store that goes on failing ends it."""
        self.ledgers.losing = [(False, MetadataError("down"))] * 10
        self._fails({0: "a"}, 3, MetadataError)

    def test_too_often(self) -> None:
        """So do more changes than are allowed."""
        for number in range(5):
            failed = self.change.metadata.value.segments[-1].bookies[0]
            self.successResultOf(self._replace({0: failed}, number))
        self._fails({0: "a"}, 9, WriteError)


class RememberedTests(ChangeCase):
    """The change of a recovery."""

    def setUp(self) -> None:
        """Nothing has changed."""
        super().setUp()
        self.change = RememberedEnsembleChange(self.created.value, self.watcher)

    def _replace(self, failed: Mapping[int, str], first: int) -> tuple[str, ...]:
        ensemble: tuple[str, ...] = self._do(self.change.replace(failed, first))
        return ensemble

    def test_not_stored(self) -> None:
        """Changes are only remembered, one on top of the other."""
        one = self._replace({0: "a"}, 5)
        two = self._replace({1: "b"}, 7)
        self.assertEqual(self.change.changes, (Segment(5, one), Segment(7, two)))
        self.assertEqual((one[0], one[1:]), (two[0], OLD[1:]))
        self.assertEqual(self._stored(), self.created.value)

    def test_same_start(self) -> None:
        """A change at the start of an earlier one replaces it."""
        self._replace({0: "a"}, 5)
        two = self._replace({1: "b"}, 5)
        self.assertEqual(self.change.changes, (Segment(5, two),))

    def test_failed_before(self) -> None:
        """A bookie that failed is not chosen again, so that a recovery ends when all have failed."""
        ensemble: tuple[str, ...] = OLD
        for first in (5, 7):
            ensemble = self._replace({0: ensemble[0]}, first)
        self.assertEqual({change.bookies[0] for change in self.change.changes}, {"d", "e"})
        self.failureResultOf(Deferred.fromCoroutine(self.change.replace({0: ensemble[0]}, 9)), NotEnoughBookiesError)

    def test_applied(self) -> None:
        """What is stored at the end has them: the newest segment replaced where the start is equal."""
        one = self._replace({0: "a"}, 0)
        two = self._replace({1: "b"}, 3)
        self.assertEqual(self.change.applied_to(self.created.value).segments, (Segment(0, one), Segment(3, two)))

    def test_nobody(self) -> None:
        """Without a spare bookie it fails as the other does."""
        for name in "de":
            self._do(self.registration.unregister_bookie(name))
        self.failureResultOf(Deferred.fromCoroutine(self.change.replace({0: "a"}, 0)), NotEnoughBookiesError)


class NoChangeTests(SynchronousTestCase):
    """Deferred sync."""

    def test_refused(self) -> None:
        """No bookie is replaced: what it acknowledged may be lost."""
        replaced = Deferred.fromCoroutine(NoEnsembleChange().replace({0: "a"}, 0))
        self.assertIn("a failed", str(self.failureResultOf(replaced, WriteError).value))

"""New ledgers."""

from collections.abc import Sequence
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.ledger_creation import LARGEST_ENSEMBLE, NewLedger, choose_ensemble, store_ledger
from bookkeeper_twisted.errors import IncorrectParameterError, LedgerExistsError, NotEnoughBookiesError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import MAX_LEDGER_ID, BookieServiceInfo, DigestType, LedgerState, Segment
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.random_placement import RandomPlacement


def wanted(ensemble_size: int = 3, write_quorum: int = 2, ledger_id: int | None = None) -> NewLedger:
    """A ledger with an ack quorum of two."""
    return NewLedger(
        ensemble_size=ensemble_size, write_quorum=write_quorum, ack_quorum=2, password=b"pw",
        digest_type=DigestType.HMAC, custom_metadata={"k": b"v"}, ledger_id=ledger_id,
    )  # fmt: skip


class CreationTests(SynchronousTestCase):
    """Three bookies in a store in memory."""

    def setUp(self) -> None:
        """Registers them."""
        self.driver: Any = MemoryStore().driver(Clock())
        self._do(self.driver.open())
        for name in "abc":
            self._do(self.driver.registration.register_bookie(name, False, BookieServiceInfo()))
        self.watcher = BookieWatcher(self.driver.registration, RandomPlacement(Random(1)))

    def _do(self, work: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(work))

    def _choose(self, size: int, write_quorum: int, opportunistic: bool) -> "Deferred[tuple[str, ...]]":
        return Deferred.fromCoroutine(choose_ensemble(wanted(size, write_quorum), self.watcher, opportunistic))

    def test_refused(self) -> None:
        """Sizes that make no sense, and negative ids."""
        for arguments in ((2, 3), (3, 1), (3, 2, -1), (3, 2, MAX_LEDGER_ID + 1), (3, 2, "7")):
            self.assertRaises(IncorrectParameterError, wanted, *arguments)

    def test_huge_ensemble(self) -> None:
        """Of a size far above the number of bookies not every smaller one is tried where fewer will do."""
        sizes, choose = list[int](), self.watcher.placement.new_ensemble

        def counted(size: int, *more: Any) -> Sequence[str]:
            sizes.append(size)
            return choose(size, *more)

        self.patch(self.watcher.placement, "new_ensemble", counted)
        self.assertEqual({*self.successResultOf(self._choose(LARGEST_ENSEMBLE, 2, True))}, {"a", "b", "c"})
        self.failureResultOf(self._choose(LARGEST_ENSEMBLE, 4, True), NotEnoughBookiesError)
        self.assertEqual(sizes, [LARGEST_ENSEMBLE, LARGEST_ENSEMBLE, 3, LARGEST_ENSEMBLE, LARGEST_ENSEMBLE, 4, 4])

    def test_metadata(self) -> None:
        """An open, empty ledger with one segment at 0; the size is that of the bookies it really has."""
        metadata = wanted(5).metadata(("a", "b", "c"), 99)
        self.assertEqual((metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size), (3, 2, 2))
        self.assertEqual(metadata.segments, (Segment(0, ("a", "b", "c")),))
        self.assertEqual((metadata.state, metadata.last_entry_id, metadata.length), (LedgerState.OPEN, -1, 0))
        self.assertEqual((metadata.password, metadata.digest_type, metadata.c_token), (b"pw", DigestType.HMAC, 99))

    def test_ensemble(self) -> None:
        """As many bookies as wanted, or an error."""
        self.assertEqual({*self.successResultOf(self._choose(3, 2, False))}, {"a", "b", "c"})
        self.failureResultOf(self._choose(4, 2, False), NotEnoughBookiesError)

    def test_opportunistic(self) -> None:
        """Or as many as there are, but never fewer than a write quorum."""
        self.assertEqual({*self.successResultOf(self._choose(6, 2, True))}, {"a", "b", "c"})
        self.failureResultOf(self._choose(6, 4, True), NotEnoughBookiesError)

    def test_given_id(self) -> None:
        """An id that the caller chose is taken once."""
        new = wanted(ledger_id=7)
        ledger_id, stored = self._do(store_ledger(new, self.driver.ledgers, new.metadata(("a", "b", "c"), 1)))
        self.assertEqual((ledger_id, stored), (7, self._do(self.driver.ledgers.read(7))))
        again = store_ledger(new, self.driver.ledgers, new.metadata(("a", "b", "c"), 2))
        self.failureResultOf(Deferred.fromCoroutine(again), LedgerExistsError)

    def test_generated_id(self) -> None:
        """A generated id that another client chose is passed over."""

        class Ledgers:
            """Gives out 7 first, which is taken."""

            ids = [7, 8]
            create = self.driver.ledgers.create

            async def generate_id(self) -> int:
                """The next one."""
                return self.ids.pop(0)

        ledgers: Any = Ledgers()
        self._do(self.driver.ledgers.create(7, wanted().metadata(("a", "b", "c"), 1)))
        self.assertEqual(self._do(store_ledger(wanted(), ledgers, wanted().metadata(("a", "b", "c"), 2)))[0], 8)

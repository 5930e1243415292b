"""The sets of bookies, and ensembles drawn from them."""

from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import NotEnoughBookiesError, RequestTimeoutError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.free_space import FreeSpace
from bookkeeper_twisted.placement.quarantine import Quarantine
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, MappingResolver
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.testing.bookies import MemoryBookies


class BookieWatcherTests(SynchronousTestCase):
    """A watcher on a store in memory."""

    def setUp(self) -> None:
        """Two bookies."""
        self.clock = Clock()
        store = MemoryStore()
        self.cluster: Any = store.driver(self.clock)
        self.driver: Any = store.driver(self.clock)
        for one in (self.cluster, self.driver):
            self._do(one.open())
        self._register("a", "b")
        self.watcher = BookieWatcher(self.driver.registration, RandomPlacement(Random(1)))

    def _do(self, work: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(work))

    def _register(self, *bookies: str, read_only: bool = False) -> None:
        for bookie in bookies:
            self._do(self.cluster.registration.register_bookie(bookie, read_only, BookieServiceInfo()))

    def test_sets(self) -> None:
        """The sets follow the registration until the watch ends."""
        self.clock.advance(0)
        self.assertEqual((self.watcher.writable, self.watcher.read_only), ({"a", "b"}, frozenset()))
        self._register("a", read_only=True)
        self.clock.advance(0)
        self.assertEqual((self.watcher.writable, self.watcher.read_only), ({"b"}, {"a"}))
        self.watcher.stop()
        self._register("c")
        self.clock.advance(0)
        self.assertEqual(self.watcher.writable, {"b"})

    def test_ensemble(self) -> None:
        """An ensemble is drawn from the writable bookies."""
        self.clock.advance(0)
        self.assertEqual(set(self._do(self.watcher.new_ensemble(2, 2))), {"a", "b"})

    def test_before_the_first_notice(self) -> None:
        """Before the watch has told anything the registration is asked."""
        self.assertEqual(set(self._do(self.watcher.new_ensemble(2, 2))), {"a", "b"})

    def test_too_few(self) -> None:
        """Read-only bookies do not count."""
        self._register("c", read_only=True)
        drawn = Deferred.fromCoroutine(self.watcher.new_ensemble(3, 2))
        self.failureResultOf(drawn, NotEnoughBookiesError)

    def _choosy(self, **config: Any) -> BookieWatcher:
        """A watcher that minds failures and free space."""
        limits: Any = {"bookie_error_threshold_per_interval": 1, **config}
        self.quarantine = Quarantine(self.clock, Random(1), ClientConfig(**limits))
        self.bookies = MemoryBookies(self.clock)
        self.free_space = FreeSpace(self.clock, self.bookies.bookie_info, ClientConfig(**limits))
        placement = RandomPlacement(Random(1), 0)
        watcher = BookieWatcher(self.driver.registration, placement, self.quarantine, self.free_space)
        self.addCleanup(watcher.stop)
        self.clock.advance(0)
        self.clock.advance(0)
        return watcher

    def _is_too_slow(self, bookie_id: str) -> None:
        self.quarantine.answered(bookie_id, RequestTimeoutError("no reply in time"))
        self.clock.advance(60)

    def test_replacement(self) -> None:
        """A replacement is not in the ensemble; without one there is an error."""
        self._register("c")
        self.assertEqual(self._do(self.watcher.replace_bookie(0, ("a", "b"), 2, ())), "c")
        replacing = Deferred.fromCoroutine(self.watcher.replace_bookie(0, ("a", "b"), 2, ("c",)))
        self.failureResultOf(replacing, NotEnoughBookiesError)

    def test_quarantine(self) -> None:
        """Bookies in quarantine are chosen only where the others do not suffice."""
        self._register("c")
        watcher = self._choosy()
        self._is_too_slow("b")
        for _ in range(20):
            self.assertEqual(set(self._do(watcher.new_ensemble(2, 2))), {"a", "c"})
        self.assertEqual(self._do(watcher.replace_bookie(0, ("a", "c"), 2, ())), "b")
        self.assertEqual(set(self._do(watcher.new_ensemble(3, 2))), {"a", "b", "c"})

    def test_free_space(self) -> None:
        """Bookies with more free space are drawn more often."""
        self._register("c")
        watcher = self._choosy()
        self.assertEqual(set(self.free_space.free_bytes), {"a", "b", "c"})
        self.free_space.free_bytes.update(a=1, b=1, c=1 << 40)
        self.assertEqual({self._do(watcher.new_ensemble(1, 1)) for _ in range(30)}, {("c",)})

    def test_stop(self) -> None:
        """A stopped watcher leaves no timer of its parts."""
        watcher = self._choosy()
        watcher.stop()
        self.watcher.stop()
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_racks_are_learned(self) -> None:
        """The placement learns of bookies before it may choose them."""
        table = MappingResolver(lambda: "a /r1\nb /r2\nc /r2\nd /r2")
        racks = BookieRacks(self.clock, table, self._host)
        self._register("c", "d")
        watcher = BookieWatcher(self.driver.registration, RackAwarePlacement(Random(1), racks, 2, True))
        self.addCleanup(watcher.stop)
        for _ in range(10):
            self.assertIn("a", self._do(watcher.new_ensemble(2, 2)))

    async def _host(self, bookie_id: str) -> str:
        return bookie_id

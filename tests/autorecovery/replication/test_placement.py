"""Replicas that are not where the placement policy wants them."""

from random import Random
from typing import Any

from bookkeeper_twisted.autorecovery.replication.placement import Placement
from bookkeeper_twisted.autorecovery.replication.repair import LedgerRepair
from bookkeeper_twisted.autorecovery.service import AutoRecovery, Identity
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.instruments import Instruments, render
from bookkeeper_twisted.metrics import new_registry
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, MappingResolver

from ...client.cluster_case import BOOKIES
from .worker_case import WorkerCase


async def _host(bookie_id: str) -> str:
    return bookie_id.partition(":")[0]


class PlacementTests(WorkerCase):
    """Marks that name no bookie, where the configuration wants replicas to be moved."""

    def setUp(self) -> None:
        """Each bookie is in a rack of its own."""
        self.racks = {bookie_id: f"/r{number}" for number, bookie_id in enumerate(BOOKIES)}
        self.moves = True
        super().setUp()

    def client(self, bookies: Any = None, **config: Any) -> BookKeeper:
        """A client that wants two racks in each write set, and knows racks as they are now."""
        driver = self.store.driver(self.clock)
        self.do(driver.open())
        table = "\n".join(f"{bookie_id.partition(':')[0]} {rack}" for bookie_id, rack in self.racks.items())
        policy = RackAwarePlacement(Random(1), BookieRacks(self.clock, MappingResolver(lambda: table), _host, ""))
        return BookKeeper(self.clock, driver, bookies or self.bookies, Random(3), ClientConfig(**config), policy)

    def make_repair(self, client: BookKeeper, instruments: Instruments) -> LedgerRepair:
        """A repair that moves replicas."""
        repair = super().make_repair(client, instruments)
        if self.moves:
            repair._placement = Placement(client.context.watcher)
        return repair

    def _in_one_rack(self, ledger_id: int) -> tuple[str, ...]:
        """All bookies of a ledger turn out to be in one rack."""
        ensemble = self.metadata(ledger_id).segments[0].bookies
        self.racks.update(dict.fromkeys(ensemble, "/one"))
        return tuple(ensemble)

    def test_moved(self) -> None:
        """As few replicas are moved as it takes, with all they keep; then the mark goes."""
        for sizes, moved in (((2, 2, 2), 1), ((3, 2, 2), 2), ((3, 3, 2), 1)):
            self.racks = {bookie_id: f"/r{number}" for number, bookie_id in enumerate((*BOOKIES, "b9:1"))}
            self.do(self.cluster.registration.register_bookie("b9:1", False, self.service_info()))
            ledger_id = self.write(self.payloads(20), sizes)
            before = self._in_one_rack(ledger_id)
            self.mark(ledger_id)
            self.worker()
            self.pass_time(3)
            self.stop_workers()
            after = self.metadata(ledger_id).segments[0].bookies
            self.assertEqual(self.marked(), [])
            self.assertEqual(sum(old != new for old, new in zip(before, after, strict=True)), moved, (before, after))
            self.assert_complete(ledger_id, self.payloads(20))

    def test_auditor_and_worker(self) -> None:
        """With one configuration the auditor marks such ledgers and the worker moves their replicas."""
        ledger_id = self.write(self.payloads(20), (2, 2, 2))
        before = self._in_one_rack(ledger_id)
        config = AutorecoveryConfig(
            auditor_periodic_placement_policy_check_interval=5,
            repaired_placement_policy_not_adhering_bookie_enabled=True,
        )
        instruments = Instruments()
        service = AutoRecovery(
            self.clock, self.client(), config, Identity("a:1", "host"), lambda: int(self.clock.seconds() * 1000),
            instruments,
        )  # fmt: skip
        service.start()
        self.addCleanup(lambda: self.finish(service.stop()))
        self.pass_time(10)
        self.assertEqual(self.marked(), [])
        self.assertNotEqual(tuple(self.metadata(ledger_id).segments[0].bookies), before)
        self.assert_complete(ledger_id, self.payloads(20))
        exported = render(new_registry(instruments)).decode()
        self.assertIn("replication_worker_NUM_NOT_ADHERING_PLACEMENT_LEDGERS_REPLICATED 1\n", exported)
        self.assertIn("replication_worker_NUM_FULL_OR_PARTIAL_LEDGERS_REPLICATED 0\n", exported)

    def test_not_wanted(self) -> None:
        """Without that configuration nothing moves, and the mark of a ledger that lacks nothing goes."""
        self.moves = False
        ledger_id = self.write(self.payloads(20), (2, 2, 2))
        before = self._in_one_rack(ledger_id)
        self.mark(ledger_id)
        self.worker()
        self.pass_time(3)
        self.assertEqual((self.marked(), tuple(self.metadata(ledger_id).segments[0].bookies)), ([], before))

    def test_too_few_racks(self) -> None:
        """A ledger that no bookies make keep to the policy stays marked, with the reason, until one comes that does."""
        ledger_id = self.write(self.payloads(20), (2, 2, 2))
        self._in_one_rack(ledger_id)
        self.racks = {**dict.fromkeys(BOOKIES, "/one"), "b9:1": "/other"}
        self.mark(ledger_id)
        worker = self.worker()
        self.pass_time(3)
        self.assertEqual(self.status(worker).state, "impossible")
        self.assertIn("placement policy", self.status(worker).reason)
        self.do(self.cluster.registration.register_bookie("b9:1", False, self.service_info()))
        self.pass_time(3)
        self.assertEqual(self.marked(), [])
        self.assertIn("b9:1", self.metadata(ledger_id).segments[0].bookies)
        self.assert_complete(ledger_id, self.payloads(20))

"""Damage on the disks of real bookies, found by their scrub and repaired where it is."""

from twisted.internet.defer import Deferred

from bookkeeper_twisted.bookie.maintenance.ledger_collector import Cluster
from bookkeeper_twisted.bookie.maintenance.maintenance import Maintenance, MaintenanceOptions

from ...bookie.rig import Rig
from ...client.cluster_case import RealClusterCase
from .worker_case import WorkerCase


class DamagedBookieTests(RealClusterCase, WorkerCase):
    """Clients, connections and bookies are real; disks and network are in memory."""

    def restart(self, bookie_id: str) -> Rig:
        """A bookie with its entries on disk and nothing in its caches."""
        rig = self.rigs[bookie_id]
        checkpoint = rig.engine.checkpointer.checkpoint()
        self.settle()
        self.successResultOf(checkpoint)
        rig = self.rigs[bookie_id] = rig.restart(crash=False)
        self.network.listeners[bookie_id.split(":")[0], 1] = rig.engine.factory
        self.bk = self.client(self.reconnected())
        return rig

    def reconnected(self) -> object:
        """New connections to the bookies."""
        rigs = self.rigs
        listeners = dict(self.network.listeners)
        bookies = self.make_bookies()
        self.rigs = rigs
        self.network.listeners.update(listeners)
        return bookies

    def scrub(self, bookie_id: str) -> list[tuple[int, int, int]]:
        """What a scrub of a bookie finds, and marks."""
        rig = self.rigs[bookie_id]
        cluster = Cluster(
            bookie_id, self.cluster.ledgers, self.cluster.underreplication, self.cluster.registration.instance_id, "x"
        )
        maintenance = Maintenance(
            rig.disk, rig.storage, rig.engine, rig.executor, rig.clock, cluster, MaintenanceOptions()
        )
        maintenance.scrubber.start()
        forced = maintenance.scrubber.force()
        self.settle()
        self.successResultOf(forced)
        stopped = Deferred.fromCoroutine(maintenance.scrubber.stop())
        self.settle()
        self.successResultOf(stopped)
        return [(found.ledger_id, found.first, found.last) for found in maintenance.scrubber.findings[0]]

    def test_repaired_where_it_is(self) -> None:
        """The scrub of a bookie marks the ledger; a worker gives the bookie the entries back; a scrub is clean then."""
        payloads = [b"%04d" % n * 100 for n in range(200)]
        ledger_id = self.write(payloads)
        before = self.metadata(ledger_id)
        bookie_id = before.segments[0].bookies[1]
        rig = self.restart(bookie_id)
        log = rig.disk.open("/ledger0/current/0.log")
        at = log.size() // 2
        log.pwrite(bytes([log.pread(1, at)[0] ^ 1]), at)
        found = self.scrub(bookie_id)
        self.assertEqual([one[0] for one in found], [ledger_id])
        self.assertEqual(self.marked(), [ledger_id])
        (loss,) = self.check(ledger_id, [bookie_id]).losses()
        self.assertEqual((loss.bookie_id, loss.kind.value), (bookie_id, "damaged"))
        self.bookies = self.reconnected()
        self.worker()
        self.pass_time(5)
        self.assertEqual((self.marked(), self.metadata(ledger_id)), ([], before))
        self.restart(bookie_id)
        self.assertTrue(self.check(ledger_id, before.segments[0].bookies).is_whole)
        self.assertEqual(self.scrub(bookie_id), [])
        reader = self.do(self.bk.open_ledger(ledger_id))
        self.assertEqual([entry.data for entry in self.finish(reader.read(0, 199))], payloads)

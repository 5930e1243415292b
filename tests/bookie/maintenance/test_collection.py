"""Deletion of ledgers and removal of logs by a bookie."""

import errno
from collections.abc import Collection
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions
from bookkeeper_twisted.bookie.maintenance.maintenance import GC_METADATA, SCAN, MaintenanceOptions
from bookkeeper_twisted.errors import (
    DamageError,
    LedgerFencedError,
    MetadataError,
    NoSuchLedgerError,
    StorageError,
)
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.locked_work import RELEASE_SECONDS
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.storage.interfaces import IndexRow
from bookkeeper_twisted.storage.ledger_dirs import entry_log_name

from ...simulated_disk.crash import Facts
from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..crash_life import KEY, Parts, found_entry, lac_packet, mixed, run
from .crash_case import Ledgers, MaintainedLife, steps


class CollectionCase(SynchronousTestCase):
    """A bookie with four ledgers in three checkpoints."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.facts: Facts = []
        self.start()
        steps(self.life, range(3))

    def start(self, ledgers: Ledgers | None = None) -> None:
        """A new process on the same disk."""
        self.disk.kill()
        self.life = MaintainedLife(self.disk, self.facts, Parts(), ledgers)
        self.storage = self.life.store.storage
        self.collector = self.life.maintenance.collector

    def add(self, ledger_id: int, entry_id: int, recovery: bool = False) -> Exception | None:
        """The outcome of an add."""
        outcome: list[Exception | None] = []
        entries = run(ledger_id, entry_id)
        self.life.bookie.add(entries, KEY, recovery, False, False, lambda part, error: outcome.append(error))
        self.life.drain()
        return outcome[0]

    def fence(self, *ledger_ids: int) -> None:
        for ledger_id in ledger_ids:
            self.life.fence(ledger_id)
        self.life.drain()


def _damaged(index: SimIndex) -> None:
    raise DamageError("hidden rows")


class MissingLogTests(CollectionCase):
    """Entry logs that something else than the bookie has removed."""

    def _said(self) -> list[str]:
        with capturedLogs() as events:
            self.life.collect()
        return [str(formatEvent(event)) for event in events if event["log_level"] is LogLevel.critical]

    def test_missing(self) -> None:
        """A log that is missing is named once, when it is noticed; again if it has been back meanwhile."""
        self.assertEqual(self._said(), [])
        path = f"{self.storage.directories[0].path}/{entry_log_name(self.life.logs()[0][0])}"
        self.disk.rename(path, f"{path}.away")
        (said,) = self._said()
        self.assertRegex(said, f"DAMAGE: {path} is missing, with [0-9]+ entries: put it back")
        self.assertEqual(self._said(), [])
        self.disk.rename(f"{path}.away", path)
        self.assertEqual(self._said(), [])
        self.disk.unlink(path)
        self.assertEqual(self._said(), [said])


class UnreadableLogTests(CollectionCase):
    """An entry log that the disk does not give."""

    def test_others_are_removed(self) -> None:
        """A log that cannot be read is named, and kept, and the others are removed as if it were not there."""
        broken = f"{self.storage.directories[0].path}/{entry_log_name(self.life.logs()[0][0])}"
        self.life.delete(1, 2, 3, 4)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread" and op.path == broken, times=100)
        with capturedLogs() as events:
            for _ in range(2):
                self.life.collect()
        said = [str(formatEvent(event)) for event in events if event["log_level"] is LogLevel.critical]
        self.assertRegex("\n".join(said), f"DAMAGE: an entry log cannot be read: .*{broken}")
        self.assertEqual(len(said), 2)  # and once that it is kept
        self.assertTrue(self.disk.exists(broken))
        self.assertEqual(self.collector.state.failures, 0)
        sealed = [log_id for d in self.life.maintenance.directories for log_id in d.space.sealed_logs()]
        self.assertEqual(len(sealed), 1)


class DeletedLedgerTests(CollectionCase):
    """What a bookie forgets it forgets everywhere."""

    def test_forgotten(self) -> None:
        """A ledger that metadata does not know is unknown here after a collection, and after a restart."""
        self.life.delete(2)
        self.life.collect()
        self.assertEqual(self.storage.ledger_ids(), [1, 3, 4])
        self.failureResultOf(self.life.bookie.last_entry(2), NoSuchLedgerError)
        self.assertEqual(self.collector.state.deleted_ledgers, 1)
        self.start()
        self.assertEqual(self.storage.ledger_ids(), [1, 3, 4])
        self.assertEqual(self.storage.entry_ranges(1), [(0, 8)])

    def test_not_durable(self) -> None:
        """A deletion that is not durable is a failure of the run, of the next ones too; the logs stay meanwhile."""
        self.life.delete(1, 2)
        before = self.life.logs()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "commit", times=100)
        for failures in (1, 2):
            self.collector.force(False, False)
            self.life.drain()
            self.assertEqual(self.collector.state.failures, failures)
            self.assertIn("the deletion of 2 ledgers is not durable", self.collector.state.last_failure)
        self.assertEqual(self.life.logs(), before)
        self.disk.heal()
        self.life.collect()
        self.assertEqual((self.collector.state.failures, self.storage.undeleted()), (2, 0))

    def test_damaged_index(self) -> None:
        """No log is removed by an index whose structure is damaged: it may hide rows of the log (S8)."""
        self.life.delete(1, 2, 3, 4)
        self.patch(SimIndex, "check", _damaged)
        before = self.life.logs()
        self.life.collect()
        self.assertEqual(self.collector.state.last_failure, "/ledgers0/current: hidden rows")
        self.assertEqual(self.life.logs(), before)
        self.patch(SimIndex, "check", lambda index: 0)
        self.life.collect()
        self.assertNotEqual(self.life.logs(), before)

    def test_journal_does_not_bring_it_back(self) -> None:
        """A ledger whose entries are still in the journal is gone after a restart, fenced or not."""
        for ledger_id in (5, 6):
            self.life.add(run(ledger_id, 0, 3))
        self.life.drain()
        self.fence(6)
        self.life.delete(5, 6)
        self.life.collect()
        self.start()
        self.assertEqual(self.storage.ledger_ids(), [1, 2, 3, 4])

    def test_fenced(self) -> None:
        """S3: adds to a ledger that was fenced and deleted are refused with EFENCED, also after a restart; reads
        say that there is no such ledger."""
        self.fence(2)
        self.life.delete(2)
        self.life.collect()
        for _ in range(2):
            self.assertIsInstance(self.add(2, 9), LedgerFencedError)
            self.assertIsInstance(self.add(2, 9, recovery=True), LedgerFencedError)
            (error,) = self.successResultOf(self.life.bookie.load([(2, 0, 100)]))
            self.assertIsInstance(error, NoSuchLedgerError)
            self.failureResultOf(self.life.bookie.set_explicit_lac(2, KEY, lac_packet(2, 3)), LedgerFencedError)
            self.successResultOf(self.life.bookie.fence(2, KEY))
            self.assertIsNone(self.storage.ledger(2))
            self.start()

    def test_fenced_in_a_mixed_run(self) -> None:
        """Entries of a deleted, fenced ledger in a mixed run are refused, the others are taken."""
        self.fence(2)
        self.life.delete(2)
        self.life.collect()
        outcome: list[tuple[int, Exception | None]] = []
        entries = mixed((1, 9), (2, 9), (3, 9))
        self.life.bookie.add(
            entries, KEY, False, False, False, lambda part, error: outcome.append((part.ledger_ids[0], error))
        )  # fmt: skip
        self.life.drain()
        refused = [ledger_id for ledger_id, error in outcome if error is not None]
        self.assertEqual(refused, [2])

    def test_unfenced(self) -> None:
        """A late add to a deleted ledger that was not fenced begins a new one, which the next collection deletes."""
        self.life.delete(2)
        self.life.collect()
        self.assertIsNone(self.add(2, 9))
        self.assertEqual(self.storage.entry_ranges(2), [(9, 9)])
        self.life.collect()
        self.assertIsNone(self.storage.ledger(2))

    def test_being_fenced(self) -> None:
        """A ledger whose fence is under way stays until the next collection."""
        self.life.delete(2)
        self.life.bookie.fence(2, KEY)
        self.assertEqual(self.life.bookie.forget([2, 3], 1), [3])
        self.life.drain()
        self.assertEqual(self.life.bookie.forget([2], 1), [2])

    def test_waits_end(self) -> None:
        """A wait for a LAC of a deleted ledger ends."""
        waiting = self.life.bookie.wait_lac(2, 100, 60)
        self.life.drain()
        self.life.bookie.forget([2], 1)
        self.assertIsNone(self.successResultOf(waiting))


class _Failing(Ledgers):
    """Metadata that cannot be read from some ledger on."""

    async def read(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        if ledger_id >= 3:
            raise MetadataError("lost")
        return await super().read(ledger_id)


class LiveLedgerTests(CollectionCase):
    """S8: nothing live is deleted."""

    def _kept(self) -> None:
        self.life.collect()
        self.assertEqual(self.storage.ledger_ids(), [1, 2, 3, 4])
        self.assertIsNotNone(found_entry(self.life, 3, 0))

    def test_listing_that_ends_early(self) -> None:
        """A listing that lacks ledgers without an error deletes none: each is read by itself."""
        ledgers = Ledgers(set, listed=1)
        self.start(ledgers)
        self._kept()
        self.assertEqual(ledgers.read_ids, [2, 3, 4])

    def test_failed_read(self) -> None:
        """If a ledger's metadata cannot be read, it stays, and the ones found missing with it."""
        self.start(_Failing(lambda: {1, 2, 3, 4}))
        self._kept()
        self.assertEqual((self.collector.state.failures, self.collector.state.last_failure), (1, "lost"))

    def test_other_cluster(self) -> None:
        """A store of another cluster, or an emptied one, deletes nothing."""
        self.start(Ledgers(lambda: {1, 2, 3, 4}))
        self.life.cluster_id = "another"
        self._kept()
        self.assertIn("another", self.collector.state.last_failure)

    def test_metadata_is_synced(self) -> None:
        """The store is brought up to date after the listing and before a ledger is read by itself."""
        ledgers = Ledgers(lambda: {2})
        self.start(ledgers)
        self.life.collect()
        self.assertEqual(ledgers.calls, ["list", "sync", "read"])


class OverReplicatedTests(CollectionCase):
    """Closed ledgers whose metadata names this bookie nowhere."""

    replaced: dict[str, Any] = {"state": LedgerState.CLOSED, "segments": (Segment(0, ("c:1", "d:1")),)}

    def setUp(self) -> None:
        super().setUp()
        self.deleted: set[int] = set()
        self.ledgers = Ledgers(lambda: self.deleted)
        self._restart()

    def _restart(self) -> None:
        """A new process on the same disk, which searches every hundred seconds."""
        self.disk.kill()
        options = MaintenanceOptions(CollectorOptions(), over_replicated_wait=100)
        self.life = MaintainedLife(self.disk, self.facts, Parts(), self.ledgers, options)
        self.storage = self.life.store.storage

    def _search(self) -> list[int]:
        """The ledgers that are left after a search."""
        self.life.clock.advance(100)
        self.life.collect()
        return self.storage.ledger_ids()

    def test_deleted_under_its_lock(self) -> None:
        """It is deleted under its replication lock, which is released; the others stay."""
        self.ledgers.changes[2] = self.replaced
        self.assertEqual(self._search(), [1, 3, 4])
        self.assertEqual((self.life.locks.taken, self.life.locks.held), ([2], set()))

    def test_taken_again(self) -> None:
        """A ledger that was fenced stays so, and takes recovery adds, as another lost replica can be replaced here."""
        self.fence(2)
        self.ledgers.changes[2] = self.replaced
        for _ in range(2):
            self._search()
            self.assertEqual((self.storage.ledger_ids(), self.storage.entry_ranges(2)), ([1, 2, 3, 4], []))
            self.assertIsInstance(self.add(2, 9), LedgerFencedError)
            self.assertEqual(self.life.locks.taken, [2])  # nothing is left to be deleted by the second search
        for restarted in (False, True):
            self._restart()
            self.assertEqual((self.storage.entry_ranges(2), self.life.locks.taken), ([], []))
            self.assertIsNone(self.add(2, 3, recovery=True))
            if restarted:
                self._restart()
            self.assertEqual(self.storage.entry_ranges(2), [(3, 3)])
            self.assertIsInstance(self.add(2, 9), LedgerFencedError)
            self._search()
            self.assertEqual((self.storage.entry_ranges(2), self.life.locks.taken), ([], [2]))
        self.deleted.add(2)
        self.assertEqual(self._search(), [1, 3, 4])
        self.assertIsInstance(self.add(2, 3, recovery=True), LedgerFencedError)

    def test_release_fails(self) -> None:
        """A lock that could not be released is released by the next collection, whether it searches or not."""
        self.ledgers.changes[2] = self.replaced
        self.life.locks.failures = 1
        self.assertEqual(self._search(), [1, 3, 4])
        self.assertEqual(self.life.locks.held, {2})
        self.life.collect()
        self.assertEqual((self.life.locks.taken, self.life.locks.held), ([2], set()))

    def test_kept(self) -> None:
        """An open ledger stays, and one that names this bookie in an older segment."""
        self.ledgers.changes[2] = {"segments": self.replaced["segments"]}
        both = (Segment(0, ("b:1",)), Segment(5, ("c:1",)))
        self.ledgers.changes[3] = {"state": LedgerState.CLOSED, "segments": both}
        self.assertEqual(self._search(), [1, 2, 3, 4])
        self.assertEqual(self.life.locks.taken, [])

    def test_being_replicated(self) -> None:
        """A ledger that is being replicated stays."""
        self.ledgers.changes[2] = self.replaced
        self.life.locks.held.add(2)
        self.assertEqual(self._search(), [1, 2, 3, 4])

    def test_changed_meanwhile(self) -> None:
        """A ledger stays if its metadata names this bookie again by the time the lock is held."""
        self.ledgers.changes[2] = self.replaced
        sync = self.ledgers.sync

        async def changed() -> None:
            self.ledgers.changes.clear()
            await sync()

        self.ledgers.sync = changed  # type: ignore[method-assign]
        self.assertEqual(self._search(), [1, 2, 3, 4])
        self.assertEqual(self.life.locks.held, set())

    def test_stop_without_the_store(self) -> None:
        """A stop waits a second for the release of a lock by a store that does not answer, and nothing is deleted."""
        self.ledgers.changes[2] = self.replaced
        answers = [Deferred[None](), Deferred[None]()]
        self.patch(self.ledgers, "sync", lambda: answers[0])
        self.patch(self.life.locks, "unlock", lambda ledger_id: answers[1])
        self.assertEqual(self._search(), [1, 2, 3, 4])
        self.assertEqual(self.life.locks.held, {2})
        stopping = Deferred.fromCoroutine(self.life.maintenance.stop())
        self.life.wait(RELEASE_SECONDS - 0.1)
        self.assertNoResult(stopping)
        self.life.wait(0.2)
        self.successResultOf(stopping)
        self.assertTrue(all(answer.called for answer in answers))
        self.assertEqual(self.storage.ledger_ids(), [1, 2, 3, 4])

    def test_interval(self) -> None:
        """A search costs a read of each ledger's metadata: it is made once in an interval."""
        self.life.collect()
        self.assertEqual(self.ledgers.read_ids, [])
        self._search()
        self.assertEqual(self.ledgers.read_ids, [1, 2, 3, 4])
        self.life.collect()
        self.assertEqual(self.ledgers.read_ids, [1, 2, 3, 4])


class RemovalTests(CollectionCase):
    """Entry logs that nothing refers to."""

    def test_space_comes_back(self) -> None:
        """When all ledgers are deleted, all sealed logs go, and the metrics say how much that was."""
        self.life.delete(1, 2, 3, 4)
        before = sum(self.life.log_sizes())
        self.life.collect()
        self.life.collect()
        self.assertLessEqual(len(self.life.logs()[0]), 1)
        self.assertGreater(before - sum(self.life.log_sizes()), 3000)

    def test_damaged_row(self) -> None:
        """A log stays if an index row of one of its ledgers is damaged: it may still be needed."""
        self.life.delete(1)
        index = self.storage.directories[0].index
        page = index.page

        def damaged(after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
            rows: list[IndexRow] = page(after, limit, log_ids)
            if log_ids is None and 3 in [row.ledger_id for row in rows]:
                raise StorageError("a row is damaged")
            return rows

        index.page = damaged
        before = self.life.logs()
        self.life.collect()
        self.assertEqual([log for log in before[0] if log not in self.life.logs()[0]], [])
        self.assertIn("a row is damaged", str(self.life.maintenance.directories[0].damaged))

    def test_limited(self) -> None:
        """What is read of index and logs before a removal is paid for, and each 10,000 ledgers of a listing."""
        self.life.add(run(25_000, 0, 3))
        self.life.drain()
        self.life.delete(2)
        limits = self.life.maintenance.throttles
        self.collector.force(False, False)
        self.life.drain()
        self.assertEqual(limits.find(SCAN).status.granted_bytes, 0)
        self.assertEqual(limits.find(GC_METADATA).status.granted_entries, 3 + 2)  # ranges; a sync and ledger 2
        self.patch(SimIndex, "check", lambda index: 1_000_000)
        self.life.delete(1, 3, 4)
        self.collector.force(False, False)
        self.life.drain()
        maps = limits.find(SCAN).status.granted_bytes - 1_000_000
        self.assertGreater(maps, 0)
        self.assertEqual(maps % 16, 0)

    def test_one_must_stay(self) -> None:
        """A log that fails the check before its removal is kept alone."""
        self.life.delete(1, 2, 3, 4)
        self.disk.open("/ledgers0/current/1.log").pwrite(b"X", 0)
        self.life.collect()
        self.assertIn(1, self.life.logs()[0])
        self.assertNotIn(0, self.life.logs()[0])
        self.assertEqual(list(self.life.maintenance.directories[0].damaged), [1])

    def test_left_over(self) -> None:
        """The file of a compaction that was cut off goes with the next collection."""
        self.disk.open("/ledgers0/current/ff.log.compacting", create=True)
        self.life.collect()
        self.assertFalse(self.disk.exists("/ledgers0/current/ff.log.compacting"))

    def test_failed_removal(self) -> None:
        """A log that cannot be removed is counted and kept; the others go."""
        self.life.delete(1, 2, 3, 4)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "unlink" and op.path.endswith("/0.log"))
        self.life.collect()
        self.assertIn(0, self.life.logs()[0])
        self.assertNotIn(1, self.life.logs()[0])
        self.assertEqual(list(self.life.maintenance.directories[0].damaged), [0])

"""The pass that verifies what is stored."""

import errno

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance import maintained
from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions
from bookkeeper_twisted.bookie.maintenance.maintenance import SCRUB, MaintenanceOptions
from bookkeeper_twisted.errors import LogDamageError
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.storage.files.replace import replace_file
from bookkeeper_twisted.storage.journal.log_mark import read_log_mark
from bookkeeper_twisted.storage.maintenance.scrub import (
    FINDINGS,
    NO_LEDGER,
    DamagedEntries,
    ScrubRecord,
    load_record,
    save_record,
)

from ...simulated_disk.crash import Facts
from ...simulated_disk.sim_disk import Operation, SimDisk
from ..crash_life import Parts, found_entry, run
from .crash_case import MaintainedLife, steps

CURRENT = "/ledgers0/current"


class ScrubberCase(SynchronousTestCase):
    """A bookie with four ledgers in three checkpoints."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.facts: Facts = []
        self.start()
        steps(self.life, range(3))

    def start(self, rate: float = 0.0, now: float = 0.0, parts: Parts | None = None) -> None:
        """A new process."""
        self.disk.kill()
        collector = CollectorOptions(wait_time=1e9)
        options = MaintenanceOptions(collector, {SCRUB: Rate(bytes=rate)}, scrub_interval=1000)
        self.life = MaintainedLife(self.disk, self.facts, parts or Parts(), options=options, now=now)
        self.life.drain()
        self.scrubber = self.life.maintenance.scrubber

    def flip(self, path: str = f"{CURRENT}/0.log", offset: int = 2200) -> None:
        """Damages a byte on the disk, of ledger 3."""
        file = self.disk.open(path)
        file.pwrite(bytes([file.pread(1, offset)[0] ^ 1]), offset)
        file.sync()

    def begin(self) -> "Deferred[None]":
        """Forces a pass, which comes as far as it can without waiting."""
        forced = self.scrubber.force()
        self.life.drain()
        return forced

    def stop(self) -> None:
        """Stops all background work."""
        stopped = Deferred.fromCoroutine(self.life.maintenance.stop())
        self.life.drain()
        self.successResultOf(stopped)

    def scrub(self) -> list[tuple[int, int, int]]:
        """Ledgers and entries that a forced pass finds damaged."""
        self.successResultOf(self.begin())
        return [(found.ledger_id, found.first, found.last) for found in self.scrubber.findings[0]]


class ScrubberTests(ScrubberCase):
    """Passes and what they find."""

    def test_good(self) -> None:
        """A pass over good data finds nothing; when it ended is known after a restart."""
        self.life.clock.advance(50)
        self.assertEqual(self.scrub(), [])
        self.assertEqual(self.scrubber.state.passes, 1)
        self.disk = self.disk.crash(())
        self.start()
        self.assertEqual(self.scrubber.state.last_pass, 50)

    def test_damage(self) -> None:
        """A damaged run is found, no other one, and the finding survives a power cut and a restart."""
        self.flip()
        self.assertEqual(self.scrub(), [(3, 0, 2)])
        self.assertIn("/0.log offset", self.scrubber.findings[0][0].text)
        self.disk = self.disk.crash(())
        self.start()
        self.assertEqual([found.ledger_id for found in self.scrubber.findings[0]], [3])

    def test_marked(self) -> None:
        """Ledgers with damage are marked with this bookie, also while the store fails now and then, and after a
        restart."""
        locks = self.life.locks
        locks.failures = 2
        self.disk.unlink(f"{CURRENT}/0.log")
        self.scrub()
        self.assertEqual(locks.marks, [])
        self.life.clock.advance(5)
        self.assertEqual((locks.marks, locks.failures), ([], 0))
        self.life.clock.advance(10)
        self.assertEqual(sorted(locks.marks), [(n, ("b:1",), 15000) for n in (1, 2, 3, 4)])
        self.disk = self.disk.crash(())
        self.start()
        self.assertEqual(sorted(mark[0] for mark in self.life.locks.marks), [1, 2, 3, 4])

    def test_read_only_disk(self) -> None:
        """A pass goes on where the disk takes no file of damage, which is known and marked; the log says so once."""
        self.flip()
        path = f"{CURRENT}/{FINDINGS}"
        self.disk.fail(errno.EROFS, when=lambda op: op.path.startswith(path) and op.name == "create", times=9)
        with capturedLogs() as events:
            for passes in (1, 2):
                self.assertEqual((self.scrub(), self.scrubber.state.passes), ([(3, 0, 2)], passes))
        self.assertEqual(self.scrubber.state.failures, 0)
        self.assertEqual({mark[0] for mark in self.life.locks.marks}, {3})
        texts = [formatEvent(event) for event in events]
        self.assertEqual(len([text for text in texts if "what is known of damage is kept in memory alone" in text]), 1)

    def test_not_marked_after_the_stop(self) -> None:
        """A bookie that is stopped tries no more to mark."""
        self.life.locks.failures = 1
        self.flip()
        self.scrub()
        self.stop()
        self.life.clock.advance(1000)
        self.assertEqual((self.life.locks.marks, self.life.locks.failures), ([], 0))

    def test_repaired(self) -> None:
        """What is good again leaves the list."""
        self.flip()
        self.scrub()
        self.flip()
        self.assertEqual(self.scrub(), [])
        self.assertEqual(load_record(self.disk, CURRENT).findings, ())

    def test_hostile_record(self) -> None:
        """A file of findings that no JSON reader takes counts as none."""
        for content in (b"[" * 100_000, b"9" * 5000, b"{}", b"\xff", b'{"after": 1, "findings": 2, "ended_at": 3}'):
            replace_file(self.disk, f"{CURRENT}/{FINDINGS}", content)
            self.assertEqual(load_record(self.disk, CURRENT), ScrubRecord())

    def _journal(self) -> tuple[str, int]:
        """The journal file that is written to, and the offset of a record behind its log mark, only in memory."""
        self.life.add(run(1, 50, 3))
        self.life.drain()
        self.life.add(run(2, 50, 3))
        self.life.drain()
        log_mark = read_log_mark(self.disk, [CURRENT], "lastMark")
        return f"/journal0/current/{log_mark.file_id:x}.txn", log_mark.offset + 60

    def test_journal(self) -> None:
        """Damage of a journal is found, and what lies there is written to the entry logs before it can be lost."""
        path, offset = self._journal()
        self.assertEqual(self.scrub(), [])
        self.assertEqual(self.scrubber.findings[1], ())
        self.flip(path, offset)
        self.scrub()
        ((found,),) = [self.scrubber.findings[1]]
        self.assertEqual((found.ledger_id, found.first), (NO_LEDGER, -1))
        self.assertIn(path, found.text)
        self.disk = self.disk.crash(())
        self.start()
        self.assertEqual([each.text for each in self.scrubber.findings[1]], [found.text])
        self.assertIsNotNone(found_entry(self.life, 1, 50))
        self.assertIsNotNone(found_entry(self.life, 2, 52))
        self.scrub()
        self.assertEqual(self.scrubber.findings[1], ())

    def test_unreadable_journal(self) -> None:
        """A place that cannot be read is damage of a journal, too; another failure of the disk ends the pass."""
        path, _ = self._journal()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread" and op.path == path)
        self.scrub()
        self.assertIn("cannot read", self.scrubber.findings[1][0].text)
        self._journal()
        self.disk.fail(errno.ENXIO, when=lambda op: op.name == "pread" and op.path == path)
        self.scrub()
        self.assertEqual(self.scrubber.state.failures, 1)

    def test_missing_log(self) -> None:
        """A log that is gone damages all that lies in it."""
        self.disk.unlink(f"{CURRENT}/0.log")
        self.assertEqual({ledger_id for ledger_id, _, _ in self.scrub()}, {1, 2, 3, 4})

    def test_deleted_meanwhile(self) -> None:
        """A ledger that is deleted, with its log, while it is read is not damaged."""
        limit = self.life.maintenance.throttles.find(SCRUB)
        limit.change(Rate(bytes=1))
        limit.acquire(1000)
        self.begin()
        self.assertEqual(limit.waiting, 1)
        self.life.delete(1, 2, 3, 4)
        self.life.collect()
        limit.change(Rate())
        self.life.drain()
        self.assertEqual((self.scrubber.state.passes, self.scrubber.findings[0]), (1, ()))

    def test_interval(self) -> None:
        """The first pass begins ten minutes after the start, the others an interval after the end of the one before."""
        for passes, seconds in enumerate((599, 1, 999, 1, 999)):
            self.life.wait(seconds)
            self.assertEqual(self.scrubber.state.passes, (passes + 1) // 2)

    def test_interval_over_restarts(self) -> None:
        """A pass is due an interval after the one of another process, and ten minutes after the start at the least."""
        self.life.wait(600)
        for begin, due in ((700, 1600), (1500, 2100)):
            self.start(now=begin)
            save_record(self.disk, CURRENT, ScrubRecord(ended_at=600))
            self.start(now=begin)
            self.life.wait(due - begin - 1)
            self.assertEqual(self.scrubber.state.passes, 0)
            self.life.wait(1)
            self.assertEqual(self.scrubber.state.passes, 1)

    def _cut_off(self) -> ScrubRecord:
        """Ends the process in the middle of the pass at work, as soon as it has saved something; gives that."""
        for _ in range(100):
            if load_record(self.disk, CURRENT).after:
                break
            self.life.executor.step()
        disk = self.disk.crash(())
        self.stop()  # of the disk before: a coroutine that is never resumed cannot await what its ``finally`` does
        self.disk = disk
        return load_record(disk, CURRENT)

    def test_kept_at_once(self) -> None:
        """What is found is marked, and known after a restart, before the pass has ended."""
        self.flip()
        self.scrubber.force()
        self.assertEqual([each.ledger_id for each in self._cut_off().findings], [3])
        self.start()
        self.assertEqual([each.ledger_id for each in self.scrubber.findings[0]], [3])
        self.assertEqual(self.life.locks.marks[0][0], 3)

    def test_place(self) -> None:
        """A pass that takes more than a minute keeps its place, and the findings of the one before behind it."""
        self.flip()
        self.scrub()
        self.start(rate=1000)
        self.life.maintenance.throttles.find(SCRUB).acquire(100_000)
        self.flip()
        self.begin()
        self.life.clock.advance(100)
        record = self._cut_off()
        self.assertEqual((record.findings, record.after), ((), (4, 7)))

    def test_continued(self) -> None:
        """A timed pass goes on where a process ended, with what was found before that; a forced one begins anew."""
        self.flip()
        found = DamagedEntries(1, 0, 2, 5, "found")
        for after, findings in (((3, 0), [1]), ((2, 6), [1, 3])):
            save_record(self.disk, CURRENT, ScrubRecord((found,), after, 1))
            self.start(now=1500)
            self.life.wait(600)
            self.assertEqual([each.ledger_id for each in self.scrubber.findings[0]], findings)
            self.assertEqual(load_record(self.disk, CURRENT).ended_at, 2100)
        save_record(self.disk, CURRENT, ScrubRecord((found,), (3, 0), 1))
        self.start()
        self.assertEqual(self.scrub(), [(3, 0, 2)])

    def test_one_fails(self) -> None:
        """A directory that fails does not keep the journals from being verified; the next pass is an interval later."""
        path, offset = self._journal()
        self.flip(path, offset)
        self.disk.fail(errno.ENXIO, when=lambda op: op.name == "pread" and op.path.endswith(".log"), times=100)
        self.life.wait(600)
        self.assertEqual((self.scrubber.state.failures, len(self.scrubber.findings[1])), (1, 1))
        self.life.wait(999)
        self.assertEqual(self.scrubber.state.failures, 1)
        self.life.wait(1)
        self.assertEqual(self.scrubber.state.failures, 2)

    def test_damaged_logs(self) -> None:
        """After a pass compactions try again the logs that were damaged."""
        directory = self.life.maintenance.directories[0]
        directory.damaged[0] = "damaged"
        self.scrub()
        self.assertEqual(directory.damaged, {})

    def test_speed_limit(self) -> None:
        """A pass takes the time that its limit gives it."""
        self.start(rate=1000)
        self.scrub()  # one step, which may be larger than the limit, and delays the next one
        forced = self.begin()
        self.assertNoResult(forced)
        self.life.wait(100)
        self.successResultOf(forced)

    def test_suspend(self) -> None:
        """A suspended pass reads nothing until it is resumed; the next one is suspended too, and can be cancelled."""
        self.flip()
        self.scrubber.suspension.suspend()
        for _ in range(2):
            forced = self.begin()
            self.assertNoResult(forced)
            self.assertEqual(self.scrubber.findings.get(0), ())
            self.scrubber.cancel()
            self.life.drain()
            self.successResultOf(forced)
        forced = self.begin()
        self.scrubber.suspension.resume()
        self.life.drain()
        self.successResultOf(forced)
        self.assertEqual(len(self.scrubber.findings[0]), 1)

    def test_resumed(self) -> None:
        """The time of a suspension does not count for the speed of a pass that is resumed."""
        self.patch(maintained, "_LEAST_STEP", 500)
        self.start(rate=2000.0)
        self.begin()
        self.life.wait(5)
        progress = self.scrubber.state.progress
        assert progress is not None
        self.scrubber.suspension.suspend()
        self.life.wait(5)
        self.life.wait(400)
        done, eta = progress.done, progress.eta(self.life.clock.seconds())
        self.assertGreater(done, 0)
        # two steps are not waited for: the one that was allowed before the suspension, and the last one
        self.assertEqual(eta, (progress.left - 2 * 500) / 2000)
        self.scrubber.suspension.resume()
        self.life.drain()
        progress.limits = ()
        self.assertEqual(progress.eta(self.life.clock.seconds()), 0.0, "the work itself has taken no time")
        self.assertGreater(progress.left, 0)
        self.scrubber.cancel()
        self.life.drain()

    def test_changed_interval(self) -> None:
        """Another interval counts from its change; 0 ends the passes."""
        self.life.clock.advance(500)
        self.scrubber.change(50)
        self.life.wait(49)
        self.assertEqual(self.scrubber.state.passes, 0)
        self.life.wait(1)
        self.assertEqual(self.scrubber.state.passes, 1)
        self.scrubber.change(0)
        self.life.wait(1e6)
        self.assertEqual(self.scrubber.state.passes, 1)

    def test_disk_error(self) -> None:
        """A disk that fails ends the pass with the findings of the pass before."""
        self.flip()
        self.scrub()
        self.disk.fail(errno.ENXIO, when=lambda op: op.name == "pread", times=100)
        self.assertEqual(self.scrub(), [(3, 0, 2)])
        self.assertEqual(self.scrubber.state.failures, 1)

    def test_unreadable_place(self) -> None:
        """What the disk cannot read is damaged, and nothing else that would be read with it."""
        where = next(iter(self.life.store.storage.directories[0].index.rows(3)))

        def covers(op: Operation) -> bool:
            begin = op.detail if isinstance(op.detail, int) else 0
            return op.name == "pread" and op.path.endswith("/0.log") and begin <= where.offset + 5 < begin + op.size

        self.disk.fail(errno.EIO, when=covers, times=2)
        self.assertEqual(self.scrub(), [(3, 0, 2)])
        self.assertIn("the disk cannot read it", self.scrubber.findings[0][0].text)
        self.assertEqual(self.scrub(), [])

    def test_damaged_list(self) -> None:
        """A list that cannot be understood is no list."""
        self.disk.open(f"{CURRENT}/{FINDINGS}", create=True).pwrite(b"{", 0)
        self.start()
        self.assertEqual(self.scrubber.findings, {0: (), 1: ()})

    def test_cancel_and_stop(self) -> None:
        """A pass can be cancelled; a stop leaves no timer."""
        forced = self.scrubber.force()
        self.life.executor.step()
        self.scrubber.cancel()
        self.life.drain()
        self.successResultOf(forced)
        self.assertEqual(self.scrubber.state.passes, 0)
        self.scrubber.force()
        self.stop()
        self.assertEqual(self.life.clock.getDelayedCalls(), [])
        self.successResultOf(self.scrubber.force())


class CompactionTests(ScrubberCase):
    """Damage that a compaction meets."""

    def setUp(self) -> None:
        super().setUp()
        self.life.delete(1, 2)
        self.flip()

    @property
    def found(self) -> list[int]:
        """The ledgers that are known to be damaged."""
        return [found.ledger_id for found in self.scrubber.findings[0]]

    def test_kept_at_once(self) -> None:
        """It is known, durable and marked at once, as if a scrub had found it, and counted once."""
        self.life.collect()
        self.assertEqual((self.found, [mark[:2] for mark in self.life.locks.marks]), ([3], [(3, ("b:1",))]))
        for _ in range(2):
            self.disk = self.disk.crash(())
            self.start()
            self.life.collect()
            self.assertEqual((self.found, [mark[0] for mark in self.life.locks.marks]), ([3], [3]))
            self.assertEqual(load_record(self.disk, CURRENT).findings, self.scrubber.findings[0])

    def test_before_it_is_loaded(self) -> None:
        """What earlier processes knew stays known where a collection is faster than the start of the scrubber."""
        old = DamagedEntries(4, 0, 2, 5, "found")
        save_record(self.disk, CURRENT, ScrubRecord((old,), None, 7))
        self.disk.kill()
        self.life = MaintainedLife(self.disk, self.facts, Parts())
        self.scrubber = self.life.maintenance.scrubber
        self.life.collect()
        self.assertEqual(self.found, [3, 4])
        record = load_record(self.disk, CURRENT)
        self.assertEqual((record.findings[1], record.ended_at), (old, 7))

    def test_repaired(self) -> None:
        """It leaves the list with the next pass, and the compaction tries the log again."""
        self.life.collect()
        self.flip()
        self.assertEqual(self.scrub(), [])
        self.life.collect()
        self.assertNotIn(0, self.life.logs()[0])

    def test_written_again(self) -> None:
        """Entries that lie elsewhere by now are not damaged."""
        self.life.collect()
        damage = LogDamageError("damaged", 9, 4, 0, 2)
        joined = Deferred.fromCoroutine(self.scrubber._known.join(self.life.maintenance.directories[0], damage))
        self.life.drain()
        self.successResultOf(joined)
        self.assertEqual(self.found, [3])

    def _pass_at_work(self, after: tuple[int, int]) -> None:
        """Begins a pass that has come to a place, and waits for its limit."""
        self.flip()
        save_record(self.disk, CURRENT, ScrubRecord((), after, 1))
        self.start(rate=1, now=1500)
        self.life.maintenance.throttles.find(SCRUB).acquire(100_000)
        self.life.wait(600)
        self.flip()
        self.life.collect()
        self.assertEqual(self.found, [3])
        self.assertEqual(load_record(self.disk, CURRENT).after, after)
        self.life.maintenance.throttles.find(SCRUB).change(Rate())

    def test_behind_a_pass(self) -> None:
        """It joins what a pass at work has found, and stays known at its end."""
        self._pass_at_work((3, 6))
        self.flip()
        self.life.drain()
        self.assertEqual((self.scrubber.state.passes, self.found), (1, [3]))

    def test_before_a_pass(self) -> None:
        """A pass that comes there later finds it itself, or finds that it was repaired."""
        for repaired in (False, True):
            self._pass_at_work((2, 6))
            if repaired:
                self.flip()
            self.life.drain()
            self.assertEqual((self.scrubber.state.passes, self.found), (1, [] if repaired else [3]))

    def test_full_disk(self) -> None:
        """Where there is no space to keep it, it is marked all the same."""
        self.disk.fail(errno.ENOSPC, when=lambda op: FINDINGS in op.path and op.name == "pwrite", times=5)
        self.life.collect()
        self.assertEqual((self.found, [mark[0] for mark in self.life.locks.marks]), ([3], [3]))
        self.assertEqual(self.life.maintenance.collector.state.failures, 0)

"""Autorecovery as a whole, over bookies in memory: from the loss of a bookie to full replicas."""

from itertools import pairwise
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.interfaces import CopyProgress, LedgerStatus
from bookkeeper_twisted.autorecovery.limits import LIMITERS
from bookkeeper_twisted.autorecovery.service import (
    STOP_SECONDS,
    AutoRecovery,
    Identity,
    checker_settings,
    copy_settings,
    jobs_of,
    throttle_rates,
    worker_settings,
)
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.ledger.findings import LossKind
from bookkeeper_twisted.limits.throttle import UNLIMITED, Rate

from .recovery_case import RecoveryCase


class AutoRecoveryTests(RecoveryCase):
    """:class:`AutoRecovery`."""

    def autorecovery(self, name: str = "a:1", **config: Any) -> AutoRecovery:
        """One process of autorecovery, at work."""
        made = AutoRecovery(
            self.clock, self.client(), AutorecoveryConfig(**config), Identity(name, "host"),
            lambda: int(self.clock.seconds() * 1000), Instruments(),
        )  # fmt: skip
        made.start()
        self.addCleanup(lambda: self.finish(made.stop()))
        self.pass_time(1)
        return made

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(int(seconds * 10)):
            self.clock.advance(0.1)
            self.settle()

    async def marked(self) -> list[int]:
        """Ids of marked ledgers."""
        return [ledger_id async for ledger_id in self.cluster.underreplication.marked_ledgers()]

    def test_lost_bookie(self) -> None:
        """The ledgers of a bookie that is lost for good are complete again on the others, and nothing is left."""
        self.autorecovery()
        ledgers = [self.write(self.payloads(20)) for _ in range(5)]
        lost = self.metadata(ledgers[0]).segments[0].bookies[0]
        self.kill(lost)
        self.pass_time(30)
        self.assertEqual(self.do(self.marked()), [])
        self.assertEqual(self.do(self.cluster.underreplication.locked_ledgers()), {})
        for ledger_id in ledgers:
            self.assertNotIn(lost, self.metadata(ledger_id).segments[0].bookies)
            self.assertTrue(self.check(ledger_id, percentage=100).is_whole)

    def test_jobs(self) -> None:
        """While a ledger is repaired, its fragments, copied bytes and end are seen, and who uses the limits."""
        process = self.autorecovery(replication_rate_by_bytes=2000)
        ledger_id = self.write(self.payloads(200))
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        seen, users = [], set()
        for _ in range(300):
            self.pass_time(0.1)
            status = process.limits.limits()
            seen += [job for job in status.jobs if job.n_bytes]
            users |= {user for throttle in status.throttles for user in throttle.users}
        job = seen[len(seen) // 2]
        self.assertEqual((job.name, job.state, job.total), (f"replication of ledger {ledger_id}", "repairing", 1))
        self.assertTrue(all(one.n_bytes <= two.n_bytes for one, two in pairwise(seen)))
        self.assertTrue(job.eta is not None and job.eta > 0, job)
        self.assertLessEqual({f"replication of ledger {ledger_id}", f"check of ledger {ledger_id}"}, users)
        self.assertEqual(process.limits.limits().jobs, ())

    def test_end(self) -> None:
        """A repair ends by its speed so far, but not before the speed limits in force allow it."""
        progress = CopyProgress(0.0, 1, 0, 20)
        status = LedgerStatus(7, "repairing", "", 0, 0.0, None, progress)
        self.assertIsNone(jobs_of([status], 1.0, Rate())[0].eta)
        self.assertEqual(jobs_of([status], 1.0, Rate(), Rate(2))[0].eta, 10.0)
        progress.count(10, 1000)
        self.assertEqual(jobs_of([status], 5.0)[0].eta, 5.0)
        self.assertEqual(jobs_of([status], 5.0, Rate(bytes=10_000))[0].eta, 5.0)
        self.assertEqual(jobs_of([status], 5.0, Rate(bytes=1))[0].eta, 1000.0)

    def test_changed_limit(self) -> None:
        """A repair whose limit was raised ends by its speed since then, not by that of the time before."""
        service = self.autorecovery()
        progress = CopyProgress(self.clock.seconds(), 1, 0, 120)
        statuses = [LedgerStatus(7, "repairing", "", 0, 0.0, None, progress)]
        self.patch(service.worker, "status", lambda most: statuses)
        self.clock.advance(100)
        progress.count(10, 1000)
        self.assertEqual(service.limits.limits().jobs[0].eta, 1100.0)
        service.limits.set_limits({"replication-read": Rate(bytes=200_000)})
        self.assertLess(service.limits.limits().jobs[0].eta or 0.0, 1.0)
        self.clock.advance(1)
        progress.count(10, 1000)
        self.assertEqual(service.limits.limits().jobs[0].eta, 10.0)

    def test_shared_limit(self) -> None:
        """Repairs that share a limit get the same share of it until they end; ledgers that wait get none."""
        repairs = []
        for ledger_id, entries in enumerate((20, 40, 120)):
            progress = CopyProgress(0.0, 1, 0, entries)
            progress.count(10, 1000)
            repairs.append(LedgerStatus(ledger_id, "repairing", "", 0, 0.0, None, progress))
        jobs = jobs_of([*repairs, LedgerStatus(9, "waiting", "", 1, 0.0, 50.0)], 0.0, Rate(), Rate(10, 500))
        self.assertEqual([job.eta for job in jobs], [6.0, 14.0, 30.0, None])

    def test_delay(self) -> None:
        """A bookie that is back within its delay has nothing copied."""
        self.autorecovery(lost_bookie_recovery_delay=60)
        ledger_id = self.write(self.payloads(20))
        before = self.metadata(ledger_id)
        lost = before.segments[0].bookies[0]
        self.kill(lost)
        self.pass_time(50)
        self.bookies[lost].up = True
        self.do(self.cluster.registration.register_bookie(lost, False, self.service_info()))
        self.pass_time(60)
        self.assertEqual(self.metadata(ledger_id), before)

    def test_two_processes(self) -> None:
        """One of two is auditor; after its end the other one is, and goes on."""
        one, two = self.autorecovery("a:1"), self.autorecovery("b:1")
        self.assertEqual((one.election.in_office, two.election.in_office), (True, False))
        self.finish(one.stop())
        self.pass_time(2)
        self.assertTrue(two.election.in_office)
        ledger_id = self.write(self.payloads(20))
        self.kill(self.metadata(ledger_id).segments[0].bookies[1])
        self.pass_time(30)
        self.assertTrue(self.check(ledger_id, percentage=100).is_whole)
        self.assertEqual(self.do(self.marked()), [])

    def test_lost_entries(self) -> None:
        """Entries that a bookie has lost are found by the check of all ledgers, and given back to it."""
        ledger_id = self.write(self.payloads(20))
        bookie = self.bookie(ledger_id, 0)
        del bookie.entries[ledger_id][0]
        self.assertEqual({loss.kind for loss in self.check(ledger_id).losses()}, {LossKind.MISSING})
        self.autorecovery()
        self.pass_time(30)
        self.assertTrue(self.check(ledger_id, percentage=100).is_whole)
        self.assertEqual(self.do(self.marked()), [])

    def test_services(self) -> None:
        """An auditor alone marks and repairs nothing; a worker alone repairs and is never auditor."""
        auditor = self.autorecovery("a:1", auto_recovery_services=("auditor",))
        self.assertEqual((auditor.election.in_office, auditor.worker.running), (True, False))
        ledger_id = self.write(self.payloads(20))
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        self.pass_time(30)
        self.assertEqual(self.do(self.marked()), [ledger_id])
        worker = self.autorecovery("b:1", auto_recovery_services=("worker",))
        self.pass_time(10)
        self.assertEqual(self.do(self.marked()), [])
        self.finish(auditor.stop())
        self.pass_time(2)
        self.assertEqual((worker.election.in_office, worker.worker.running), (False, True))

    def test_limits_of_a_running_process(self) -> None:
        """Limits and the latency bound are changed while it works."""
        made = self.autorecovery()
        made.limits.set_limits({"replication-read": Rate(bytes=70)}, 5.0)
        self.assertEqual(made.throttles.find("replication-read").limit, Rate(bytes=70))
        self.assertEqual((made.adaptive.status.bound, made.limits.limits().adaptive.bound), (5.0, 5.0))

    def test_changed_configuration(self) -> None:
        """Changed keys are those of limiters; a limit that was changed by hand stays where its key did not."""
        made, before = self.autorecovery(), AutorecoveryConfig()
        made.limits.set_limits({"checker-read": Rate(7)}, 5.0)
        after = AutorecoveryConfig(replication_rate_by_bytes=70, zk_replication_task_rate_limit=2.5)
        made.change(before, after)
        found = {each.name: each.limit for each in made.throttles}
        self.assertEqual(
            (found["replication-read"], found["replication-metadata"], found["checker-read"]),
            (Rate(bytes=70), Rate(2.5), Rate(7)),
        )
        self.assertEqual(made.adaptive.status.bound, 5.0)
        made.change(after, AutorecoveryConfig(replication_latency_bound_ms=9.0))
        self.assertEqual((made.adaptive.status.bound, made.throttles.find("replication-read").limit), (9.0, UNLIMITED))

    def _factors(self, delay: float) -> set[float]:
        """The factors of a worker with a bound of 20 ms, whose bookies answer after some seconds."""
        made = self.autorecovery(replication_latency_bound_ms=20.0, rereplication_entry_batch_size=5)
        ledger_id = self.write(self.payloads(2000))
        for bookie_id in self.do(self.cluster.registration.writable_bookies()):
            self.bookies[bookie_id].delay = delay
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        found = set()
        for _ in range(400):
            self.clock.advance(0.01)
            self.settle()
            found.add(round(made.adaptive.status.factor, 3))
        self.assertNotEqual(self.do(self.marked()), [])
        return found

    def test_yields(self) -> None:
        """Copies yield while one entry takes longer than the bound at their bookies."""
        self.assertTrue(self._factors(0.05) >= {1.0, 0.8, 0.4})

    def test_full_speed(self) -> None:
        """Copies do not yield while one entry takes less than the bound."""
        self.assertEqual(self._factors(0.005), {1.0})

    def test_limit(self) -> None:
        """A limit in the configuration is that of a limiter, which has a name to be changed by."""
        made = self.autorecovery(replication_write_rate_by_bytes=1000)
        self.assertEqual(made.throttles.find("replication-write").rate.bytes, 1000)
        self.assertEqual(
            [throttle.name for throttle in made.throttles],
            ["checker-metadata", "checker-read", "replication-metadata", "replication-read", "replication-write"],
        )

    def test_stop(self) -> None:
        """A stop in the middle of repairs releases their locks."""
        made = self.autorecovery(replication_write_rate_by_bytes=1)
        ledgers = [self.write(self.payloads(20)) for _ in range(3)]
        self.kill(self.metadata(ledgers[0]).segments[0].bookies[0])
        self.pass_time(5)
        self.assertNotEqual(self.do(self.cluster.underreplication.locked_ledgers()), {})
        self.finish(made.stop())
        self.assertEqual(self.do(self.cluster.underreplication.locked_ledgers()), {})
        self.assertNotEqual(self.do(self.marked()), [])

    def test_stop_without_the_store(self) -> None:
        """A stop ends all work at once, and waits for a store that does not answer for five seconds, for all calls."""
        made = self.autorecovery(replication_write_rate_by_bytes=1)
        ledgers = [self.write(self.payloads(20)) for _ in range(3)]
        self.kill(self.metadata(ledgers[0]).segments[0].bookies[0])
        self.pass_time(5)
        held, calls = self.do(self.cluster.underreplication.locked_ledgers()), list[Deferred[None]]()

        def asked(*_: object) -> "Deferred[None]":
            calls.append(Deferred())
            return calls[-1]

        self.patch(made.worker._underreplication, "unlock", asked)
        self.patch(made.election._auditing, "withdraw", asked)
        stopping = self.start(made.stop())
        self.assertFalse(made.election.in_office)
        self.assertGreater(len(held), 1)
        self.assertEqual(len(calls), len(held) + 1)
        self.pass_time(STOP_SECONDS - 0.1)
        self.assertNoResult(stopping)
        with capturedLogs() as events:
            self.pass_time(0.2)
        self.successResultOf(stopping)
        self.assertTrue(all(call.called for call in calls))
        said = [text for event in events if (text := formatEvent(event)).startswith("autorecovery ends")]
        text = "autorecovery ends: the metadata store has not answered within 5 s; it removes the candidate and the "
        self.assertEqual(said, [f"{text}locks by itself when the session of this process ends"])


class SettingsTests(SynchronousTestCase):
    """Keys of the configuration arrive at the parts: Java's and those beside them."""

    def _config(self, **values: str) -> BookieConfig:
        return BookieConfig.load(from_options(values))

    def test_no_limits(self) -> None:
        """Nothing is limited unless it is asked for; 0 and below is no limit."""
        self.assertEqual(throttle_rates(self._config()), dict.fromkeys(LIMITERS, UNLIMITED))
        off = self._config(replicationRateByBytes="-1", checkerRateByEntries="-1", checkerMetadataOpRateLimit="-1")
        self.assertEqual(throttle_rates(off), dict.fromkeys(LIMITERS, UNLIMITED))

    def test_limits(self) -> None:
        """Each limiter has its keys."""
        config = self._config(
            replicationRateByBytes="1", replicationRateByEntries="2", replicationWriteRateByBytes="3",
            replicationWriteRateByEntries="4", zkReplicationTaskRateLimit="0.5", checkerRateByBytes="6",
            checkerRateByEntries="7", checkerMetadataOpRateLimit="8",
        )  # fmt: skip
        self.assertEqual(throttle_rates(config), {
            "replication-read": Rate(2, 1), "replication-write": Rate(4, 3), "replication-metadata": Rate(0.5),
            "checker-read": Rate(7, 6), "checker-metadata": Rate(8),
        })  # fmt: skip

    def test_windows(self) -> None:
        """The size of windows; Java's way to say that a fragment is not divided leaves bytes as the limit."""
        settings = copy_settings(self._config(rereplicationEntryBatchSize="10", replicationWindowBytes="4096"))
        self.assertEqual((settings.window_entries, settings.window_bytes), (10, 4096))
        self.assertGreaterEqual(copy_settings(self._config(rereplicationEntryBatchSize="0")).window_entries, 1 << 20)

    def test_worker(self) -> None:
        """Times come in ms and are kept in seconds."""
        settings = worker_settings(self._config(
            rwRereplicateBackoffMs="2000", openLedgerRereplicationGracePeriod="3000",
            lockReleaseOfFailedLedgerGracePeriod="4000", replicationConcurrentLedgers="5",
        ), "host")  # fmt: skip
        found = (settings.backoff, settings.grace, settings.longest_hold, settings.ledgers, settings.holder)
        self.assertEqual(found, (2, 3, 4, 5, "host"))

    def test_checker(self) -> None:
        """Share of entries and reads under way."""
        settings = checker_settings(
            self._config(auditorLedgerVerificationPercentage="30", inFlightReadEntryNumInLedgerChecker="9")
        )
        self.assertEqual((settings.percentage, settings.max_in_flight), (30, 9))

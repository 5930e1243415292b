"""Auditors and workers of either side repair ledgers on bookies of both."""

import itertools
import time
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import attrs
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.autorecovery.metrics import CheckerMetrics
from bookkeeper_twisted.autorecovery.operations.decommission import Decommission
from bookkeeper_twisted.autorecovery.presence import Presence
from bookkeeper_twisted.autorecovery.replication.checker import CheckerSettings, LedgerChecker
from bookkeeper_twisted.autorecovery.service import AutoRecovery, Identity
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.autorecovery import AUDITOR, WORKER, AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.throttle import Throttle
from bookkeeper_twisted.model import DigestType

from .actors import Dialect, JavaActor, Layout, NamedBookies, OurActor
from .cluster import COUNT, Cluster, running_cluster
from .overrun import Work, within
from .shell import run_shell

_PATIENCE = 150.0
"""Seconds for one test."""

_WORKER_STATE = ("_jobs", "_failures", "_refused", "_has_news", "_news", "_timer")
"""What of our worker is reported when a test takes longer."""

_ENTRIES = 40
_SHAPES = ((3, 3, 2), (4, 3, 2), (3, 3, 3))
_CONFIG = AutorecoveryConfig(
    auditor_periodic_bookie_check_interval=86400, open_ledger_rereplication_grace_period=500,
    rw_rereplicate_backoff_ms=200, auditor_ledger_verification_percentage=100,
)  # fmt: skip


@lru_cache(maxsize=1)
def repair_cluster() -> Cluster:
    """Three bookies of each side, whose loss is noticed after two seconds."""
    return running_cluster({"zkTimeout": 2000})


class RepairCase(TestCase):
    """Ledgers of both clients on bookies of both sides; :attr:`bk` is our client."""

    timeout = 180

    async def setUp(self) -> None:  # type: ignore[override]
        await self.use(repair_cluster(), ClientConfig(zk_timeout=4000))

    async def use(self, cluster: Cluster, config: ClientConfig) -> None:
        """Connect our client to a cluster, all of whose bookies are started again."""
        self.cluster = cluster
        self.bookies = (*self.cluster.ours, *self.cluster.apache)
        self.bk = await BookKeeper.connect(reactor, self.cluster.uri, config, NamedBookies(system_chance()))
        self.addCleanup(self.bk.close)
        self.driver: Any = self.bk.metadata
        for bookie_id in self.bookies:
            self.cluster.restart(bookie_id)
        await self.until(self._bookies_changed, lambda: self.writable == set(self.bookies))
        self.services: list[AutoRecovery] = []
        self.addCleanup(self.stop_recovery)

    # ---- waiting -------------------------------------------------------------------------------------

    async def until(self, watch: Callable[[Callable[[], None]], Callable[[], None]], holds: Callable[[], bool]) -> None:
        """Waits until a condition holds, which is looked at whenever something may have changed."""
        reached: Deferred[None] = Deferred()

        def look() -> None:
            if not reached.called and holds():
                reached.callback(None)

        stop = watch(look)
        try:
            await reached
        finally:
            stop()

    def _bookies_changed(self, look: Callable[[], None]) -> Callable[[], None]:
        def changed(writable: frozenset[str], read_only: frozenset[str]) -> None:
            self.writable = set(writable)
            look()

        stop: Callable[[], None] = self.driver.registration.watch_bookies(changed)
        return stop

    async def without(self, ledger_id: int, lost: set[str]) -> None:
        """Waits until no ensemble of a ledger names some bookies."""
        named = set(lost)

        def watch(look: Callable[[], None]) -> Callable[[], None]:
            def changed(stored: Any) -> None:
                named.clear()
                named.update(stored.value.bookies)
                look()

            stop: Callable[[], None] = self.driver.ledgers.watch(ledger_id, changed)
            return stop

        await self.until(watch, lambda: not named & lost)

    async def no_marks(self) -> None:
        """Waits until no ledger is marked, and no lock is held."""
        marks = self.driver.underreplication
        while True:
            changed: Deferred[None] = Deferred()

            def look(changed: Deferred[None] = changed) -> None:
                if not changed.called:
                    changed.callback(None)

            stop = marks.watch_marks(look)
            try:
                await changed  # soon, and then after each change
                if not [i async for i in marks.marked_ledgers()] and not await marks.locked_ledgers():
                    return
            finally:
                stop()

    # ---- autorecovery --------------------------------------------------------------------------------

    async def start_recovery(self, auditor: str, worker: str) -> None:
        """Starts an auditor and a worker, each of one side, and waits until the auditor is in office."""
        services = tuple(name for name, side in ((AUDITOR, auditor), (WORKER, worker)) if side == "ours")
        if services:
            config = attrs.evolve(_CONFIG, auto_recovery_services=services)
            service = AutoRecovery(
                reactor, self.bk, config, Identity("ours:1", "localhost"), lambda: int(time.time() * 1000)
            )
            self.services.append(service)
            service.start()
        if auditor != "ours":
            await self.cluster.java.call("startAuditor", bookie="java:1")
        if worker != "ours":
            await self.cluster.java.call("startWorker")
        expected = "ours:1" if auditor == "ours" else "java:1"
        while await self.driver.auditing.auditor() != expected:
            pass

    async def stop_recovery(self) -> None:
        """Ends all of it."""
        await self.cluster.java.call("stopRecovery")
        while self.services:
            await self.services.pop().stop()

    async def report(self) -> str:
        """How things are, for people to read."""
        marks, ledgers, registration = self.driver.underreplication, self.driver.ledgers, self.driver.registration
        writable = sorted(await registration.writable_bookies())
        lines = [f"killed: {sorted(self.cluster.killed())}", f"writable: {writable}"]
        lines += [f"mark of ledger {i}: {await marks.read_mark(i)}" async for i in marks.marked_ledgers()]
        lines += [f"lock of ledger {i}: {text}" for i, text in (await marks.locked_ledgers()).items()]
        lines.append(f"auditor: {await self.driver.auditing.auditor()}")
        for service in self.services:
            lines += [f"our worker: {name[1:]}: {getattr(service.worker, name)}" for name in _WORKER_STATE]
            lines.append(f"our auditor: {service.election.in_office}")
        async for ledger_id in ledgers.ledger_ids():
            stored = (await ledgers.read(ledger_id)).value
            lines.append(f"ledger {ledger_id}: {stored.state.name} {[one.bookies for one in stored.segments]}")
        return "\n".join([*lines, self.cluster.log()])

    # ---- ledgers -------------------------------------------------------------------------------------

    async def write(self) -> list[tuple[int, Dialect]]:
        """Closed ledgers of both clients, and one of each that was left open."""
        ours, java = OurActor(self.bk), JavaActor(self.cluster.java, "writer", 3)
        written = []
        for actor, shape, digest in itertools.product((ours, java), _SHAPES, (DigestType.CRC32C, DigestType.HMAC)):
            dialect, is_open = Dialect(3, digest), (shape, digest) == (_SHAPES[0], DigestType.HMAC)
            # an open ledger that loses its ack quorum cannot be recovered, so it loses one bookie
            bookies = self.bookies[:-COUNT] + self.bookies[-COUNT + 1 :] if is_open else self.bookies
            ledger_id = await actor.create(dialect, Layout(bookies, *shape))  # type: ignore[attr-defined]
            await actor.append(ledger_id, _ENTRIES)  # type: ignore[attr-defined]
            written.append((ledger_id, dialect))
            if is_open:
                await actor.forget(ledger_id)  # type: ignore[attr-defined]
            else:
                await actor.close(ledger_id)  # type: ignore[attr-defined]
        return written

    async def assert_whole(self, written: list[tuple[int, Dialect]]) -> None:
        """Apache's client reads every entry, and every bookie of every ensemble has what it should have."""
        checker = self._checker()
        for ledger_id, dialect in written:
            java = JavaActor(self.cluster.java, "reader", dialect.wire)
            seen = await java.read(dialect, ledger_id, recover=True)
            self.assertEqual(seen.last, _ENTRIES - 1)
            stored = await self.bk.context.ledgers.read(ledger_id)
            report = await checker.check(ledger_id, stored.value, self.bookies)
            self.assertTrue(report.is_whole, report)

    def _checker(self) -> LedgerChecker:
        limit, context = Throttle(reactor, "check"), self.bk.context
        presence = Presence(reactor, context.watcher, self.driver.registration, limit)
        return LedgerChecker(context, presence, limit, CheckerMetrics(Instruments()), CheckerSettings(percentage=100))


C = TypeVar("C", bound=RepairCase)


def in_time(test: Callable[[C], Work[None]]) -> Callable[[C], "Deferred[None]"]:
    """Bounds a test, so that the error of one that takes too long says what was marked, locked and under way."""

    @wraps(test)
    def bounded(case: C) -> "Deferred[None]":
        work = within(reactor, _PATIENCE, test(case), case.report)
        return Deferred.fromCoroutine(work)

    return bounded


class ReasonTests(RepairCase):
    """Locks that say why a ledger is not repaired."""

    async def test_reason_in_the_lists_of_java(self) -> None:
        """Apache's shell prints the reason as it is, in both of its lists."""
        text = 'host: cannot be repaired, tried again at 2026-11-22T14:40:12Z: "bookie-1:3181" has none of {3}'
        marks, ledger_id = self.driver.underreplication, 4711
        await marks.mark(ledger_id, [self.bookies[0]])
        self.addCleanup(marks.remove_mark, ledger_id, 0)
        await marks.lock(ledger_id, "host")
        self.addCleanup(marks.unlock, ledger_id)
        await marks.describe_lock(ledger_id, text)
        said = await deferToThread(run_shell, self.cluster.conf, "listunderreplicated", "-prw")
        self.assertIn("{" + f"replicationWorkerId={text}" + "}", said.output, said.errors)
        said = await deferToThread(run_shell, self.cluster.conf, "queryautorecoverystatus")
        self.assertIn(f"bookieId={text}", said.output, said.errors)


class MatrixTests(RepairCase):
    """One bookie of each side is lost for good."""

    async def _play(self, auditor: str, worker: str) -> None:
        written = await self.write()
        await self.start_recovery(auditor, worker)
        lost = {self.cluster.ours[0], self.cluster.apache[0]}
        for bookie_id in lost:
            self.cluster.kill(bookie_id)
        for ledger_id, _ in written:
            await self.without(ledger_id, lost)
        await self.no_marks()
        await self.assert_whole(written)
        await self.stop_recovery()
        said = await deferToThread(run_shell, self.cluster.conf, "listunderreplicated")
        self.assertIn("count=0", said.output)

    @in_time
    async def test_ours_ours(self) -> None:
        """Our auditor and our worker."""
        await self._play("ours", "ours")

    @in_time
    async def test_ours_java(self) -> None:
        """Our auditor marks, Apache's worker repairs."""
        await self._play("ours", "Java")

    @in_time
    async def test_java_ours(self) -> None:
        """Apache's auditor marks, our worker repairs."""
        await self._play("Java", "ours")

    @in_time
    async def test_java_java(self) -> None:
        """Apache's auditor and worker, with our bookies."""
        await self._play("Java", "Java")


class DecommissionTests(RepairCase):
    """A bookie of one side leaves; the tool is of the other side than the auditor."""

    @in_time
    async def test_java_shell(self) -> None:
        """Apache's shell decommissions our bookie, with our auditor and our worker."""
        written, lost = await self.write(), self.cluster.ours[1]
        await self.start_recovery("ours", "ours")
        self.cluster.kill(lost)
        await self.until(self._bookies_changed, lambda: lost not in self.writable)
        said = await deferToThread(run_shell, self.cluster.conf, "decommissionbookie", "-bookieid", lost)
        self.assertEqual(said.status, 0, said.output + said.errors)
        self.cluster.empty(lost)
        await self.assert_whole(written)
        self.assertNotIn(lost, await self.driver.registration.all_bookies())

    @in_time
    async def test_our_decommission(self) -> None:
        """We decommission Apache's bookie, with Apache's auditor and worker."""
        written, lost = await self.write(), self.cluster.apache[1]
        await self.start_recovery("Java", "Java")
        self.cluster.kill(lost)
        await self.until(self._bookies_changed, lambda: lost not in self.writable)
        remaining = await Decommission(reactor, self.driver, lost).run()
        self.assertEqual(remaining.blockers, {})
        await self.assert_whole(written)


class ElectionTests(RepairCase):
    """Candidates of both sides in one election."""

    @in_time
    async def test_succession(self) -> None:
        """Apache's candidate follows ours, and ours Apache's; there is one auditor at a time."""
        auditing = self.driver.auditing
        await self.start_recovery("ours", "ours")
        await self.cluster.java.call("startAuditor", bookie="java:1")
        self.assertEqual(await auditing.auditor(), "ours:1")
        await self.services[0].election.stop()
        while await auditing.auditor() != "java:1":
            pass  # its vote may be on its way
        self.services[0].election.start()
        await self.cluster.java.call("stopRecovery")
        while await auditing.auditor() != "ours:1":
            pass

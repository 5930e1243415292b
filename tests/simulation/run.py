"""One run: chaos, then peace in which everything has to end well, then the verdict."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import attrs
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from zope.interface import provider

from bookkeeper_twisted.errors import BookKeeperError

from .chaos import Chaos
from .checker import Ledger, Violation
from .cluster import Cluster, Parts
from .leftovers import cancelled_afterwards
from .many_ledgers import ManyLedgersWriter
from .repairing import RepairEnd, RepairProcess
from .scenario import Scenario
from .threaded import ThreadedWriter
from .workload import Deleter, Reader, Recoverer, Role, TurnTaker, Writer, read_all, recover
from .world import BookieNode
from .world.clock import START

WARM_UP = 3.0
PEACE = 60.0
REPAIR = 180.0
_LONGEST_CALL = 20.0
_MAX_EVENTS = 2_000_000


@attrs.frozen
class Outcome:
    """What a run came to.

    :ivar trace: equal for equal runs.
    :ivar counters: how often each rare path ran.
    :ivar lines: the history for people, if it was asked for.
    """

    seed: int | str
    violations: Sequence[Violation]
    trace: str
    events: int
    counters: dict[str, int]
    lines: Sequence[str]


def simulate(
    seed: int | str, scenario: Scenario | None = None, parts: Parts | None = None, lines: bool = False
) -> Outcome:
    """Runs one seed.

    :param scenario: what the seed draws, if not given.
    :param parts: with a defect, perhaps.
    :param lines: whether to keep the history for people.
    """
    cluster = Cluster(scenario or Scenario.draw(seed), parts or Parts(), lines)
    with _collected_afterwards(), cancelled_afterwards():
        with _logged_failures(cluster):
            _Run(cluster).run()
        return _outcome(seed, cluster)


def _outcome(seed: int | str, cluster: Cluster) -> Outcome:
    """As it is now: what is cancelled later has no part in it."""
    _count_bookies(cluster)
    sim, history = cluster.world.sim, cluster.history
    return Outcome(
        seed, tuple(cluster.checker.violations), sim.trace(), sim.events, dict(history.counters), tuple(history.lines)
    )


@contextmanager
def _collected_afterwards() -> Iterator[None]:
    """When garbage is collected must not matter, so it is not collected meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _logged_failures(cluster: Cluster) -> Iterator[None]:
    """A failure in the log is a violation, unless it is one of those that the faults bring about."""

    @provider(ILogObserver)
    def observe(event: LogEvent) -> None:
        if str(event.get("log_format")).startswith("ledgers go on without"):
            cluster.history.count("shortage")
        failure = event.get("log_failure")
        if failure is not None and failure.check(BookKeeperError, OSError) is None:
            cluster.checker.fail("log", f"{formatEvent(event)}: {failure.getTraceback()}")

    globalLogPublisher.addObserver(observe)
    try:
        yield
    finally:
        globalLogPublisher.removeObserver(observe)


class _Auditor(Role):
    """Recovers and reads every ledger once the faults are over."""

    name = "a"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, 0)
        self.left = list(cluster.ledger_ids)

    async def act(self) -> None:
        raise NotImplementedError

    async def _run(self) -> None:
        await self.node.start()
        while self.left:
            for ledger_id in list(self.left):
                if self.checker.ledger(ledger_id).deleted:
                    self.left.remove(ledger_id)
                    continue
                reader = await recover(self, ledger_id)
                if reader is not None and await read_all(self, reader):
                    self.left.remove(ledger_id)
            if self.left:
                await self.node.sleep(2)


class _Run:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sim = cluster.world.sim

    def run(self) -> None:
        cluster, scenario = self._cluster, self._cluster.scenario
        for bookie in cluster.bookies:
            bookie.start()
        if self._pass(WARM_UP):
            roles: list[type[Role]] = [Writer] * scenario.n_writers + [Reader] * scenario.n_readers
            roles += [Recoverer] * scenario.n_recoverers + [Deleter] * scenario.n_deleters
            roles += [TurnTaker] * scenario.n_turn_takers + [ThreadedWriter] * scenario.n_threaded
            roles += [ManyLedgersWriter] * (scenario.many_ledgers is not None)
            for number, role in enumerate(roles):
                role(cluster, number).start()
            if scenario.autorecovery is not None:
                cluster.repairers += [RepairProcess(cluster, n, scenario.autorecovery) for n in range(2)]
                for repairer in cluster.repairers:
                    repairer.start()
            Chaos(cluster).start()
            self._pass(scenario.seconds)
        cluster.heal()
        cluster.history.note("world", "all faults are over")
        self._peace()

    def _pass(self, seconds: float) -> bool:
        if self._cluster.checker.violations:
            return False
        if not self._sim.run_until(self._sim.seconds() + seconds, _MAX_EVENTS):
            self._cluster.checker.fail("liveness", f"{_MAX_EVENTS} events within {seconds} seconds")
        return not self._cluster.checker.violations

    def _peace(self) -> None:
        """Everything ends within a minute, the last reads within one of those before; what was promised is there."""
        checker, history = self._cluster.checker, self._cluster.history
        end = self._sim.seconds() + PEACE
        if not self._pass(10):
            return
        auditor = _Auditor(self._cluster)
        auditor.start()
        left = len(auditor.left)
        while auditor.left or history.unended():
            if self._sim.seconds() >= end:
                break
            if not self._pass(1):
                return
            if len(auditor.left) < left:  # it takes them one after the other, and there may be many
                left, end = len(auditor.left), self._sim.seconds() + PEACE
        for call in history.unended():
            if call.began > end - _LONGEST_CALL:
                continue
            what = f"{call.kind} of {call.client} on ledger {call.ledger_id} at {call.began - START:.4f}"
            checker.fail("liveness", f"{what} never ended")
        for ledger_id in auditor.left:
            checker.fail("S12", f"ledger {ledger_id} cannot be recovered and read")
        for bookie in self._cluster.bookies:
            if not bookie.serving and not bookie.gone:
                checker.fail("liveness", f"{bookie.bookie_id} does not serve")
        if not checker.violations and self._repair():
            self._check_disks()

    def _repair(self) -> bool:
        """Autorecovery, where there is any, comes to its end; whether it did."""
        if not self._cluster.repairers:
            return True
        repair, end = RepairEnd(self._cluster), self._sim.seconds() + REPAIR
        while not repair.reached():
            if self._sim.seconds() >= end:
                self._cluster.checker.fail("liveness", f"autorecovery does not end: {repair.what_is_left()}")
                return False
            if not self._pass(1):
                return False
        return True

    def _check_disks(self) -> None:
        """Every acknowledged entry is really on an ack quorum of its bookies (S16), as they said (S1); after
        autorecovery it is on its full write set."""
        bookies = {bookie.bookie_id: bookie for bookie in self._cluster.bookies if not bookie.gone}
        for ledger in self._cluster.checker.ledgers.values():
            if ledger.metadata is not None and not ledger.deleted:
                for entry_id in range(ledger.acked + 1):
                    self._check_entry(ledger, entry_id, bookies)

    def _check_entry(self, ledger: Ledger, entry_id: int, bookies: dict[str, BookieNode]) -> None:
        metadata = ledger.metadata
        assert metadata is not None
        repaired = bool(self._cluster.repairers)  # a bookie may have an entry that it could not acknowledge
        found = [
            bookie_id
            for bookie_id in ledger.write_set(entry_id)
            if bookie_id in bookies
            and (repaired or bookie_id in ledger.holders[entry_id])
            and _holds(bookies[bookie_id], ledger, entry_id)
        ]
        wanted = metadata.write_quorum_size if repaired else metadata.ack_quorum_size
        if len(found) < wanted:
            self._cluster.checker.fail("S16", f"entry {entry_id} of ledger {ledger.ledger_id} is on {found} only")


def _holds(bookie: BookieNode, ledger: Ledger, entry_id: int) -> bool:
    assert bookie.process is not None and bookie.process.store is not None
    storage = bookie.process.store.storage
    run = storage.cached(ledger.ledger_id, entry_id) or storage.load(ledger.ledger_id, entry_id, 1)
    return run is not None and run.entry(entry_id).endswith(ledger.payloads[entry_id])


def _count_bookies(cluster: Cluster) -> None:
    history = cluster.history
    for bookie in cluster.bookies:
        operations = bookie.disk.operations
        names = [operation.path for operation in operations if operation.name == "create"]
        process = bookie.process
        maintenance = process.maintenance if process is not None else None
        for path, count in (
            ("restart", bookie.starts - 1),
            ("rotation", max(0, sum(name.endswith(".log") for name in names) - 1)),
            ("compaction", sum(op.name == "rename" and op.path.endswith(".compacting") for op in operations)),
            ("removal of a log", sum(op.name == "unlink" and op.path.endswith(".log") for op in operations)),
            ("deletion of a ledger", maintenance.collector.state.deleted_ledgers if maintenance is not None else 0),
            ("replay", bool(process is not None and process.store is not None and process.store.n_replayed)),
        ):
            if count:
                history.counters[path] = history.counters.get(path, 0) + int(count)
    if cluster.world.metadata.lost:
        history.counters["unknown outcome"] = cluster.world.metadata.lost

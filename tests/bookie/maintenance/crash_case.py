"""A bookie with its background work on a simulated disk, and the check of what is left after a crash.

Beside the facts of :mod:`tests.bookie.crash_life`: ``("deleted", ledger)``, metadata does not know it any more;
``("elsewhere", ledger)``, other bookies are to keep what was acknowledged of it until then; ``("marked", ledger)``, as
damage was found in it.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any

import attrs
from twisted.internet.task import Clock

from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.ledger_collector import Cluster
from bookkeeper_twisted.bookie.maintenance.maintenance import Maintenance, MaintenanceOptions
from bookkeeper_twisted.errors import LedgerFencedError, LedgerLockedError, MetadataError, NoSuchLedgerMetadataError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import LedgerMetadata, Segment
from bookkeeper_twisted.storage.ledger_dirs import entry_log_ids

from ...simulated_disk.crash import Facts
from ...simulated_disk.sim_disk import SimDisk
from ..crash_life import KEY, Life, Parts, allowed_copies, check_nothing_foreign, found_entry, run

OPTIONS = MaintenanceOptions(CollectorOptions(major=CompactionKind(0.9, 1e9), minor=CompactionKind(0.2, 1e9)))


OPEN = LedgerMetadata(1, 1, 1, (Segment(0, ("b:1",)),))


class Ledgers:
    """The ledgers that metadata knows: all but the deleted ones.

    :ivar listed: how many ids a listing gives before it ends; None: all.
    """

    def __init__(self, deleted: Callable[[], set[int]], listed: int | None = None) -> None:
        self.deleted = deleted
        self.listed = listed
        self.read_ids: list[int] = []
        self.calls: list[str] = []
        self.changes: dict[int, dict[str, Any]] = {}

    async def sync(self) -> None:
        """Nothing lags behind."""
        self.calls.append("sync")

    async def read(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        """Metadata of an open ledger here, with changes."""
        self.calls.append("read")
        self.read_ids.append(ledger_id)
        if ledger_id in self.deleted():
            raise NoSuchLedgerMetadataError(str(ledger_id))
        return Versioned(attrs.evolve(OPEN, **self.changes.get(ledger_id, {})), 0)

    async def ledger_ids(self, first: int, last: int) -> AsyncIterator[int]:
        """Ids in a range."""
        self.calls.append("list")
        ids = [ledger_id for ledger_id in range(first, last + 1) if ledger_id not in self.deleted()]
        for ledger_id in ids[: self.listed]:
            yield ledger_id


class Locks:
    """Replication locks; those of ``held`` are held by others."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.held: set[int] = set()
        self.taken: list[int] = []
        self.marks: list[tuple[int, tuple[str, ...], int | None]] = []
        self.failures = 0

    async def mark(self, ledger_id: int, replicas: Collection[str] = (), ctime: int | None = None) -> None:
        """Mark a ledger; fails as often as ``failures`` says."""
        if self.failures:
            self.failures -= 1
            raise MetadataError("away")
        self.marks.append((ledger_id, tuple(replicas), ctime))
        self._facts.append(("marked", ledger_id))

    async def lock(self, ledger_id: int, holder: str) -> None:
        """Take a lock."""
        if ledger_id in self.held:
            raise LedgerLockedError(str(ledger_id))
        self.held.add(ledger_id)
        self.taken.append(ledger_id)

    async def unlock(self, ledger_id: int) -> None:
        """Release it; fails as often as ``failures`` says."""
        if self.failures:
            self.failures -= 1
            raise MetadataError("away")
        self.held.discard(ledger_id)

    def watch_lost_locks(self, listener: Callable[[], None]) -> Callable[[], None]:
        """No lock is ever lost."""
        return lambda: None


def deleted_in(facts: Facts) -> set[int]:
    """The ledgers that metadata doesn't know any more."""
    return {fact[1] for fact in facts if fact[0] == "deleted"}


class MaintainedLife(Life):
    """One process, with its background work."""

    def __init__(
        self, disk: SimDisk, facts: Facts, parts: Parts, ledgers: Ledgers | None = None,
        options: MaintenanceOptions = OPTIONS, now: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(disk, facts, parts)
        self.disk = disk
        self.ledgers = ledgers or Ledgers(lambda: deleted_in(self.facts))
        self.cluster_id = "instance"
        self.locks = Locks(self.facts)
        cluster = Cluster("b:1", self.ledgers, self.locks, self._instance_id, "instance")  # type: ignore[arg-type]
        self.clock = Clock()
        self.clock.advance(now)
        self.maintenance = Maintenance(
            disk, self.store.storage, self.engine, self.executor, self.clock, cluster, options
        )
        self.maintenance.start()

    async def _instance_id(self) -> str:
        return self.cluster_id

    def log_sizes(self) -> list[int]:
        """The sizes of all entry logs."""
        paths = [
            f"{directory.path}/{log_id:x}.log"
            for directory, log_ids in zip(self.store.storage.directories, self.logs(), strict=True)
            for log_id in log_ids
        ]
        return [self.disk.open(path).size() for path in paths]

    def delete(self, *ledger_ids: int) -> None:
        """Delete ledgers from metadata."""
        self.facts += [("deleted", ledger_id) for ledger_id in ledger_ids]

    def replace(self, ledger_id: int) -> None:
        """Delete a ledger that other bookies keep, as far as metadata says."""
        self.facts.append(("elsewhere", ledger_id))
        assert self.bookie.forget([ledger_id], 1, True) == [ledger_id]

    def wait(self, seconds: float) -> None:
        """Let time pass, and do what is then due."""
        self.clock.advance(seconds)
        self.drain()

    def collect(self) -> None:
        """One forced run of the garbage collection, major compaction included."""
        self.maintenance.collector.force()
        self.drain()

    def collect_with_late_commits(self, ended: Callable[[], bool] = lambda: False) -> None:
        """A forced run in which nothing is done in the flush thread while there is other work.

        :param ended: whether to leave the rest for later.
        """
        self.maintenance.collector.force()
        while self.executor.queued and not ended():
            if not self.step_beside_flushes():
                self.executor.step()

    def step_beside_flushes(self) -> bool:
        """Do the oldest work that is not in the flush thread of a directory.

        :returns: whether there was some.
        """
        others = [thread for thread in self.executor.busy_threads() if not thread.startswith("flush-")]
        return bool(others) and self.executor.step(others[0])

    def is_copying(self) -> bool:
        """Whether a compaction is writing a log."""
        names = [name for directory in self.store.storage.directories for name in self.disk.list(directory.path)]
        return any(name.endswith(".compacting") for name in names)

    def new_logs(self) -> list[int]:
        """Logs of the first directory that the index refers to nowhere, without the one that entries are written to."""
        directory = self.store.storage.directories[0]
        known = {*directory.index.live(), directory.log.active_log_id}
        return [log_id for log_id in self.logs()[0] if log_id not in known]

    def logs(self) -> list[list[int]]:
        """The entry logs of each directory."""
        return [entry_log_ids(self.disk, directory.path) for directory in self.store.storage.directories]


Script = Callable[[MaintainedLife], None]


def owed(facts: Facts) -> list[tuple[Any, ...]]:
    """The facts that bind this bookie: not the acknowledgements of entries that others are to keep now."""
    since = {fact[1]: number for number, fact in enumerate(facts) if fact[0] == "elsewhere"}
    return [fact for number, fact in enumerate(facts) if fact[0] != "acked" or number > since.get(fact[1], -1)]


def maintained(
    *scripts: Script, parts: Parts | None = None, first: Parts | None = None
) -> Callable[[SimDisk, Facts], None]:
    """A workload: each script in a process of its own, killed at its end; the first one has the parts ``first``."""

    def work(disk: SimDisk, facts: Facts) -> None:
        for number, script in enumerate(scripts):
            script(MaintainedLife(disk, facts, (first if number == 0 else None) or parts or Parts()))
            disk.kill()

    return work


def maintained_verifier(parts: Parts) -> Callable[[SimDisk, Facts], None]:
    """The recovery: starts, checks every promise, collects garbage, checks again and looks for left-over files."""

    def recover(disk: SimDisk, facts: Facts) -> None:
        life = MaintainedLife(disk, list(facts), parts)
        check_live(life, facts)
        check_damage(life, facts)
        life.collect()
        life.collect()  # the first run moves the last rows, so the second finds all logs sealed
        check_live(life, facts)
        check_deleted(life, facts)
        check_files(life)

    return recover


def check_live(life: MaintainedLife, facts: Facts) -> None:
    """:raises AssertionError: something acknowledged of a live ledger is lost, or a fence (S1, S3, S8, S9)."""
    allowed = allowed_copies(facts)
    deleted = deleted_in(facts)
    storage = life.store.storage
    for kind, ledger_id, *rest in owed(facts):
        row = storage.ledger(ledger_id)
        live = ledger_id not in deleted
        if kind == "acked" and live and found_entry(life, ledger_id, rest[0]) not in allowed[ledger_id, rest[0]]:
            raise AssertionError(f"acknowledged entry {ledger_id}/{rest[0]} is lost or changed")
        if kind == "fenced" and not (row is not None and row.fenced) and (live or not storage.was_fenced(ledger_id)):
            raise AssertionError(f"the fence of {ledger_id} is lost: {row}")
    check_nothing_foreign(life, allowed)


def check_deleted(life: MaintainedLife, facts: Facts) -> None:
    """:raises AssertionError: a deleted ledger is still known, or a fenced one takes adds again (S3)."""
    fenced = {fact[1] for fact in facts if fact[0] == "fenced"}
    for ledger_id in deleted_in(facts):
        if life.store.storage.ledger(ledger_id) is not None:
            raise AssertionError(f"ledger {ledger_id} is still known")
        if ledger_id in fenced:
            _check_refused(life, ledger_id)


def _check_refused(life: MaintainedLife, ledger_id: int) -> None:
    """A late recovery add does not bring the ledger back."""
    outcome: list[Exception | None] = []
    life.bookie.add(run(ledger_id, 99), KEY, True, False, False, lambda part, error: outcome.append(error))
    life.drain()
    if not isinstance(outcome[0], LedgerFencedError):
        raise AssertionError(f"an add to the deleted, fenced ledger {ledger_id} ended with {outcome}")


def check_damage(life: MaintainedLife, facts: Facts) -> None:
    """:raises AssertionError: damage is not known any more; its underreplicated mark may be lost with the metadata."""
    life.drain()
    known = {found.ledger_id for findings in life.maintenance.scrubber.findings.values() for found in findings}
    unknown = {fact[1] for fact in facts if fact[0] == "marked"} - known
    if unknown:
        raise AssertionError(f"nothing is known of the damage of {unknown}")


def check_files(life: MaintainedLife) -> None:
    """:raises AssertionError: there are files that nothing needs, or damage was found."""
    for directory, maintained in zip(life.store.storage.directories, life.maintenance.directories, strict=True):
        names = [name for name in life.disk.list(directory.path) if name.endswith(".compacting")]
        live = set(directory.index.live()) | {directory.log.active_log_id}
        unneeded = set(entry_log_ids(life.disk, directory.path)) - live
        if names or unneeded or maintained.damaged:
            raise AssertionError(f"left over: {names} {unneeded}, damaged: {maintained.damaged}")


def steps(life: MaintainedLife, turns: Sequence[int], ledgers: Sequence[int] = (1, 2, 3, 4)) -> None:
    """Entries of some ledgers in turn, a checkpoint after each turn."""
    for turn in turns:
        for ledger_id in ledgers:
            life.add(run(ledger_id, turn * 3, 3, size=150))
        life.drain()
        life.checkpoint()

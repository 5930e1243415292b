"""Deliberate defects, each of which the simulation has to notice.

A plant replaces one method, or one rule, by one that makes a mistake somebody has made before.  With it
come the conditions under which the mistake matters, so that it does not take long to meet them.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed

from bookkeeper_twisted.autorecovery.replication.copying import FragmentCopy
from bookkeeper_twisted.autorecovery.replication.worker import ReplicationWorker
from bookkeeper_twisted.bookie.bookie import Bookie
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.group_commit import CommitOptions
from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.maintenance import MaintenanceOptions
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.recovery.write_back import WriteBack
from bookkeeper_twisted.client.writing import base_writer, batchers, ensemble_change
from bookkeeper_twisted.client.writing.batch import Batch, BatchRequest
from bookkeeper_twisted.client.writing.ensemble_change import (
    StoredEnsembleChange,
    find_substitutes,
    substituted,
    with_segment,
)
from bookkeeper_twisted.client.writing.states import CHANGING
from bookkeeper_twisted.codec.adds import mix_headers, seal_adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.entries.entry_run import ENTRY_HEADER_SIZE, EntryRun
from bookkeeper_twisted.errors import MetadataError, MetadataVersionError
from bookkeeper_twisted.ledger.lac_answers import LacAnswers, LastConfirmed
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.ledger.tally import AckTally
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.update_loop import update
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.protocol.client.sent_adds import SentAdds

from .cluster import Parts
from .scenario import Scenario
from .world import BookieSettings


@attrs.frozen
class Plant:
    """One defect.

    :ivar invariants: which of them may notice it.
    :ivar conditions: of the scenario, in the place of what a seed draws.
    :ivar patches: what is replaced: owner, name, replacement.
    :ivar rules: of recoveries.
    """

    name: str
    invariants: Sequence[str]
    conditions: Mapping[str, Any]
    patches: Sequence[tuple[object, str, Any]] = ()
    rules: type[RecoveryRules] = RecoveryRules

    @property
    def parts(self) -> Parts:
        """What a cluster is made of."""

        def connect(*args: Any, **named: Any) -> BookKeeper:
            client = BookKeeper(*args, **named)
            client._recovery_rules = self.rules
            return client

        return Parts(connect=connect)

    def scenario(self, seed: int) -> Scenario:
        """The seed's scenario, under the conditions; no bookie collects garbage, as that hides what went wrong."""
        drawn = Scenario.draw(seed)
        drawn = attrs.evolve(drawn, bookie=attrs.evolve(drawn.bookie, maintenance=None), autorecovery=None)
        return attrs.evolve(drawn, **self.conditions)


# ---- rules of recoveries ---------------------------------------------------------------------------------


class FirstErrorEnds(RecoveryRules):
    """One answer that is no entry ends the ledger."""

    def is_negative(self, error: Exception) -> bool:
        return True

    def was_never_acknowledged(self, negatives: int) -> bool:
        return True


class ReadsDoNotFence(RecoveryRules):
    """Only the first read, of the last entry, fences."""

    def __init__(self, metadata: LedgerMetadata) -> None:
        super().__init__(metadata)
        self._fenced = False

    def read_flags(self) -> int:
        if self._fenced:
            return HIGH_PRIORITY
        self._fenced = True
        return super().read_flags()


class StartsTooLate(RecoveryRules):
    """Takes the first entry of the newest ensemble for confirmed."""

    def confirmed(self, heard_lac: int) -> int:
        return max(heard_lac, self.metadata.segments[-1].first_entry_id)


# ---- replaced methods ------------------------------------------------------------------------------------


async def _replace_in_recovery(
    self: Any, failed: Mapping[int, str], first_entry_id: int, excluded: Collection[str] = ()
) -> tuple[str, ...]:
    """Changes the ensemble whatever the state of the ledger is."""
    substitutes = await find_substitutes(self._bookies, self.metadata.value, failed, excluded)

    def needs_change(stored: LedgerMetadata) -> bool:
        newest = stored.segments[-1].bookies
        return stored.state is not LedgerState.CLOSED and substituted(newest, failed, substitutes) != newest

    def change(stored: LedgerMetadata) -> LedgerMetadata:
        ensemble = substituted(stored.segments[-1].bookies, failed, substitutes)
        return attrs.evolve(stored, segments=with_segment(stored.segments, Segment(first_entry_id, ensemble)))

    self.metadata = await update(self._ledgers, self._ledger_id, self.metadata, needs_change, change)
    bookies: tuple[str, ...] = self.metadata.value.segments[-1].bookies
    return bookies


async def _assume_applied(
    manager: Any, ledger_id: int, current: Any, needs_update: Callable[[LedgerMetadata], bool],
    transform: Callable[[LedgerMetadata], LedgerMetadata],
) -> Versioned[LedgerMetadata]:  # fmt: skip
    """A write whose answer was lost has surely been applied."""
    while needs_update(current.value):
        changed = transform(current.value)
        try:
            stored: Versioned[LedgerMetadata] = await manager.write(ledger_id, changed, current.version)
            return stored
        except MetadataVersionError:
            current = await manager.read(ledger_id)
        except MetadataError:
            return Versioned(changed, current.version + 1)
    result: Versioned[LedgerMetadata] = current
    return result


async def _close_whatever(
    ledgers: Any, ledger_id: int, known: Versioned[LedgerMetadata], last_entry_id: int, length: int
) -> Versioned[LedgerMetadata]:
    """The writer knows best where its ledger ends."""

    def differs(stored: LedgerMetadata) -> bool:
        return (stored.state, stored.last_entry_id, stored.length) != (LedgerState.CLOSED, last_entry_id, length)

    def closed(stored: LedgerMetadata) -> LedgerMetadata:
        return attrs.evolve(stored, state=LedgerState.CLOSED, last_entry_id=last_entry_id, length=length)

    return await update(ledgers, ledger_id, known, differs, closed)


async def _keep_in_mind(self: Any, run: EntryRun) -> None:
    """Entries that were found are surely where they belong."""
    self._writer.completed = run.last
    self._writer.length = self._digester.entry(run.ledger_id, run.last, run.entry(run.last)).length


def _count_answers(self: Schedule, heard: Collection[int]) -> bool:
    """Any bookies will do to cover the ensemble, if they are enough for one write set."""
    return len(heard) > self.write_quorum - self.ack_quorum


def _fence_at_once(self: Bookie, ledger_id: int, master_key: bytes) -> "Deferred[None]":
    """The fence is in memory; what can go wrong?"""
    _FENCE(self, ledger_id, master_key).addErrback(lambda _: None)
    return succeed(None)


_FENCE = Bookie.fence


def _newest_is_confirmed(self: LacAnswers, bookie_id: str, known: LastConfirmed) -> None:
    """The last entry a bookie has is surely confirmed."""
    _HEARD(self, bookie_id, attrs.evolve(known, last_add_confirmed=known.entry_id))


_HEARD = LacAnswers.heard


def _count_twice(self: AckTally, voter: Hashable, index_set: int) -> int:
    """One acknowledgement is as good as two."""
    return _ACKNOWLEDGE(self, voter, index_set) | _ACKNOWLEDGE(self, (voter, "again"), index_set)


_ACKNOWLEDGE = AckTally.acknowledge


def _forget_acks(self: Batch[Any], bookie_id: str, index_set: int) -> None:
    """Where one bookie is replaced, all begin anew."""
    for request in self._requests:
        self._tally.replace(request.number, index_set)


def _confirm_at_once(*columns: Sequence[int]) -> bytes:
    """An entry is as good as confirmed."""
    ledger_ids, entry_ids, _, lengths = columns
    return mix_headers(ledger_ids, entry_ids, entry_ids, lengths)


def _seal_again(self: Batch[Any], changes: Iterable[tuple[str, str, Sequence[int]]]) -> list[BatchRequest]:
    """What is sent again is sealed again, with a length that is not the same."""
    adds, notice = self.adds, self.owners[0].notice if self.sent else None
    if adds is not None and notice is not None:
        digester = notice.digester
        columns = adds.ledger_ids, adds.entry_ids, [-1] * len(adds), [length + 1 for length in self.lengths]
        payloads = [entry[ENTRY_HEADER_SIZE + digester.size :] for entry in adds.entries()]
        self.adds = seal_adds(digester, adds.ledger_ids, adds.entry_ids, mix_headers(*columns), payloads)
    return _REPLACE(self, changes)


_REPLACE = Batch.replace


def _confirmed_in_turn(self: SentAdds, data: bytes, at: int) -> range:
    """Replies come in the order of requests."""
    first, count, head, size = self.n_answered, 0, self.replies[:12], len(self.replies) // self.count
    while count < self.left and data.startswith(head, at + count * size):
        count += 1
    self.n_answered += count
    return range(first, first + count)


async def _copy_nothing(self: FragmentCopy, plan: Iterable[object]) -> None:
    """The metadata first; the entries can follow."""


# ---- the plants ------------------------------------------------------------------------------------------

_QUIET = {"n_readers": 0, "n_deleters": 0, "mean_pause": 0.05, "seconds": 10.0}
_RECOVERED = {**_QUIET, "n_writers": 3, "n_recoverers": 3, "mean_recovery": 0.5, "mean_fault": 1.0}
_SPARES = {**_QUIET, "n_bookies": 6, "quorums": [(3, 3, 2), (4, 2, 2)], "mean_fault": 1.0}
_UNSYNCED = EngineOptions(commit=CommitOptions(sync_data=False, sync_interval=30.0))

_DELETING = MaintenanceOptions(
    CollectorOptions(0.3, CompactionKind(0.3, 3600), CompactionKind(0.8, 3600)), over_replicated_wait=0.3
)
"""Bookies that delete at once what their clusters do not expect them to keep."""
_SLOW_COPIES = AutorecoveryConfig(
    open_ledger_rereplication_grace_period=500, replication_write_rate_by_entries=20, rereplication_entry_batch_size=2,
    auditor_periodic_check_interval=3,
)

_SHARED = ClientConfig(
    max_connections_per_bookie=2, add_entry_timeout_sec=1.0, read_entry_timeout_sec=1.0,
    client_connect_timeout_millis=500,
)  # fmt: skip
_MANY = {**_SPARES, "n_writers": 0, "many_ledgers": _SHARED}

PLANTS = (
    Plant(
        "ack counted for a replaced bookie", ("S16",), {**_SPARES, "faults": ["slow link", "pause", "reset"]},
        [(Batch, "_take_back", lambda self, bookie_id, index_set: None)],
    ),
    Plant(
        "recovery stops at the first error", ("S12", "S14"), {**_RECOVERED, "faults": ["kill", "pause", "partition"]},
        rules=FirstErrorEnds,
    ),
    Plant(
        "recovery reads do not fence", ("S12", "S14"),
        {**_RECOVERED, "n_bookies": 3, "quorums": [(3, 3, 2)], "faults": ["aimed at recoveries"], "mean_fault": 0.1},
        rules=ReadsDoNotFence,
    ),
    Plant(
        "recovery starts after the newest ensemble's first entry", ("S12", "S14", "S17"),
        {**_SPARES, "n_recoverers": 3, "mean_recovery": 0.5, "faults": ["kill", "partition"]}, rules=StartsTooLate,
    ),
    Plant(
        "the LAC moves during an ensemble change", ("S15", "S16"),
        {**_SPARES, "faults": ["kill", "partition", "reset"]},
        [(CHANGING, "completes", True)],
    ),
    Plant(
        "coverage by count", ("S12", "S13", "S14"),
        {**_SPARES, "quorums": [(5, 2, 2), (4, 2, 1)], "n_readers": 3, "faults": ["slow link"]},
        [(Schedule, "is_covered", _count_answers)],
    ),
    Plant(
        "a writer changes the ensemble of a ledger in recovery", ("S12", "S14", "S15", "S16", "S17"),
        {**_RECOVERED, "n_bookies": 6, "quorums": [(3, 3, 2), (3, 2, 2)], "faults": ["kill", "reset", "slow link"]},
        [(StoredEnsembleChange, "replace", _replace_in_recovery)],
    ),
    Plant(
        "bookies acknowledge fences before they are durable", ("S3", "S12", "S14"),
        {**_RECOVERED, "faults": ["power", "power in the middle of work", "slow disk"]},
        [(Bookie, "fence", _fence_at_once)],
    ),
    Plant(
        "recovery closes without writing back", ("S17",),
        {**_RECOVERED, "faults": ["kill", "slow link", "client kill"]},
        [(WriteBack, "add", _keep_in_mind)],
    ),
    Plant(
        "an ensemble change of unknown outcome is taken for applied", ("S16",),
        {**_SPARES, "faults": ["metadata lost", "reset", "kill"]}, [(ensemble_change, "update", _assume_applied)],
    ),
    Plant(
        "a writer closes over another end", ("S14",), {**_RECOVERED, "faults": ["slow link", "partition"]},
        [(base_writer, "close_ledger", _close_whatever)],
    ),
    Plant(
        "the last entry of a bookie is taken for confirmed", ("S12", "S13", "S14", "S16"),
        {**_SPARES, "n_readers": 3, "faults": ["slow link", "pause"]},
        [(LacAnswers, "heard", _newest_is_confirmed)],
    ),
    Plant(
        "bookies acknowledge adds before they are durable", ("S12", "S16"),
        {**_QUIET, "faults": ["power"], "mean_fault": 0.5, "bookie": BookieSettings(options=_UNSYNCED)},
    ),
    Plant(
        "digests are not verified", ("S18",), {"n_readers": 3, "faults": ["wrong data"], "mean_fault": 0.5},
        [(Digester, "verify", lambda self, run: None)],
    ),
    Plant(
        "acks of a batch are counted twice", ("S16",), {**_MANY, "faults": ["slow link", "reset"]},
        [(AckTally, "acknowledge", _count_twice)],
    ),
    Plant(
        "an entry that is sent to a new bookie forgets its acks", ("liveness",),
        {**_MANY, "quorums": [(3, 3, 3), (4, 2, 2)], "faults": ["slow link", "reset"]},
        [(Batch, "_take_back", _forget_acks)],
    ),
    Plant(
        "a failed entry stays in its batch", ("liveness",), {**_MANY, "faults": ["kill", "reset"]},
        [(Batch, "failed", lambda self, request, index_set, error: None)],
    ),
    Plant(
        "entries of a batch are confirmed by themselves", ("S13", "S16"),
        {**_MANY, "n_readers": 3, "faults": ["slow link"]}, [(batchers, "mix_headers", _confirm_at_once)],
    ),
    Plant(
        "an entry that is sent again has another length", ("S14",), {**_MANY, "faults": ["reset"]},
        [(Batch, "replace", _seal_again)],
    ),
    Plant(
        "metadata change before entries are copied", ("S19",),
        {
            **_SPARES, "quorums": [(3, 3, 2), (3, 2, 2)], "faults": ["bookie lost"],
            "autorecovery": AutorecoveryConfig(open_ledger_rereplication_grace_period=500),
        },
        [(FragmentCopy, "run", _copy_nothing)],
    ),
    Plant(
        "a worker goes on without its lock", ("S19", "S16"),
        {
            **_SPARES, "quorums": [(3, 3, 2), (3, 2, 2)], "faults": ["bookie lost", "autorecovery expiry"],
            "bookie": BookieSettings(maintenance=_DELETING), "autorecovery": _SLOW_COPIES,
        },
        [(ReplicationWorker, "_cancel_jobs", lambda self: None)],
    ),
    Plant(
        "replies to adds are taken to be in order", ("S13", "S16", "S14", "liveness"),
        {**_MANY, "faults": ["slow disk"], "bookie": BookieSettings(n_journals=2)},
        [(SentAdds, "confirmed", _confirmed_in_turn)],
    ),
)  # fmt: skip

"""Copies entries by a plan: reads them from any replica, verifies them, and sends them unchanged to other bookies.

A target is a bookie that receives copies.  A window is a limited number of entries that are read together.  While one
window is written, the next one is read.  If every bookie of the ensemble stores every entry, a window is read by one
batch read, and all targets receive the same bytes.  In a striped ledger, a window is read by single reads, and each
target receives the entries that its position in the ensemble stores.  After a write to a target has failed, that target
receives no further entries.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from ...client.reading.context import ReadingContext
from ...client.reading.replica_reads import ReplicaReader
from ...client.steps import for_each
from ...codec.adds import ENTRY_AT, Adds, scattered_adds, stored_adds
from ...codec.digest import Digester
from ...codec.operations import RECOVERY_ADD
from ...entries.entry_run import EntryRun
from ...errors import BookKeeperError, ClientClosedError
from ...ledger.copy_plan import CopyRun
from ...ledger.read_answers import MAX_SINGLE_READS, NO_COPY, least_certain, usual_size_of
from ...ledger.schedule import schedule_of
from ...limits.throttle import Throttle
from ...model import LedgerMetadata
from ..interfaces import repair_of
from ..limits import piece
from ..metrics import ReplicationMetrics
from ..retries import Retries, is_transient

_PROBE_SECONDS = 0.1


@attrs.frozen
class CopySettings:
    """The settings of the copying of entries.

    :ivar window_entries: maximum number of entries that are read and written at a time
        (``rereplicationEntryBatchSize``).
    :ivar window_bytes: maximum number of bytes that are read and written at a time; a low speed limit may reduce this
        number.
    :ivar max_unreadable: number of unreadable entries after which the copying of a fragment ends.
    """

    window_entries: int = 1000
    window_bytes: int = 1 << 20
    max_unreadable: int = 100
    retries: Retries = attrs.field(factory=Retries)


@attrs.frozen
class CopyLimits:
    """The speed limits of the copying of entries.

    :ivar reads: the limit of entries and bytes that are read.
    :ivar writes: the limit of entries and bytes that are written; an entry for two bookies counts twice.
    """

    reads: Throttle
    writes: Throttle


class LatencyProbe:
    """Decides when to copy only one entry, to measure the latency of bookies.

    The latency of a request for one entry is comparable to the latency of a client's request.  The latency of a request
    for many entries depends mostly on their size.

    :param is_wanted: tests whether the latency must be measured, because an upper bound for it is configured.
    """

    def __init__(self, clock: IReactorTime, is_wanted: Callable[[], bool]) -> None:
        self._clock = clock
        self._is_wanted = is_wanted
        self._next = 0.0

    def is_due(self) -> bool:
        """Test whether the next copy should be of one entry only, to measure the latency.

        The result is True at most ten times a second, counted over all callers.
        """
        now = self._clock.seconds()
        if now < self._next or not self._is_wanted():
            return False
        self._next = now + _PROBE_SECONDS
        return True


Load = tuple[tuple[str, ...], Adds]
"""The ids of the bookies to which adds are sent, and the encoded adds."""


Copied = Callable[[int, int], None]
"""A function that is called with the number of entries and the number of bytes after a bookie has stored copies."""


class FragmentCopy:
    """The copying of the entries of one fragment.

    :param context: the client's objects for reads.  Its attribute ``bookies``, which sends requests to bookies, is used
        for no other fragment.
    :param copied: called with the number of entries and bytes after a bookie has stored copies.
    :ivar failed: the error of each target (bookie that receives copies) that could not store its entries, by bookie id.
    :ivar unreadable: the error of each entry of which no bookie has an undamaged copy, by entry id.
    """

    def __init__(
        self, context: ReadingContext, ledger_id: int, metadata: LedgerMetadata, limits: CopyLimits,
        metrics: ReplicationMetrics, settings: CopySettings, probe: LatencyProbe | None, copied: Copied,
    ) -> None:  # fmt: skip
        self.failed: dict[str, Exception] = {}
        self.unreadable: dict[int, Exception] = {}
        self._context = context
        self._clock = context.clock
        self._ledger_id = ledger_id
        self._user = repair_of(ledger_id)
        self._digester = Digester(metadata.digest_type, metadata.password)
        self._striped = schedule_of(metadata).striped
        self._replicas = ReplicaReader(context, self._digester, ledger_id, metadata, choose=least_certain)
        self._limits = limits
        self._metrics = metrics
        self._settings = settings
        self._probe = probe
        self._copied = copied
        self._usual_size = usual_size_of(metadata)

    async def run(self, plan: Iterator[CopyRun]) -> None:
        """Copy the entries of a plan; store the errors of entries in :attr:`unreadable`, of bookies in :attr:`failed`.

        :param plan: runs (consecutive entries) with the bookies that receive the copies, in ascending order.
        :raises bookkeeper_twisted.errors.BookKeeperError: it is unknown whether bookies have entries, because they did
            not answer after several tries, or refused to answer.
        """
        writing: Deferred[None] | None = None
        try:
            async for loads in self._striped_loads(plan) if self._striped else self._loads(plan):
                if writing is not None:
                    await writing
                writing = Deferred.fromCoroutine(self._write(loads))
            if writing is not None:
                await writing
        finally:
            if writing is not None:
                writing.addErrback(lambda _: None)
                writing.cancel()

    @property
    def _given_up(self) -> bool:
        return len(self.unreadable) >= self._settings.max_unreadable

    def _alive(self, targets: Sequence[str]) -> tuple[str, ...]:
        return tuple(target for target in targets if target not in self.failed)

    # ---- reads ---------------------------------------------------------------------------------------

    async def _loads(self, plan: Iterator[CopyRun]) -> AsyncIterator[list[Load]]:
        """Read the planned entries by batch reads, and yield the adds that copy them; the ledger is not striped."""
        for run in plan:
            at = run.first
            while at <= run.last and not self._given_up and self._alive(run.targets):
                got = await self._fetch(at, run.last - at + 1)
                if got is None:
                    at += 1
                    continue
                yield [(run.targets, stored_adds(self._digester.master_key, got, RECOVERY_ADD))]
                at = got.last + 1

    async def _fetch(self, first: int, count: int) -> EntryRun | None:
        """Read consecutive entries, from ``first`` upwards; return None if no replica has the entry ``first``."""
        for attempt in range(self._settings.retries.attempts):
            entries, n_bytes = self._room()
            entries = min(entries, count)
            paid = await self._pay(self._usual_size.entries_in(n_bytes, entries))
            began, run = self._clock.seconds(), None
            try:
                run = await self._replicas.fetch(first, entries, n_bytes)
            except ClientClosedError:
                raise
            except BookKeeperError as error:
                self._metrics.read_latency.failure.record(self._ms_since(began))
                if isinstance(error, NO_COPY):
                    self._note_unreadable(first, error)
                    return None
                if not is_transient(error):
                    raise
                failure = error
            finally:
                self._count_read(paid, *((0, 0) if run is None else (run.count, run.size - 4 * run.count)), began)
            if run is not None:
                return run
            await self._pause(attempt, failure)
        return None  # never reached, because _pause() raises the error of the last attempt

    async def _striped_loads(self, plan: Iterator[CopyRun]) -> AsyncIterator[list[Load]]:
        """Read the planned entries of a striped ledger by single reads, a limited number of entries at a time.

        For each group of entries that were read together, yield the adds to send to each target bookie.
        """
        wanted: dict[int, tuple[str, ...]] = {}
        for run in plan:
            if self._given_up:
                break
            if not self._alive(run.targets):
                continue  # skip this run, because each of its target bookies has failed; later runs may have others
            for entry_id in range(run.first, run.last + 1):
                wanted[entry_id] = run.targets
                if len(wanted) >= self._singles():
                    yield await self._striped_load(wanted)
                    wanted = {}
        if wanted:
            yield await self._striped_load(wanted)

    async def _striped_load(self, wanted: Mapping[int, tuple[str, ...]]) -> list[Load]:
        stored = await self._fetch_each(list(wanted))
        by_target: dict[str, list[int]] = {}
        for entry_id, targets in wanted.items():
            if entry_id in stored:
                for target in targets:
                    by_target.setdefault(target, []).append(entry_id)
        key = self._digester.master_key
        return [
            ((target,), scattered_adds(key, self._ledger_id, ids, [stored[i] for i in ids], RECOVERY_ADD))
            for target, ids in by_target.items()
        ]

    async def _fetch_each(self, wanted: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for attempt in range(self._settings.retries.attempts):
            paid = await self._pay(len(wanted))
            began = self._clock.seconds()
            stored: Mapping[int, bytes] = {}
            try:
                stored, errors = await self._replicas.fetch_each(wanted)
            finally:
                self._count_read(paid, len(stored), sum(map(len, stored.values())), began)
            found.update(stored)
            wanted = [entry_id for entry_id, error in errors.items() if is_transient(error)]
            for entry_id, error in errors.items():
                if isinstance(error, NO_COPY):
                    self._note_unreadable(entry_id, error)
                elif not is_transient(error):
                    raise error
            if not wanted:
                break
            await self._pause(attempt, errors[wanted[0]])
        return found

    def _room(self) -> tuple[int, int]:
        """Return the maximum number of entries and of bytes to read and copy in the next step."""
        settings, limits = self._settings, self._limits
        most = 1 if self._probe is not None and self._probe.is_due() else settings.window_entries
        return piece(most, settings.window_bytes, limits.reads, limits.writes)

    def _singles(self) -> int:
        """Return the number of single reads to send together, by the expected size of an entry."""
        entries, n_bytes = self._room()
        return self._usual_size.entries_in(n_bytes, min(entries, MAX_SINGLE_READS))

    async def _pay(self, entries: int) -> tuple[int, int]:
        """Wait until the speed limit allows a read of some entries.

        Return the expected numbers of entries and bytes in the reply.
        """
        expected = entries, entries * self._usual_size.n_bytes
        await self._limits.reads.acquire(expected[1], entries, self._user)
        return expected

    def _count_read(self, paid: tuple[int, int], entries: int, n_bytes: int, began: float) -> None:
        """Record the entries that a read has returned in the metrics, and report them to the speed limiter.

        :param paid: the estimated entries and bytes that the speed limiter has counted before the read.
        """
        self._limits.reads.correct(n_bytes - paid[1], entries - paid[0])
        if entries:
            metrics = self._metrics
            metrics.entries_read.value += entries
            metrics.read_bytes.success.record(n_bytes)
            metrics.read_latency.success.record(self._ms_since(began))
            if entries == 1:
                metrics.entry_read_latency.success.record(self._ms_since(began))
            self._usual_size.learn(entries, n_bytes)

    def _note_unreadable(self, entry_id: int, error: Exception) -> None:
        self.unreadable[entry_id] = error
        self._metrics.unreadable.value += 1

    async def _pause(self, attempt: int, error: Exception) -> None:
        """Wait before the next attempt of a read; if this was the last attempt, raise its ``error`` instead."""
        if self._settings.retries.is_last(attempt):
            raise error
        await deferLater(self._clock, self._settings.retries.pause(attempt))

    def _ms_since(self, began: float) -> float:
        return (self._clock.seconds() - began) * 1000

    # ---- writes --------------------------------------------------------------------------------------

    async def _write(self, loads: Sequence[Load]) -> None:
        writes = [(target, adds) for targets, adds in loads for target in self._alive(targets)]
        await for_each(writes, lambda write: self._write_to(*write), max(len(writes), 1))

    async def _write_to(self, target: str, adds: Adds) -> None:
        """Send adds to a bookie, with retries; if an add still fails, record its error in :attr:`failed`."""
        for attempt in range(self._settings.retries.attempts):
            n_bytes = adds.offsets[-1] - ENTRY_AT * len(adds)
            await self._limits.writes.acquire(n_bytes, len(adds), self._user)
            began = self._clock.seconds()
            refused = await self._send(target, adds)
            n_refused = sum(len(indexes) for indexes, _ in refused)
            if n_refused < len(adds):
                stored = n_bytes * (len(adds) - n_refused) // len(adds)
                self._metrics.entries_written.value += len(adds) - n_refused
                self._metrics.written_bytes.success.record(stored)
                self._copied(len(adds) - n_refused, stored)
                self._metrics.write_latency.success.record(self._ms_since(began))
            if len(adds) == 1 and not refused:
                self._metrics.entry_write_latency.success.record(self._ms_since(began))
            if not refused:
                return
            self._metrics.write_latency.failure.record(self._ms_since(began))
            errors = [error for _, error in refused]
            lasting = next((error for error in errors if not is_transient(error)), None)
            if lasting is not None or self._settings.retries.is_last(attempt):
                self.failed[target] = lasting or errors[0]
                return
            await deferLater(self._clock, self._settings.retries.pause(attempt))
            adds = adds.some(sorted(index for indexes, _ in refused for index in indexes))

    def _send(self, target: str, adds: Adds) -> "Deferred[list[tuple[Sequence[int], Exception]]]":
        """Send adds to a bookie, and wait for all answers; return the indexes and the errors of the failed adds."""
        answered: Deferred[list[tuple[Sequence[int], Exception]]] = Deferred()
        refused: list[tuple[Sequence[int], Exception]] = []
        left = len(adds)

        def done(_: str, indexes: Sequence[int], error: Exception | None) -> None:
            nonlocal left
            left -= len(indexes)
            if error is not None:
                refused.append((indexes, error))
            if not left and not answered.called:
                answered.callback(refused)

        self._context.bookies.add(target, adds, done)
        return answered

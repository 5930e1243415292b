"""Reads entries from any replica that has them undamaged.

A read asks the bookies of the write set in the order of :mod:`.read_order`.  It asks the next bookie if a bookie
answers with an error, lacks the entry, has a damaged copy, or is slow (:mod:`.speculation`).  If an entry in a reply is
damaged, only the verified entries before it are returned.  Entries are requested by batch reads.  If the ledger is
striped or the bookies do not answer batch reads, entries are requested by many concurrent reads of one entry.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import chain, repeat
from typing import Any, cast

from twisted.internet.defer import Deferred

from ...codec.digest import Digester
from ...entries.entry_run import EntryRun
from ...errors import BookKeeperError, Status
from ...ledger.batch_support import BatchAttempt
from ...ledger.read_answers import (
    MAX_SINGLE_READS,
    Choose,
    SingleReads,
    UsualSize,
    entry_or_error,
    failed_request,
    most_telling,
    verified_batch,
)
from ...ledger.schedule import schedule_of
from ...model import LedgerMetadata
from ..interfaces import IBookieClient
from ..traces import TracedReads
from .context import ReadingContext
from .speculation import Speculation


async def _all_of(works: Sequence[Coroutine[Deferred[Any], Any, None]]) -> None:
    """Run coroutines concurrently; if one of them fails or this call is cancelled, cancel the others."""
    running = [Deferred.fromCoroutine(work) for work in works]
    try:
        for one in running:
            await one
    finally:
        for one in running:
            one.addErrback(lambda _: None)
            one.cancel()


class ReplicaReader:
    """Reads the entries of one ledger from its replicas; call :meth:`moved` if the ledger's metadata change.

    :param choose: chooses the error to raise from those with which the bookies failed to return an entry.
    :ivar metadata: the metadata, which say which bookies keep the entries.
    :ivar order: decides in which order bookies are asked.
    """

    def __init__(
        self, context: ReadingContext, digester: Digester, ledger_id: int, metadata: LedgerMetadata,
        heard_lac: Callable[[int], None] = lambda lac: None, choose: Choose = most_telling,
    ) -> None:  # fmt: skip
        """:param heard_lac: a function that is called with the LAC that a bookie's reply contains."""
        self.metadata = metadata
        self._clock = context.clock
        self._bookies: IBookieClient | TracedReads = context.bookies
        self._digester = digester
        self._ledger_id = ledger_id
        self._heard_lac = heard_lac
        self._choose = choose
        self._schedule = schedule_of(metadata)
        self.order = context.read_order(self._schedule)
        self._patience = context.read_patience
        self._support = context.batch_support
        self._max_frame_size = context.config.netty_max_frame_size_bytes
        self._batching = context.reads_batches(self._schedule)
        self._usual_size = UsualSize()

    async def fetch(self, first: int, max_count: int, max_size: int) -> EntryRun:
        """Read and verify consecutive entries from ``first`` upwards: at least one, at most as many as fit one reply.

        :param max_count: maximum number of entries, > 0.
        :param max_size: maximum number of bytes; if this is <= 0 or larger than the maximum frame size, the limit is
            the maximum frame size.
        """
        ends = [segment.first_entry_id for segment in self.metadata.segments if segment.first_entry_id > first]
        count = min(max_count, ends[0] - first) if ends else max_count
        size = min(max_size, self._max_frame_size) if max_size > 0 else self._max_frame_size
        if not self._batching:
            return await self._one_by_one(first, count, size)
        attempt = BatchAttempt(self._support, self._replicas(first))
        run = await self._by_batch(first, count, size, attempt)
        if run is not None:
            return run
        if not attempt.leaves_open:
            raise failed_request(attempt.errors, self._ledger_id, first, self._choose)
        return await self._one_by_one(first, count, size, attempt)

    async def _by_batch(self, first: int, count: int, size: int, attempt: BatchAttempt) -> EntryRun | None:
        """Send batch reads to replicas; return the first verified entries, or None if all replicas failed."""
        reads = [partial(self._batch_from, bookie_id, first, count, size, attempt) for bookie_id in attempt.capable]
        success = await Speculation(self._clock, reads, self._patience).run()
        if success is None:
            return None
        for index in success.overtaken:
            self.order.overtaken(attempt.capable[index])
        return success.result

    async def _batch_from(
        self, bookie_id: str, first: int, count: int, size: int, attempt: BatchAttempt
    ) -> EntryRun | None:
        try:
            reply = await self._bookies.read_batch(bookie_id, self._ledger_id, first, count, size)
            self._support.gave_one(bookie_id)
            run = verified_batch(reply.entries, self._ledger_id, first, count, self._digester)
            self._usual_size.learn(run.count, run.size)
        except BookKeeperError as error:
            attempt.failed(bookie_id, error)
            self._failed(bookie_id, first, error)
            return None
        self.order.succeeded(bookie_id)
        if reply.max_lac is not None:
            self._heard_lac(reply.max_lac)
        return run

    def through(self, reads: TracedReads) -> "ReplicaReader":
        """Return a copy of this reader that sends its requests through ``reads``, which traces them."""
        other = copy(self)
        other._bookies = reads
        return other

    def moved(self, metadata: LedgerMetadata) -> None:
        """Replace the known metadata by newer ``metadata``, so that later reads go to the bookies in them."""
        self.metadata = metadata

    def _failed(self, bookie_id: str, entry_id: int, error: Exception) -> None:
        self.order.failed(bookie_id, self.metadata.ensemble_at(entry_id), error)

    def _replicas(self, entry_id: int) -> list[str]:
        return self.order.of(self.metadata.ensemble_at(entry_id), entry_id)

    # ---- entry by entry ------------------------------------------------------------------------------

    async def _one_by_one(
        self, first: int, count: int, max_size: int, attempt: BatchAttempt | None = None
    ) -> EntryRun:
        """Read each entry by its own request, concurrently; return the entries before the first that cannot be read.

        :param attempt: the failed attempt to read the entries by batch reads; None if there was none.
        """
        window = self._usual_size.entries_in(max_size, min(count, MAX_SINGLE_READS))
        reads = SingleReads(self._ledger_id, range(first, first + window), self._digester)
        await self._read_each(reads)
        run = reads.run(self._choose)
        self._usual_size.learn(run.count, run.size)
        if attempt is not None:
            attempt.single_reads_succeeded(reads.gave)
        return run

    async def fetch_each(self, entry_ids: Sequence[int]) -> tuple[Mapping[int, bytes], Mapping[int, Exception]]:
        """Read entries of one ensemble, each by its own request, and verify each entry.

        :param entry_ids: at most :data:`MAX_SINGLE_READS` ids.
        :returns: the stored bytes of each entry that was read, and the error of each other entry; both by entry id.
        """
        reads = SingleReads(self._ledger_id, entry_ids, self._digester)
        await self._read_each(reads)
        errors = reads.errors
        return reads.stored, {i: failed_request(errors[i], self._ledger_id, i, self._choose) for i in reads.missing()}

    async def _read_each(self, reads: SingleReads) -> None:
        size, replicas = self._schedule.ensemble_size, dict[int, list[str]]()
        # Entries with the same id modulo the size of the ensemble have the same write set, so one read order serves
        # them all.
        for remainder, entry_id in {entry_id % size: entry_id for entry_id in reads.wanted}.items():
            replicas[remainder] = self._replicas(entry_id)
        rounds = [partial(self._round, rank, replicas, reads) for rank in range(self._schedule.write_quorum)]
        await Speculation(self._clock, rounds, self._patience).run()

    async def _round(self, rank: int, replicas: Mapping[int, list[str]], reads: SingleReads) -> bool | None:
        """Read all entries that are still missing, each from the bookie with index ``rank`` in the entry's read order.

        :param replicas: maps (entry id % ensemble size) to the ids of the bookies that keep such entries, in the order
            in which to ask them.
        :returns: True if no entry is missing any more; otherwise None, so that the caller asks the next bookies.
        """
        # check the answers that slow replicas have given since the last check
        self._check(reads)
        lacs: dict[str, int] = {}
        by_bookie = self._by_bookie(reads.missing(), {i: bookies[rank] for i, bookies in replicas.items()})
        await _all_of([self._read_from(bookie_id, ids, reads, lacs) for bookie_id, ids in by_bookie.items()])
        self._check(reads)
        for bookie_id, lac in lacs.items():
            if bookie_id in reads.gave:
                self._heard_lac(lac)
        return None if reads.missing() else True

    def _by_bookie(self, entry_ids: Sequence[int], bookie_of: Mapping[int, str]) -> Mapping[str, Sequence[int]]:
        """Group entry ids by the bookie that must be asked for the entries.

        :param bookie_of: maps (entry id % ensemble size) to the id of the bookie to ask.
        :returns: for each bookie id, the ascending entry ids: a ``range`` where this is possible, else a list.
        """
        size, found = self._schedule.ensemble_size, dict[str, list[Sequence[int]]]()
        if isinstance(entry_ids, range):
            for ids in [entry_ids[i::size] for i in range(min(size, len(entry_ids)))]:
                found.setdefault(bookie_of[ids[0] % size], []).append(ids)
        else:
            for entry_id in entry_ids:
                found.setdefault(bookie_of[entry_id % size], []).append((entry_id,))
        return {
            bookie_id: parts[0] if len(parts) == 1 else sorted(chain.from_iterable(parts))
            for bookie_id, parts in found.items()
        }

    async def _read_from(
        self, bookie_id: str, entry_ids: Sequence[int], reads: SingleReads, lacs: dict[str, int]
    ) -> None:
        """Read some entries from one bookie, and record the answers in ``reads``.

        :param lacs: the highest LAC that each bookie has answered, by bookie id; this method sets the LAC of
            ``bookie_id``.
        """
        ledger_id = self._ledger_id
        try:
            replies = await self._bookies.read_many(bookie_id, ledger_id, entry_ids)
        except BookKeeperError as error:
            self._failed(bookie_id, entry_ids[0], error)
            reads.take(bookie_id, dict.fromkeys(entry_ids, error))
            return
        found: Iterable[bytes | Exception | None] = [reply.entry for reply in replies]
        if None in found or [reply.status for reply in replies].count(Status.EOK) < len(replies):
            found = map(entry_or_error, replies, repeat(ledger_id), entry_ids)
        answers = cast(dict[int, bytes | Exception], dict(zip(entry_ids, found, strict=True)))
        errors = reads.take(bookie_id, answers)
        if len(errors) < len(answers):
            self.order.succeeded(bookie_id)
        for entry_id, why in errors.items():
            self._failed(bookie_id, entry_id, why)
        known = {reply.max_lac for reply in replies} - {None}
        if known:
            lacs[bookie_id] = max(cast(set[int], known))

    def _check(self, reads: SingleReads) -> None:
        for bookie_id, entry_id, error in reads.check():
            self._failed(bookie_id, entry_id, error)

"""Reading entries from whichever replica gives them whole.

A read asks the bookies of the write set one after the other (:mod:`.read_order`), the next one also when
one takes long (:mod:`.speculation`).  An error, a missing entry and bytes that do not verify all lead to
the next one; what verified before a damaged entry is kept (S18).  Bookies that do not know batch reads,
or do not answer them, and striped ledgers are read entry by entry, many at a time.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from ...codec.digest import Digester
from ...codec.operations import MAX_COUNT
from ...codec.runs import BatchReply, ReadReply
from ...entries.entry_run import EntryRun
from ...errors import (
    ERROR_OF_STATUS,
    BadRequestError,
    BookieHandleNotAvailableError,
    BookKeeperError,
    DigestMatchError,
    NoSuchEntryError,
    NoSuchLedgerError,
    Status,
    UnexpectedConditionError,
)
from ...ledger.entry_batch import verified_prefix
from ...ledger.schedule import Schedule
from ...model import LedgerMetadata
from .bookie_health import UNANSWERED
from .context import ReadingContext
from .speculation import Speculation

MAX_SINGLE_READS = 256
"""Entries asked for one by one at a time."""

_FIRST_GUESS = 16 << 10


def most_telling(errors: Sequence[Exception]) -> Exception:
    """Choose the error to raise where every replica failed.

    An entry is called missing only if every bookie answered so.

    :param errors: one of each bookie, at least one.
    :returns: the first that is neither "missing" nor "no connection"; else one of a bookie that could not be asked;
        else the last.
    """
    for error in errors:
        if not isinstance(error, NoSuchEntryError | NoSuchLedgerError | BookieHandleNotAvailableError):
            return error
    for error in errors:
        if isinstance(error, BookieHandleNotAvailableError):
            return error
    return errors[-1]


def verified_entries(digester: Digester, ledger_id: int, reply: BatchReply, first: int, count: int) -> EntryRun:
    """The entries of a batch reply before the first that is not what was asked for; at least one (S18).

    :param count: at most so many.
    :raises DigestMatchError: there is none.
    :raises UnexpectedConditionError: the reply has no entries, or others.
    """
    run = reply.entries
    if run is None or run.first != first or run.ledger_id != ledger_id:
        raise UnexpectedConditionError(f"a batch read of ledger {ledger_id} entry {first} gave no such entry")
    return verified_prefix(run.slice(first, min(run.count, count)), digester)


async def _all_of(works: Sequence[Coroutine[Deferred[Any], Any, None]]) -> None:
    """Runs all at once; an error or a cancellation of one ends the others."""
    running = [Deferred.fromCoroutine(work) for work in works]
    try:
        for one in running:
            await one
    finally:
        for one in running:
            one.addErrback(lambda _: None)
            one.cancel()


@attrs.define
class _BatchAttempt:
    """The outcome of the batch reads of one range.

    :ivar unanswered: bookies that gave no answer to what was asked, which plain reads may get.
    :ivar incomplete: some replica was not asked because it knows no batch reads.
    """

    errors: list[Exception] = attrs.field(factory=list)
    unanswered: dict[str, Exception] = attrs.field(factory=dict)
    incomplete: bool = False


@attrs.define
class _SingleReads:
    """The outcome of the single reads of one range.

    :ivar answered: bookies that gave an entry.
    """

    wanted: Sequence[int]
    stored: dict[int, bytes] = attrs.field(factory=dict)
    errors: dict[int, list[Exception]] = attrs.field(factory=dict)
    answered: set[str] = attrs.field(factory=set)

    def missing(self) -> list[int]:
        """The entries that are not there yet."""
        return [entry_id for entry_id in self.wanted if entry_id not in self.stored]

    def failed(self, entry_id: int, error: Exception) -> None:
        """One replica did not give an entry."""
        self.errors.setdefault(entry_id, []).append(error)

    def prefix(self) -> list[bytes]:
        """The entries up to the first that no replica gave; at least one.

        :raises BookKeeperError: why there is not even the first.
        """
        first = self.wanted[0]
        if first not in self.stored:
            raise most_telling(self.errors[first])
        return [self.stored[entry_id] for entry_id in takewhile(self.stored.__contains__, self.wanted)]


class ReplicaReader:
    """Reads the entries of one ledger; its metadata may be replaced by a newer version.

    :ivar metadata: where the entries are.
    :ivar order: in which order bookies are asked.
    """

    def __init__(
        self, context: ReadingContext, digester: Digester, ledger_id: int, metadata: LedgerMetadata,
        heard_lac: Callable[[int], None] = lambda lac: None,
    ) -> None:  # fmt: skip
        """:param heard_lac: called with each LAC that comes with a reply."""
        config = context.config
        self.metadata = metadata
        self._clock = context.clock
        self._bookies = context.bookies
        self._digester = digester
        self._ledger_id = ledger_id
        self._heard_lac = heard_lac
        self._schedule = Schedule(
            metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size
        )  # fmt: skip
        self.order = context.read_order(self._schedule)
        self._patience = context.read_patience
        self._support = context.batch_support
        self._max_frame_size = config.netty_max_frame_size_bytes
        # the entries a bookie of a striped ledger holds are not consecutive
        self._batching = config.batch_read_enabled and not self._schedule.striped
        self._usual_size = _FIRST_GUESS

    async def fetch(self, first: int, max_count: int, max_size: int) -> EntryRun:
        """Entries from ``first`` on: at least one, fewer than asked for where that is all one reply gave.

        :param max_count: > 0.
        :param max_size: bytes; <= 0, or more than a frame holds: what a frame holds.
        """
        count = min(max_count, self._entries_of_segment(first), MAX_COUNT)
        size = min(max_size, self._max_frame_size) if max_size > 0 else self._max_frame_size
        if not self._batching:
            return await self._one_by_one(first, count, size)
        attempt = _BatchAttempt()
        run = await self._by_batch(first, count, size, attempt)
        if run is not None:
            return run
        if not attempt.incomplete and not attempt.unanswered:
            raise most_telling(attempt.errors)
        return await self._one_by_one(first, count, size, attempt.unanswered)

    async def _by_batch(self, first: int, count: int, size: int, attempt: _BatchAttempt) -> EntryRun | None:
        """The first verified answer, None if there is none."""
        replicas = self._replicas(first)
        capable = [bookie_id for bookie_id in replicas if self._support.is_expected(bookie_id)]
        attempt.incomplete = len(capable) < len(replicas)
        reads = [partial(self._batch_from, bookie_id, first, count, size, attempt) for bookie_id in capable]
        success = await Speculation(self._clock, reads, self._patience).run()
        if success is None:
            return None
        for index in success.overtaken:
            self.order.overtaken(capable[index])
        return success.result

    async def _batch_from(
        self, bookie_id: str, first: int, count: int, size: int, attempt: _BatchAttempt
    ) -> EntryRun | None:
        try:
            reply = await self._bookies.read_batch(bookie_id, self._ledger_id, first, count, size)
            self._support.gave_one(bookie_id)
            run = verified_entries(self._digester, self._ledger_id, reply, first, count)
            self._usual_size = run.size // run.count
        except BadRequestError:
            self._support.refused(bookie_id)
            attempt.incomplete = True
            return None
        except BookKeeperError as error:
            self._failed(bookie_id, first, error)
            if isinstance(error, UNANSWERED):
                attempt.unanswered[bookie_id] = error
            else:
                attempt.errors.append(error)
            return None
        self._succeeded(bookie_id, reply.max_lac)
        return run

    def moved(self, metadata: LedgerMetadata) -> None:
        """Read from where newer ``metadata`` have the entries from now on."""
        self.metadata = metadata

    def _failed(self, bookie_id: str, entry_id: int, error: Exception) -> None:
        self.order.failed(bookie_id, self.metadata.ensemble_at(entry_id), error)

    def _succeeded(self, bookie_id: str, lac: int | None) -> None:
        self.order.succeeded(bookie_id)
        if lac is not None:
            self._heard_lac(lac)

    def _entries_of_segment(self, first: int) -> int:
        """Return the number of entries from ``first`` on that the same bookies keep."""
        starts = [s.first_entry_id for s in self.metadata.segments if s.first_entry_id > first]
        return min(starts) - first if starts else MAX_COUNT

    def _replicas(self, entry_id: int) -> list[str]:
        return self.order.of(self.metadata.ensemble_at(entry_id), entry_id)

    # ---- entry by entry ------------------------------------------------------------------------------

    async def _one_by_one(
        self, first: int, count: int, max_size: int, batch_unanswered: Collection[str] = ()
    ) -> EntryRun:
        """:param batch_unanswered: bookies that did not answer a batch read."""
        window = max(1, min(count, MAX_SINGLE_READS, max_size // self._usual_size))
        reads = _SingleReads(range(first, first + window))
        await self._read_each(reads)
        run = EntryRun.of_entries(self._ledger_id, first, reads.prefix())
        self._usual_size = run.size // run.count
        for bookie_id in batch_unanswered:
            if bookie_id in reads.answered:
                self._support.unanswered(bookie_id)
        return run

    async def fetch_each(self, entry_ids: Sequence[int]) -> tuple[Mapping[int, bytes], Mapping[int, Exception]]:
        """Entries that one ensemble keeps, each read by itself and verified.

        :param entry_ids: at most :data:`MAX_SINGLE_READS` of them.
        :returns: the stored bytes of the entries, and why no replica gave the others.
        """
        reads = _SingleReads(entry_ids)
        await self._read_each(reads)
        return reads.stored, {entry_id: most_telling(reads.errors[entry_id]) for entry_id in reads.missing()}

    async def _read_each(self, reads: _SingleReads) -> None:
        size, replicas = self._schedule.ensemble_size, dict[int, list[str]]()
        for entry_id in reads.wanted:  # they repeat after an ensemble
            if entry_id % size not in replicas:
                replicas[entry_id % size] = self._replicas(entry_id)
        by_entry = {entry_id: replicas[entry_id % size] for entry_id in reads.wanted}
        rounds = [partial(self._round, rank, by_entry, reads) for rank in range(self._schedule.write_quorum)]
        await Speculation(self._clock, rounds, self._patience).run()

    async def _round(self, rank: int, replicas: Mapping[int, list[str]], reads: _SingleReads) -> bool | None:
        """Asks the replica of a rank for each entry that is missing.

        :returns: True if nothing is missing then.
        """
        by_bookie: dict[str, list[int]] = {}
        for entry_id in reads.missing():
            by_bookie.setdefault(replicas[entry_id][rank], []).append(entry_id)
        await _all_of([self._read_from(bookie_id, ids, reads) for bookie_id, ids in by_bookie.items()])
        return None if reads.missing() else True

    async def _read_from(self, bookie_id: str, entry_ids: Sequence[int], reads: _SingleReads) -> None:
        try:
            replies = await self._bookies.read_many(bookie_id, self._ledger_id, entry_ids)
        except BookKeeperError as error:
            self._failed(bookie_id, entry_ids[0], error)
            for entry_id in entry_ids:
                reads.failed(entry_id, error)
            return
        for entry_id, reply in zip(entry_ids, replies, strict=True):
            problem = self._problem(entry_id, reply)
            if problem is not None:
                self._failed(bookie_id, entry_id, problem)
                reads.failed(entry_id, problem)
            elif reply.entry is not None:
                self._succeeded(bookie_id, reply.max_lac)
                reads.stored[entry_id] = reply.entry
                reads.answered.add(bookie_id)

    def _problem(self, entry_id: int, reply: ReadReply) -> Exception | None:
        if reply.status is not Status.EOK:
            return ERROR_OF_STATUS[reply.status](self._ledger_id, entry_id)
        if reply.entry is None:
            return DigestMatchError(self._ledger_id, entry_id, "nothing came with the reply")
        try:
            self._digester.verify(EntryRun.of_entries(self._ledger_id, entry_id, (reply.entry,)))
        except DigestMatchError as error:
            return error
        return None

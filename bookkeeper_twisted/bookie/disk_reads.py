"""Reads entries from disk; one call on a read thread serves all requests that a connection received together."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..entries.entry_run import EntryRun
from ..errors import (
    BookieError,
    BookieIOError,
    DataUnknownError,
    LostLogError,
    NoSuchEntryError,
    StorageError,
    TooManyRequestsError,
)
from ..metrics import BookieMetrics
from ..protocol.peer_lines import PeerLines
from ..storage.interfaces import ILedgerStorage
from .interfaces import IStorageExecutor, LoadLaterError, ReadTimes

T = TypeVar("T")
Loaded = EntryRun | Exception

_LEAST_ROOM = 256 * 1024
"""Minimum limit of the bytes that one call loads.

A call may always load this number of bytes, even if its requests ask for fewer bytes in total.  So one call serves
several small requests even if their entries are larger than the requested sizes.
"""

LONG_READ = 0.1
"""Seconds from which on a read of consecutive entries takes long, so that waits behind it are waits for the disk."""


@attrs.define(eq=False)
class _ReadUnderWay:
    """A read that waits for a read thread, or runs on one.

    :ivar submitted: the time at which it began to wait for a thread, in seconds of the reactor's clock.
    :ivar count: number of ranges of consecutive entries that it reads.
    :ivar all_before, long_before: seconds that all reads, and reads that took long, had taken when it was submitted.
    :ivar began, ended: the times at which a read thread began and ended it; None before.  Both are assigned on that
        thread.
    """

    submitted: float
    count: int
    all_before: float
    long_before: float
    began: float | None = None
    ended: float | None = None

    def is_long(self, seconds: float) -> bool:
        """Test whether this read takes long if its own time, without the wait for a thread, is ``seconds``."""
        return seconds >= LONG_READ * self.count

    def is_behind_long(self, in_all: float, in_long: float) -> bool:
        """Test whether reads that took long used most of the time in which this read waited for a thread.

        If so, the disk is slow or hangs; if not, this read waited because many short reads came before it.

        :param in_all: total seconds of all reads until now.
        :param in_long: total seconds, until now, of the reads that took long.
        """
        return 2 * (in_long - self.long_before) >= in_all - self.all_before


class DiskReads:
    """Reads entries from disk for a bookie's requests.

    All methods are called on the reactor thread; the reads run on the read threads.

    :param flush: sends the replies that were collected for the connections; called after the callbacks of each result.
    :param seconds: returns the time in seconds; used to log failed reads of a ledger at most once a minute, and to
        measure reads.  Called on the read threads, too.
    :param limit: maximum number of waiting reads; further reads are refused, to limit the memory of the queue.
    """

    _log = Logger()

    def __init__(
        self, storage: ILedgerStorage, executor: IStorageExecutor, flush: Callable[[], None], metrics: BookieMetrics,
        seconds: Callable[[], float], limit: int = 20_000,
    ) -> None:  # fmt: skip
        self._storage = storage
        self._executor = executor
        self._flush = flush
        self._metrics = metrics
        self._limit = limit
        self._seconds = seconds
        self._under_way: dict[Deferred[Any], _ReadUnderWay] = {}  # oldest first
        self._all_seconds = self._long_seconds = 0.0  # of the reads that have ended; of those among them that took long
        self._lines = PeerLines(seconds)
        self._waiting = 0
        self._lists: deque[tuple[int, Deferred[list[tuple[int, int]]]]] = deque()
        self._is_listing = False

    @property
    def waiting(self) -> int:
        """Return the number of reads that wait for the disk or are in progress."""
        return self._waiting

    def present(self) -> ReadTimes:
        """Return for how long a read has run or has waited because of the disk, and because of many other reads.

        Both are the longest times of reads that have not ended; 0 if there is none.
        """
        now, times = self._seconds(), ReadTimes()
        in_all, in_long = self._all_seconds, self._long_seconds
        for each in self._under_way.values():
            if each.began is None:  # it has waited longest, because threads begin the oldest read first
                waited = now - each.submitted
                if each.is_behind_long(in_all, in_long):
                    times.on_disk = max(times.on_disk, waited)
                else:
                    times.for_thread = waited
                break
            took = (each.ended or now) - each.began
            times.on_disk = max(times.on_disk, took)
            in_all += took
            in_long += took if each.is_long(took) else 0.0
        return times

    def load(
        self, wanted: Sequence[tuple[int, int, int]], times: ReadTimes | None = None
    ) -> "Deferred[list[Loaded]]":  # fmt: skip
        """Read entries from disk, on a read thread.

        Fails with TooManyRequestsError if too many reads are waiting.

        :param wanted: triples: ledger id, entry id, maximum number of bytes to read from this entry on.
        :param times: the times of the read are added to it before the Deferred fires.
        :returns: for each triple, a run of consecutive entries, or an error.
        """
        if self._waiting + len(wanted) > self._limit:
            self._metrics.reads.refused += len(wanted)
            return fail(TooManyRequestsError(wanted[0][0]))
        keep = partial(self._keep_all, self._storage.epoch)
        return self._in_thread(self._load_all, wanted, finish=keep, count=len(wanted), times=times)

    def last_entry(self, ledger_id: int) -> "Deferred[int]":
        """Find the highest entry id of ``ledger_id`` on disk; the result is -1 if the ledger has no entries on disk.

        The result fails with BookieIOError, or with TooManyRequestsError if too many reads are waiting.
        """
        if self._waiting >= self._limit:
            self._metrics.reads.refused += 1
            return fail(TooManyRequestsError(ledger_id))
        return self._in_thread(self._guarded, self._storage.last_entry, ledger_id)

    def entry_ranges(self, ledger_id: int) -> "Deferred[list[tuple[int, int]]]":
        """Find the ranges of consecutive entries of a ledger on disk.

        The search of a ledger may take long.  So only one ledger is searched at a time, and the other read threads stay
        free for reads of entries.

        :returns: (first id, last id) of each range, ascending.  Fails with BookieIOError, or with TooManyRequestsError
            if too many reads are waiting.  A call that is cancelled before its search begins is skipped.
        """
        if self._waiting + len(self._lists) >= self._limit:
            self._metrics.reads.refused += 1
            return fail(TooManyRequestsError(ledger_id))
        result: Deferred[list[tuple[int, int]]] = Deferred()
        self._lists.append((ledger_id, result))
        if not self._is_listing:
            self._is_listing = True
            Deferred.fromCoroutine(self._list_all())
        return result

    async def _list_all(self) -> None:
        while self._lists:
            ledger_id, result = self._lists.popleft()
            if result.called:  # skip a call that was cancelled
                continue
            outcome: Any
            try:
                outcome = await self._in_thread(self._guarded, self._storage.entry_ranges, ledger_id)
            except Exception:
                outcome = Failure()
            if not result.called:  # the caller may have cancelled the call during the search
                result.callback(outcome)
        self._is_listing = False

    def _in_thread(
        self, work: Callable[..., T], *args: Any, finish: Callable[[T], T] = lambda outcome: outcome, count: int = 1,
        times: ReadTimes | None = None,
    ) -> "Deferred[T]":  # fmt: skip
        """Run ``work`` on a read thread, then pass its result to ``finish`` on the reactor thread.

        The returned Deferred fires with the result of ``finish``.  After its callbacks have run, this method sends the
        replies that the callbacks have queued.

        :param count: the number of reads that ``work`` makes, for the limit on waiting reads and the metrics.
        :param times: the times of ``work`` are added to it before the returned Deferred fires.
        """

        def finished(outcome: Any) -> None:
            self._waiting -= count
            del self._under_way[result]
            self._measure(reading, times)
            counts.completed += count
            if isinstance(outcome, Failure) and not outcome.check(CancelledError):
                counts.failed += count
            result.callback(outcome)
            self._flush()

        self._waiting += count
        counts = self._metrics.reads
        reading = _ReadUnderWay(self._seconds(), count, self._all_seconds, self._long_seconds)
        working = self._executor.submit("read", partial(self._run, reading, work), *args)
        result: Deferred[T] = Deferred(lambda _: working.cancel())
        self._under_way[result] = reading
        working.addCallback(finish).addBoth(finished)
        return result

    def _measure(self, reading: _ReadUnderWay, times: ReadTimes | None) -> None:
        if reading.began is None or reading.ended is None:  # it was cancelled
            return
        took, waited = reading.ended - reading.began, reading.began - reading.submitted
        if times is not None:
            is_disk = reading.is_behind_long(self._all_seconds, self._long_seconds)
            times.add(ReadTimes(took + waited, 0.0) if is_disk else ReadTimes(took, waited))
        self._all_seconds += took
        self._long_seconds += took if reading.is_long(took) else 0.0

    def _keep_all(self, epoch: int, loaded: list[Loaded]) -> list[Loaded]:
        for index, run in enumerate(loaded):
            if isinstance(run, EntryRun):
                loaded[index] = self._storage.keep(run, epoch)
                self._metrics.read_bytes.value += run.size
                self._metrics.readahead_batch_count.success.record(run.count)
                self._metrics.readahead_batch_size.success.record(run.size)
        return loaded

    # -- read threads --

    def _run(self, reading: _ReadUnderWay, work: Callable[..., T], *args: Any) -> T:
        reading.began = self._seconds()
        try:
            return work(*args)
        finally:
            reading.ended = self._seconds()

    def _load_all(self, wanted: Sequence[tuple[int, int, int]]) -> list[Loaded]:
        """Load entries from disk; the result is in the order of ``wanted``.

        The reads are made in the order of ledger and entry, which is the fastest order for a disk.

        All items of ``wanted`` share a budget: the sum of their maximum numbers of bytes.  An entry is always read
        completely, so an item may use more bytes than its own maximum.  When the budget is used up, each of the
        remaining items gets a LoadLaterError.
        """
        room = max(sum([max_bytes for _, _, max_bytes in wanted]), _LEAST_ROOM)
        result: list[Loaded] = [LoadLaterError(wanted[0][0])] * len(wanted)
        for position in sorted(range(len(wanted)), key=wanted.__getitem__):
            if room <= 0:
                break
            found = result[position] = self._load_one(*wanted[position])
            if isinstance(found, EntryRun):
                room -= found.size
        return result

    def _load_one(self, ledger_id: int, entry_id: int, max_bytes: int) -> Loaded:
        try:
            run: EntryRun | None = self._guarded(self._storage.load, ledger_id, entry_id, max_bytes)
        except BookieError as error:
            return error
        return run if run is not None else NoSuchEntryError(ledger_id, entry_id)

    def _guarded(self, read: Callable[..., T], ledger_id: int, *args: Any) -> T:
        """Call ``read``; convert its error to DataUnknownError if the entry log is missing, else to BookieIOError.

        A failed read must never look like a missing entry.
        """
        try:
            return read(ledger_id, *args)
        except (StorageError, OSError) as error:
            # limit these log lines: clients can read a damaged entry again and again, and each line is expensive
            self._lines.log(self._log.error, "reading ledger {peer} failed: {error}", str(ledger_id), error=error)
            kind = DataUnknownError if isinstance(error, LostLogError) else BookieIOError
            raise kind(ledger_id, detail=str(error)) from error

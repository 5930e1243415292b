"""Answers batch reads: with cached entries, and with entries that few large reads load from disk."""

from ...codec.runs import FENCE, BatchRead
from ...entries.entry_run import EntryRun
from ...errors import Status, UnauthorizedAccessError
from ...instruments import Histogram
from ...model import INVALID_ENTRY_ID, MAX_ENTRY_ID
from ...protocol.turns import SHARE
from ..interfaces import ReadTimes
from .context import RequestContext, check_ids, status_of
from .read_ahead import LoadsUnderWay
from .read_processor import read_last
from .session import RequestSession
from .slow_requests import cause_of_read

_UNLIMITED = (1 << 31) - 1
_FIRST_LOAD = 256 * 1024

_MANY_RUNS = 64
"""Number of runs (consecutive entries) that are added to a reply between two checks of the elapsed time."""


class Gathering:
    """The reply to one batch read, while entries are added to it.

    :ivar next: id of the next entry.
    :ivar room: number of bytes that may still be added to the reply, including the protocol's overhead for each entry.
    :ivar left: number of entries that may still be added to the reply.
    :ivar waited: whether this batch read has waited for a load (a read from disk) that another request began.
    :ivar times: times of the loads that this batch read has waited for; None if it has waited for none.
    """

    __slots__ = ("request", "runs", "next", "room", "n_entries", "waited", "times", "left", "_per_entry")

    def __init__(self, request: BatchRead, cap: int) -> None:
        fixed, self._per_entry = request.wire.batch_overhead
        self.request = request
        self.runs: list[EntryRun] = []
        self.next = request.first
        self.room = min(request.max_size, cap) - fixed
        self.n_entries = 0
        self.waited = False
        self.times: ReadTimes | None = None
        self.left = request.max_count if request.max_count > 0 else _UNLIMITED

    @property
    def n_bytes(self) -> int:
        return sum([run.size for run in self.runs])

    def shrink(self, size: int) -> None:
        """Lower the size limit of this reply, because the unsent replies of other connections use more memory now.

        :param size: maximum number of bytes of the entries of the whole reply.
        """
        self.room = min(self.room, size - self.n_bytes)

    def expected(self) -> int:
        """Estimate the size in bytes of the entries that are still to be added to the reply."""
        if not self.n_entries:
            return max(0, min(self.room, _FIRST_LOAD))
        return max(0, min(self.room, self.left * (self.n_bytes // self.n_entries + 1)))

    @property
    def has_room(self) -> bool:
        """Whether the limits of the request allow more entries in the reply."""
        return self.left > 0 and self.room > 0

    def take(self, run: EntryRun) -> bool:
        """Add as many entries as fit from a ``run`` (consecutive entries) that contains the next entry of the batch.

        If the reply has no entry yet, at least one entry is added, even if it exceeds the limits.

        :returns: whether more entries may follow.
        """
        least = 0
        if not self.runs:
            least = 1
            if self.request.wire.batch_counts_by_first:
                start, end = run.bounds(self.next, 1)
                self.left = min(self.left, max(1, self.room // (end - start)))
        count = max(least, run.fitting(self.next, self.left, self.room, self._per_entry))
        if count:
            self._append(run.slice(self.next, count))
            self.next += count
        return run.last < self.next <= MAX_ENTRY_ID and self.has_room

    def _append(self, part: EntryRun) -> None:
        self.runs.append(part)
        self.n_entries += part.count
        self.left -= part.count
        self.room -= part.size + part.count * self._per_entry


class BatchProcessor:
    """The processor of the batch reads of both wire protocols, V2 and V3."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._under_way = LoadsUnderWay()

    def start(self, session: RequestSession, request: BatchRead) -> bool:
        """Begin a batch read; answer it immediately if memory has the entries.

        :returns: False if the read must wait because too many reads are in progress; then the ``session`` calls this
            method again later.
        """
        if not session.admit_reads(1):
            return False
        began = self._context.clock.seconds()
        limits, limit = self._context.limits, session.connection.reply_limit
        longest = min(limits.max_batch_read_size, limits.max_frame_size - request.wire.batch_head)
        gathering = Gathering(request, min(longest, limit))
        asks_for_entry = request.first >= 0 and request.ledger_id >= 0
        plain = asks_for_entry and not request.flags & FENCE and request.previous_lac is None
        if plain and self._from_memory(gathering):
            self._reply(session, gathering, began)
        else:
            session.serve(self._serve(session, gathering, began))
        return True

    def _from_memory(self, gathering: Gathering) -> bool:
        """Add entries that are in memory to the reply.

        :returns: whether the reply is complete; if not, the next entry is not in memory.
        """
        ledger_id, bookie, clock = gathering.request.ledger_id, self._context.bookie, self._context.clock
        began = clock.seconds()
        while True:
            if len(gathering.runs) % _MANY_RUNS == _MANY_RUNS - 1 and clock.seconds() - began >= SHARE:
                # Send a shorter reply now.  The peer will request the rest, and meanwhile other connections are served.
                return True
            first = gathering.next
            run = bookie.cached(ledger_id, first, gathering.left)
            if run is None:
                run = bookie.resident(ledger_id, first, gathering.left, gathering.room)
                if run is None:
                    return False
                self._context.read_ahead.passed(ledger_id, first, run.last)
            if not gathering.take(run):
                return True

    async def _serve(self, session: RequestSession, gathering: Gathering, began: float) -> None:
        request = gathering.request
        try:
            check_ids(request.ledger_id, request.first)
            await self._prepare(session, request)
            await session.room()
            more = True
            if request.first == INVALID_ENTRY_ID:
                more = await self._take_last(session, gathering)
            while more and not session.connection.closed and not self._from_memory(gathering):
                more = await self._go_on(session, gathering)
            self._reply(session, gathering, began)
        except Exception as error:
            self._refuse(session, gathering, error, began)

    async def _prepare(self, session: RequestSession, request: BatchRead) -> None:
        """Do what a batch read asks for before entries are read: fence the ledger durably, or wait for a higher LAC."""
        bookie = self._context.bookie
        if request.flags & FENCE:
            if request.master_key is None:
                raise UnauthorizedAccessError(request.ledger_id)
            await bookie.fence(request.ledger_id, request.master_key)
        elif request.previous_lac is not None and request.timeout_ms is not None:
            await session.wait_lac(request.ledger_id, request.previous_lac, request.timeout_ms)

    async def _take_last(self, session: RequestSession, gathering: Gathering) -> bool:
        """Add the last entry of the ledger to the reply, because the first id of the batch read is -1.

        After the last entry, the reply continues with entry 0, as that of Apache's bookie.

        :returns: whether more entries may follow.
        """
        ledger_id = gathering.request.ledger_id
        last, entry = await read_last(session, ledger_id)
        gathering.next = last
        gathering.take(EntryRun.of_entries(ledger_id, last, [entry]))
        gathering.next = 0
        return gathering.has_room

    async def _go_on(self, session: RequestSession, gathering: Gathering) -> bool:
        """Load the next entries from disk, within the memory limits of the connection.

        During the load, the entries that are already in the reply count as memory of the connection, because they
        cannot be sent yet.

        :returns: whether more entries may follow.
        """
        gathering.shrink(session.connection.reply_limit)
        gathered = gathering.n_bytes
        if gathered and gathering.room <= 0:
            return False
        session.expect(gathered)
        try:
            more = await self._load(session, gathering)
        finally:
            session.expect(-gathered)
        # While the entries were read from the disk, unsent replies of other connections may have used more memory, so
        # the limit for this reply may be lower now.
        gathering.shrink(session.connection.reply_limit)
        return more

    async def _load(self, session: RequestSession, gathering: Gathering) -> bool:
        """Load the next entries from disk.

        If another batch read is already loading these entries, wait for the end of its load instead.  A batch read
        waits in this way only once; if the entries are not in memory after that, it loads them itself.

        :returns: whether more entries may follow.
        """
        ledger_id, entry_id = gathering.request.ledger_id, gathering.next
        n_bytes = max(gathering.expected(), self._context.read_ahead.window(ledger_id, entry_id))
        session.expect(n_bytes)
        times = gathering.times = gathering.times or ReadTimes()
        try:
            others = None if gathering.waited else self._under_way.covering(ledger_id, entry_id)
            if others is not None:
                gathering.waited = True
                times.add(await others)
                return True
            found = await self._read(ledger_id, entry_id, n_bytes, times)
        finally:
            session.expect(-n_bytes)
        if isinstance(found, EntryRun):
            return gathering.take(found)
        if not gathering.runs:
            raise found
        return False

    async def _read(
        self, ledger_id: int, entry_id: int, n_bytes: int, times: ReadTimes
    ) -> EntryRun | Exception:  # fmt: skip
        load, entry_size = self._under_way.begin(ledger_id, entry_id, n_bytes), 0
        try:
            found = (await self._context.bookie.load([(ledger_id, entry_id, n_bytes)], load.times))[0]
            if isinstance(found, EntryRun):
                entry_size = found.size // found.count
                self._context.read_ahead.loaded(ledger_id, entry_id, found.last)
        finally:
            times.add(load.times)
            self._under_way.end(load, entry_size)
        return found

    def _reply(self, session: RequestSession, gathering: Gathering, began: float) -> None:
        request, metrics = gathering.request, self._context.metrics.batch_read
        lac = self._context.bookie.last_add_confirmed(request.ledger_id) if request.wire.carries_lac else None
        pieces = request.success(gathering.runs, lac)
        session.connection.reply_pieces(pieces)
        self._measure(session, gathering, began, metrics.success, None)
        metrics.size.record(sum(map(len, pieces)))
        metrics.entries.record(gathering.n_entries)
        session.answered(1)

    def _measure(
        self, session: RequestSession, gathering: Gathering, began: float, series: Histogram,
        error: BaseException | None,
    ) -> None:  # fmt: skip
        """Record how long a batch read took, in metrics, in the log if it was slow, and as a span if it is traced.

        A batch read that the client asked to wait for a LAC is not logged, because it is meant to take long.

        :param began: the time at which the batch read began, in seconds of the reactor's clock.
        :param series: the histogram in which the duration is recorded.
        :param error: the error with which the batch read is refused; None if it succeeded.
        """
        took, request = (self._context.clock.seconds() - began) * 1000, gathering.request
        series.record(took)
        ids, peer = (request.ledger_id, request.first), session.connection.peer
        if took >= self._context.slow.threshold and request.timeout_ms is None:
            waited_for, pairs = cause_of_read(gathering.times), request.context
            self._context.slow.say("BATCH_READ_ENTRY", peer, *ids, gathering.n_entries, took, waited_for, pairs)
        if request.context and self._context.traces is not None:
            self._context.traces.answered("batch_read", request.context, peer, ids, began, error)

    def _refuse(self, session: RequestSession, gathering: Gathering, error: BaseException, began: float) -> None:
        request = gathering.request
        status = status_of(error, **self._context.slow.fields_of(request.context))
        assert status is not Status.EOK
        session.connection.reply(request.failure(status))
        self._measure(session, gathering, began, self._context.metrics.batch_read.failure, error)
        session.answered(1)

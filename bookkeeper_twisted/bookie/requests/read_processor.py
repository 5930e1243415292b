"""Answers runs of reads; a run is a sequence of reads that were received together.

Reads of entries in memory are answered immediately.  The other entries of a run are loaded from disk together.
"""

from collections.abc import Iterable, Sequence
from typing import cast

from ...codec.runs import ReadRun
from ...codec.strides import stretches
from ...entries.entry_run import EntryRun
from ...errors import BadRequestError, BookieError, NoSuchLedgerError, Status
from ...model import INVALID_ENTRY_ID
from ..interfaces import LoadLaterError, ReadTimes
from .context import RequestContext, status_of
from .read_ahead import FIRST_WINDOW
from .read_cursor import ReadCursor, ReadPiece, pieces_of
from .session import RequestSession
from .slow_requests import cause_of_read

REPLY_BYTES = 256 * 1024
"""Number of bytes of entries that are collected for one reply.

This is enough for many small entries, but little memory if a slow peer does not receive the reply.
"""

_ENTRY_BYTES = 128 * 1024
"""Number of bytes that are assumed for a single entry while it is being loaded, because its size is not known yet."""

_LOAD_BYTES = 2 * 1024 * 1024
"""Maximum number of bytes that one call on a read thread loads; about as many can be sent in one reactor turn."""

MOST_TOGETHER = 128
"""Maximum number of scattered reads (of entries that are not consecutive, or of several ledgers) in one search."""

_MOST_LOADS = 32
"""Maximum number of ranges of consecutive entries that one call on a read thread loads from disk."""

_FIRST_LOADS = 2
"""Number of scattered reads (not of consecutive entries) of a ledger that are loaded first, while the others wait.

The second search in the index also reads many of the following index rows into memory.  After that, the other reads are
several times faster, because they find the index rows of their entries in memory.
"""


class ReadProcessor:
    """The processor of runs of reads, that is of reads that were received together."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._bookie = context.bookie
        # Maximum number of scattered reads in the next search.  It is lowered if entries are large.  A search looks up
        # all its reads first, but stops when it has enough bytes for a reply; the other look-ups would be wasted.
        self._together = MOST_TOGETHER

    def start(self, session: RequestSession, run: ReadRun) -> bool:
        """Begin to answer a ``run`` of reads, which were received together.

        :returns: False if the run must wait because too many reads are in progress; then the ``session`` calls this
            method again later.
        """
        if not session.admit_reads(len(run)):
            return False
        cursor = ReadCursor(run, pieces_of(run.entry_ids, run.ledger_ids), self._context.clock.seconds())
        self._refuse_reserved(session, cursor)
        self.proceed(session, cursor)
        return True

    def _refuse_reserved(self, session: RequestSession, cursor: ReadCursor) -> None:
        """Refuse reads with negative ids, except entry id -1, which means the last entry.

        In a piece of consecutive entries, only the first id is checked, because it is the lowest.
        """
        ledger_ids, entry_ids = cursor.run.ledger_ids, cursor.run.entry_ids
        lowest = [entry_ids[start] if is_row else min(entry_ids[start:end]) for start, end, is_row in cursor.pieces]
        if min(lowest) >= INVALID_ENTRY_ID and min(ledger_ids) >= 0:
            return
        cursor.pieces.clear()
        for start, end in stretches(entry_ids, ledger_ids):
            ledger_id, first = ledger_ids[start], entry_ids[start]
            reserved = end - start if ledger_id < 0 else min(end - start, max(0, INVALID_ENTRY_ID - first))
            error: BookieError = NoSuchLedgerError(ledger_id) if ledger_id < 0 else BadRequestError(ledger_id, first)
            for index in range(start, start + reserved):
                self._refuse(session, cursor, index, error)
            if start + reserved < end:
                cursor.pieces.append(ReadPiece(start + reserved, end))

    def proceed(self, session: RequestSession, cursor: ReadCursor) -> bool:
        """Answer reads from memory while there is room for replies; then load the missing entries.

        If there is no room for all replies, queue the remaining reads in the ``session``, which calls this method again
        when there is room.

        :param cursor: the unanswered reads of a run.
        :returns: always True, which tells the session that the reads have begun, and need not wait for permits.
        """
        pieces = cursor.pieces
        missing: list[ReadPiece] = []
        first = pieces[0] if pieces else None
        while pieces and session.may_begin and len(missing) < _MOST_LOADS:
            if pieces[0] is not first and session.connection.turn_is_over():
                break
            if pieces[0].is_row:
                self._answer_row(session, cursor, missing)
                continue
            waiting = self._answer_scattered(session, cursor, missing)
            if waiting:
                session.serve(self._load(session, cursor, missing, waiting))
                missing = []
        if missing:
            session.serve(self._load(session, cursor, missing))
        if pieces:
            session.again(cursor)
        return True

    def _answer_row(self, session: RequestSession, cursor: ReadCursor, missing: list[ReadPiece]) -> None:
        """Answer the next reads of consecutive entries from memory, with their replies in one buffer.

        The buffer ends:

        * when it has :data:`REPLY_BYTES`, or the maximum size of replies while memory is scarce;
        * before a read whose entry is not in memory;
        * before reads of the run that were answered earlier, or that are scattered.

        If even the first entry is not in memory, add the reads to ``missing``; the caller loads their entries from
        disk.
        """
        run, pieces = cursor.run, cursor.pieces
        begin = after = pieces[0][0]
        entries: list[bytes | memoryview] = []
        size, most = 0, _most_bytes(session)
        while pieces and size < most:
            start, end, is_row = pieces[0]
            if start != after or not is_row:
                break
            first, count = run.entry_ids[start], end - start
            if first == INVALID_ENTRY_ID:
                first, count = self._bookie.known_last(run.ledger_ids[start]), 1
            held = self._find(run.ledger_ids[start], first, count, most)
            if held is None:
                break
            found = _entries(held, first, count, most)
            entries += found
            after += len(found)
            size += sum(map(len, found))
            if after == end:
                pieces.popleft()
            else:
                pieces[0] = ReadPiece(after, end)
        if entries:
            self._reply(session, cursor, begin, entries)
        else:
            self._not_held(session, cursor, pieces.popleft(), missing)

    def _answer_scattered(
        self, session: RequestSession, cursor: ReadCursor, missing: list[ReadPiece]
    ) -> Sequence[ReadPiece]:  # fmt: skip
        """Answer the next scattered reads (of entries in any order) from memory.

        One search looks for all these entries.  For each entry that it does not find, other places in memory are
        searched.  If the entry is not in memory, its read is added to ``missing``; the caller loads it from disk.

        :returns: further reads that should wait until ``missing`` is loaded.  The load also reads many rows of the
            entry index into memory, so that the further reads become faster.
        """
        run, (start, end, _) = cursor.run, cursor.pieces.popleft()
        stop = min(end, start + self._together)
        ledger_ids, entry_ids = run.ledger_ids[start:stop], run.entry_ids[start:stop]
        most = _most_bytes(session)
        found = self._bookie.scattered(ledger_ids, entry_ids, most)
        self._learn_together(found, most)
        if all(found):  # the usual case: no loop over the entries is needed
            self._reply(session, cursor, start, cast(Sequence[bytes], found))
            cursor.pieces.extendleft(_scattered(start + len(found), end))
            return ()
        is_one_ledger = ledger_ids.count(ledger_ids[0]) == len(ledger_ids)
        index, size, neighbours, waiting = start, 0, list[bytes](), list[ReadPiece]()
        for index, entry in enumerate(found, start + 1):
            if entry is None:
                held = self._find(run.ledger_ids[index - 1], run.entry_ids[index - 1], 1, most)
                entry = held.entry(run.entry_ids[index - 1]) if held is not None else None
            if entry is not None:
                neighbours.append(entry)
                size += len(entry)
                if size >= most:
                    break
                continue
            self._reply_neighbours(session, cursor, index - 1, neighbours)
            neighbours = []
            self._not_held(session, cursor, ReadPiece(index - 1, index), missing)
            if len(missing) >= _FIRST_LOADS and not cursor.has_loaded and is_one_ledger:
                waiting = _scattered(index, stop)
                index = stop
                break
        self._reply_neighbours(session, cursor, index, neighbours)
        cursor.pieces.extendleft(_scattered(index, end))
        return waiting

    def _learn_together(self, found: Sequence[bytes | None], max_bytes: int) -> None:
        """Choose how many scattered reads (not of consecutive entries) are in the next search: enough for one reply.

        The sizes of the next entries are not known, so assume the mean size of the entries ``found`` by the last
        search.

        :param max_bytes: number of bytes of entries that are collected for one reply.
        """
        sizes = list(map(len, filter(None, found)))
        if sizes:
            self._together = max(min(max_bytes * len(sizes) // sum(sizes), MOST_TOGETHER), 1)
        else:
            self._together = MOST_TOGETHER

    def _reply_neighbours(
        self, session: RequestSession, cursor: ReadCursor, end: int, neighbours: Sequence[bytes]
    ) -> None:
        if neighbours:
            self._reply(session, cursor, end - len(neighbours), neighbours)

    def _find(self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        """Return entries from memory that include ``entry_id``; None if that entry is not in memory."""
        if entry_id == INVALID_ENTRY_ID:
            return None  # entry id -1 means the last entry, whose id must be read from the index
        held = self._bookie.cached(ledger_id, entry_id, max_count)
        if held is None:
            held = self._bookie.resident(ledger_id, entry_id, max_count, max_bytes)
            if held is not None:
                self._context.read_ahead.passed(ledger_id, entry_id, held.last)
        return held

    def _not_held(
        self, session: RequestSession, cursor: ReadCursor, piece: ReadPiece, missing: list[ReadPiece]
    ) -> None:  # fmt: skip
        """Add a piece (reads of consecutive entries) to ``missing``, because its first entry is not in memory.

        A read of entry id -1 asks for the last entry.  Do not add it, but begin to answer it separately.
        """
        start, end, _ = piece
        if cursor.run.entry_ids[start] != INVALID_ENTRY_ID:
            missing.append(piece)
            return
        session.serve(self._last(session, cursor, start))
        if start + 1 < end:
            cursor.pieces.appendleft(ReadPiece(start + 1, end))

    def _reply(
        self, session: RequestSession, cursor: ReadCursor, start: int, entries: Sequence[bytes | memoryview]
    ) -> None:
        """Answer the reads from index ``start`` onwards with ``entries``.

        Refuse the reads if the reply cannot be encoded.
        """
        run, count = cursor.run, len(entries)
        try:
            lacs = self._lacs(run, start, count)
            if count == 1:
                reply = run.reply(start, Status.EOK, bytes(entries[0]), *lacs)
            else:
                reply = run.replies(start, entries, lacs)
        except Exception as error:
            for index in range(start, start + count):
                self._refuse(session, cursor, index, error)
            return
        session.connection.reply(reply, count)
        self._done(session, cursor, start, count)

    def _lacs(self, run: ReadRun, start: int, count: int) -> Sequence[int]:
        """Return the highest known LAC for each of ``count`` reads; empty if replies of the protocol contain no LAC."""
        if not run.wire.carries_lac:
            return ()
        ledger_ids = run.ledger_ids[start : start + count]
        if ledger_ids.count(ledger_ids[0]) == count:
            return (self._bookie.last_add_confirmed(ledger_ids[0]),) * count
        return list(map(self._bookie.last_add_confirmed, ledger_ids))

    def _refuse(self, session: RequestSession, cursor: ReadCursor, index: int, error: BaseException) -> None:
        run = cursor.run
        session.connection.reply(run.reply(index, status_of(error)))
        self._done(session, cursor, index, 1, error)

    def _done(
        self, session: RequestSession, cursor: ReadCursor, start: int, count: int, error: BaseException | None = None
    ) -> None:
        """Record ``count`` reads that are answered now: in metrics, in the log if they were slow, as spans if traced.

        :param start: index of the first of these reads in the run.
        :param error: the error with which the reads are refused; None if they succeed.
        """
        metric, run = self._context.metrics.read, cursor.run
        elapsed = (self._context.clock.seconds() - cursor.began) * 1000
        (metric.success if error is None else metric.failure).record(elapsed, count)
        if elapsed >= self._context.slow.threshold:
            ids, peer = (run.ledger_ids[start], run.entry_ids[start]), session.connection.peer
            pairs = None if run.contexts is None else run.contexts.get(ids)
            self._context.slow.say("READ_ENTRY", peer, *ids, count, elapsed, cause_of_read(cursor.times), pairs)
        if run.contexts is not None and self._context.traces is not None:
            for index in range(start, start + count):
                ids = run.ledger_ids[index], run.entry_ids[index]
                pairs = run.contexts.get(ids)
                self._context.traces.answered("read", pairs, session.connection.peer, ids, cursor.began, error)
        session.answered(count)

    async def _load(
        self, session: RequestSession, cursor: ReadCursor, missing: Sequence[ReadPiece],
        waiting: Sequence[ReadPiece] = (),
    ) -> None:  # fmt: skip
        """Load the entries of the ``missing`` reads, and answer these reads.

        Then queue again the reads that could not be answered, and the reads in ``waiting``.
        """
        run, ahead = cursor.run, self._context.read_ahead
        most = max(_LOAD_BYTES // len(missing), FIRST_WINDOW)
        wanted = [
            (ledger_id, entry_id, min(ahead.window(ledger_id, entry_id), most))
            for ledger_id, entry_id in ((run.ledger_ids[start], run.entry_ids[start]) for start, _, _ in missing)
        ]
        n_waiting = sum([end - start for start, end, _ in waiting])
        expected = sum([max_bytes for _, _, max_bytes in wanted]) + n_waiting * FIRST_WINDOW
        session.expect(expected)
        times = ReadTimes()
        try:
            loaded = await self._bookie.load(wanted, times)
        except Exception as error:
            loaded = [error] * len(missing)
        session.expect(-expected)
        times.add(cursor.times)
        cursor.times = times
        left: list[ReadPiece] = []
        for piece, found in zip(missing, loaded, strict=True):
            # If the connection has no room for the replies now, queue the reads again.  They will normally find the
            # loaded entries in memory.
            is_used = session.has_room and not isinstance(found, LoadLaterError)
            left.extend(self._use(session, cursor, piece.start, piece.end, found) if is_used else [piece])
        left.extend(waiting)
        if left:
            session.again(ReadCursor(run, left, cursor.began, times))

    def _use(
        self, session: RequestSession, cursor: ReadCursor, start: int, end: int, found: EntryRun | Exception
    ) -> Iterable[ReadPiece]:
        """Answer the reads ``start .. end - 1`` with the result of a load.

        :returns: the reads that this result does not answer, and for which another load is needed.  The load may have
            ended before their entries because of its size limit.  After a damaged entry, each of the next entries is
            loaded separately.
        """
        if isinstance(found, Exception):
            self._refuse(session, cursor, start, found)
            # The load failed at the first entry.  Load each of the next entries separately, many in one call, so that
            # one damaged entry does not prevent the reads of the intact entries.
            return [ReadPiece(index, index + 1) for index in range(start + 1, end)]
        run = cursor.run
        self._context.read_ahead.loaded(run.ledger_ids[start], run.entry_ids[start], found.last)
        while start < end and run.entry_ids[start] <= found.last:
            try:
                entries = _entries(found, run.entry_ids[start], end - start, _most_bytes(session))
            except Exception as error:  # refuse this entry, and read the next entries separately: they may be intact
                return self._use(session, cursor, start, end, error)
            self._reply(session, cursor, start, entries)
            start += len(entries)
        return [ReadPiece(start, end)] if start < end else []

    async def _last(self, session: RequestSession, cursor: ReadCursor, index: int) -> None:
        """Answer a read of the last stored entry of a ledger."""
        run = cursor.run
        try:
            entry = await read_last(session, run.ledger_ids[index])
        except Exception as error:
            self._refuse(session, cursor, index, error)
        else:
            self._reply(session, cursor, index, (entry[1],))


def _most_bytes(session: RequestSession) -> int:
    """Return the number of bytes of entries that are collected for one reply of this ``session``."""
    return min(REPLY_BYTES, session.connection.reply_limit)


def _scattered(start: int, end: int) -> list[ReadPiece]:
    return [ReadPiece(start, end, False)] if start < end else []


def _entries(held: EntryRun, first: int, max_count: int, max_bytes: int) -> Sequence[bytes | memoryview]:
    """Return entries of a run from id ``first`` onwards: as many as fit ``max_bytes``, at least one."""
    count = 1 if max_count == 1 else max(1, held.fitting(first, max_count, max_bytes, 0))
    return (held.entry(first),) if count == 1 else held.pieces_from(first, count)


async def read_entry(session: RequestSession, ledger_id: int, entry_id: int) -> bytes:
    """Read one entry with its header and digest, from memory or disk, when the limits allow another reply.

    :raises BookieError: NoSuchEntryError, NoSuchLedgerError, BookieIOError or TooManyRequestsError.
    """
    await session.room()
    bookie = session.context.bookie
    run = bookie.cached(ledger_id, entry_id) or bookie.resident(ledger_id, entry_id, 1, REPLY_BYTES)
    if run is None:
        session.expect(_ENTRY_BYTES)
        try:
            found = (await bookie.load([(ledger_id, entry_id, 0)]))[0]
        finally:
            session.expect(-_ENTRY_BYTES)
        if isinstance(found, Exception):
            raise found
        run = found
    return run.entry(entry_id)


async def read_last(session: RequestSession, ledger_id: int) -> tuple[int, bytes]:
    """Read the last stored entry of a ledger.

    :returns: the id of the entry, and its bytes as :func:`read_entry` returns them.
    :raises BookieError: NoSuchEntryError, NoSuchLedgerError, BookieIOError or TooManyRequestsError.
    """
    last = await session.context.bookie.last_entry(ledger_id)
    return last, await read_entry(session, ledger_id, last)


async def read_entry_or_last(session: RequestSession, ledger_id: int, entry_id: int) -> bytes:
    """Read one entry, or the last entry of the ledger for id -1, from memory or disk.

    :param entry_id: id of the entry; -1 for the last stored entry.
    """
    if entry_id == INVALID_ENTRY_ID:
        return (await read_last(session, ledger_id))[1]
    return await read_entry(session, ledger_id, entry_id)

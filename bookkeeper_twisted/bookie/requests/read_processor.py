"""Answers runs of plain reads: entries in memory immediately, all other entries after one load from disk."""

from collections import deque
from collections.abc import Iterable, Sequence

from ...codec.runs import ReadRun
from ...codec.strides import stretches
from ...entries.entry_run import EntryRun
from ...errors import BadRequestError, BookieError, NoSuchLedgerError, Status
from ...model import INVALID_ENTRY_ID
from ..interfaces import LoadLaterError
from .context import RequestContext, status_of
from .read_ahead import FIRST_WINDOW
from .session import RequestSession

Piece = tuple[int, int]
"""The reads with indexes ``start .. end - 1`` of a run, which read consecutive entries of one ledger."""

_REPLY_BYTES = 256 * 1024
_LOOK_UP_BYTES = 64 * 1024
"""Bytes of entries that are collected for one reply: many small entries, and little memory for a slow peer."""

_ENTRY_BYTES = 128 * 1024
"""Bytes that a single entry counts for while it is loaded from disk, as its size is not known before."""

_LOAD_BYTES = 2 * 1024 * 1024
"""Bytes that one call of the read lane requests; replies of this size can be sent within one turn."""

_MOST_LOADS = 32
"""Missing pieces of a run that are collected before one call of the read lane loads them."""

_MOST_SINGLES = 128

_FIRST_LOADS = 8
"""Missing single reads of a ledger that are loaded before the other reads of their run.

The read lane then also finds the index rows of the following entries.  An entry costs several times less if its row is
known.
"""


class ReadCursor:
    """The reads of a run that are not answered yet.

    :ivar pieces: these reads; each piece is reads of consecutive entries of one ledger, given by their indexes in the
        run.
    :ivar began: the time at which the run began, in seconds of the clock.
    :ivar has_loaded: whether entries of the run were loaded from disk before.
    """

    __slots__ = ("run", "pieces", "began", "has_loaded")

    def __init__(self, run: ReadRun, pieces: Iterable[Piece], began: float, has_loaded: bool = False) -> None:
        self.run = run
        self.pieces = deque(pieces)
        self.began = began
        self.has_loaded = has_loaded

    def singles(self) -> list[int]:
        """Return the next single reads of one ledger, as indexes in the run.

        A single read is not followed by a read of the next entry.  The list ends before reads of consecutive entries,
        and before another ledger.
        """
        ledger_ids = self.run.ledger_ids
        ledger_id = ledger_ids[self.pieces[0][0]]
        found: list[int] = []
        for start, end in self.pieces:
            if end - start > 1 or ledger_ids[start] != ledger_id or len(found) == _MOST_SINGLES:
                break
            found.append(start)
        return found


class ReadProcessor:
    """The processor of runs of reads."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._bookie = context.bookie

    def start(self, session: RequestSession, run: ReadRun) -> bool:
        """Begin a ``run`` of reads.

        :returns: False if the run must wait for permits: the ``session`` then calls this again later.
        """
        if not session.admit_reads(len(run)):
            return False
        cursor = ReadCursor(run, stretches(run.entry_ids, run.ledger_ids), self._context.clock.seconds())
        self._refuse_reserved(session, cursor)
        self.proceed(session, cursor)
        return True

    def _refuse_reserved(self, session: RequestSession, cursor: ReadCursor) -> None:
        """Refuse reads with negative ids, except entry id -1, which means the last entry.

        It is enough to look at the first entry id of each piece, because it is the lowest.
        """
        ledger_ids, entry_ids = cursor.run.ledger_ids, cursor.run.entry_ids
        firsts = [start for start, _ in cursor.pieces]
        lowest = min([entry_ids[start] for start in firsts])
        if lowest >= INVALID_ENTRY_ID and min([ledger_ids[start] for start in firsts]) >= 0:
            return
        pieces, cursor.pieces = cursor.pieces, deque()
        for start, end in pieces:
            ledger_id, first = ledger_ids[start], entry_ids[start]
            reserved = end - start if ledger_id < 0 else min(end - start, max(0, INVALID_ENTRY_ID - first))
            error: BookieError = NoSuchLedgerError(ledger_id) if ledger_id < 0 else BadRequestError(ledger_id, first)
            for index in range(start, start + reserved):
                self._refuse(session, cursor, index, error)
            if start + reserved < end:
                cursor.pieces.append((start + reserved, end))

    def proceed(self, session: RequestSession, cursor: ReadCursor) -> bool:
        """Answer reads from memory while there is room for replies; then load the missing entries.

        :param cursor: the rest of a run; reads for whose replies there is no room are put back into the ``session``.
        :returns: True, as :meth:`start` does for a request that has begun.
        """
        pieces = cursor.pieces
        missing: list[Piece] = []
        first = pieces[0] if pieces else None
        while pieces and session.may_begin and len(missing) < _MOST_LOADS:
            if pieces[0] is not first and session.connection.turn_is_over():
                break
            singles = cursor.singles()
            if len(singles) > 1:
                waiting = self._answer_singles(session, cursor, singles, missing)
                if waiting:
                    session.serve(self._load(session, cursor, missing, waiting))
                    missing = []
            else:
                self._answer_row(session, cursor, missing)
        if missing:
            session.serve(self._load(session, cursor, missing))
        if pieces:
            session.again(cursor)
        return True

    def _answer_row(self, session: RequestSession, cursor: ReadCursor, missing: list[Piece]) -> None:
        """Answer the next reads of the run from memory, with one buffer for all their replies.

        It stops at the first entry that is not in memory, after :data:`_LOOK_UP_BYTES`, and where reads that were left
        out before make a gap in the run.  If even the first entry is not in memory, its piece (the reads of consecutive
        entries that begin with it) is added to ``missing``; the caller loads the entries of ``missing`` from disk.
        """
        run, pieces = cursor.run, cursor.pieces
        begin = after = pieces[0][0]
        entries: list[bytes] = []
        size = 0
        while pieces and size < _LOOK_UP_BYTES:
            start, end = pieces[0]
            if start != after:
                break
            first, count = run.entry_ids[start], end - start
            if first == INVALID_ENTRY_ID:
                first, count = self._bookie.known_last(run.ledger_ids[start]), 1
            held = self._find(run.ledger_ids[start], first, count)
            if held is None:
                break
            found = _entries(held, first, count)
            entries += found
            after += len(found)
            size += sum(map(len, found))
            if after == end:
                pieces.popleft()
            else:
                pieces[0] = after, end
        if entries:
            self._reply(session, cursor, begin, entries)
        else:
            self._not_held(session, cursor, pieces.popleft(), missing)

    def _answer_singles(
        self, session: RequestSession, cursor: ReadCursor, singles: Sequence[int], missing: list[Piece]
    ) -> Sequence[Piece]:
        """Answer single reads of one ledger by one look-up; look up the entries that it does not find one by one.

        :returns: the pieces (reads of consecutive entries) that wait for the load of the ``missing`` entries, because
            the load may find their index rows, too.
        """
        run, pieces = cursor.run, cursor.pieces
        ledger_id = run.ledger_ids[singles[0]]
        found = self._bookie.scattered(ledger_id, [run.entry_ids[index] for index in singles], _LOOK_UP_BYTES)
        begin, neighbours = singles[0], list[bytes]()
        size, waiting = 0, list[Piece]()
        for position, (index, entry) in enumerate(zip(singles, found, strict=False), 1):
            if size >= _LOOK_UP_BYTES:
                break
            piece = pieces.popleft()
            if entry is None:
                held = self._find(ledger_id, run.entry_ids[index], 1)
                entry = held.entry(run.entry_ids[index]) if held is not None else None
            if entry is None:
                self._not_held(session, cursor, piece, missing)
                if len(missing) >= _FIRST_LOADS and not cursor.has_loaded:
                    waiting = [pieces.popleft() for _ in singles[position:]]
                    break
                continue
            size += len(entry)
            if index == begin + len(neighbours):
                neighbours.append(entry)
            else:
                self._reply_neighbours(session, cursor, begin, neighbours)
                begin, neighbours = index, [entry]
        self._reply_neighbours(session, cursor, begin, neighbours)
        return waiting

    def _reply_neighbours(
        self, session: RequestSession, cursor: ReadCursor, begin: int, neighbours: Sequence[bytes]
    ) -> None:
        if neighbours:
            self._reply(session, cursor, begin, neighbours)

    def _find(self, ledger_id: int, entry_id: int, max_count: int) -> EntryRun | None:
        """Return entries from memory that include ``entry_id``; None if that entry is not in memory."""
        if entry_id == INVALID_ENTRY_ID:
            return None  # entry id -1 means the last entry; only the index knows its id
        held = self._bookie.cached(ledger_id, entry_id, max_count)
        if held is None:
            held = self._bookie.resident(ledger_id, entry_id, max_count, _REPLY_BYTES)
            if held is not None:
                self._context.read_ahead.passed(ledger_id, entry_id, held.last)
        return held

    def _not_held(self, session: RequestSession, cursor: ReadCursor, piece: Piece, missing: list[Piece]) -> None:
        """Add a piece (reads of consecutive entries) that is not in memory to ``missing``, to be loaded from disk.

        A read of the last entry is answered separately.
        """
        start, end = piece
        if cursor.run.entry_ids[start] != INVALID_ENTRY_ID:
            missing.append((start, end))
            return
        session.serve(self._last(session, cursor, start))
        if start + 1 < end:
            cursor.pieces.appendleft((start + 1, end))

    def _reply(self, session: RequestSession, cursor: ReadCursor, start: int, entries: Sequence[bytes]) -> None:
        """Answer the reads from index ``start`` onwards with ``entries``.

        Refuse the reads if the reply cannot be encoded.
        """
        run, count = cursor.run, len(entries)
        try:
            lacs = self._lacs(run, start, count)
            reply = run.reply(start, Status.EOK, entries[0], *lacs) if count == 1 else run.replies(start, entries, lacs)
        except Exception as error:
            for index in range(start, start + count):
                self._refuse(session, cursor, index, error)
            return
        session.connection.reply(reply, count)
        self._done(session, cursor, count, True)

    def _lacs(self, run: ReadRun, start: int, count: int) -> Sequence[int]:
        """Return the highest known LAC for each of some reads; empty if the protocol has no LAC in its replies."""
        if not run.wire.carries_lac:
            return ()
        ledger_ids = run.ledger_ids[start : start + count]
        if ledger_ids.count(ledger_ids[0]) == count:
            return (self._bookie.last_add_confirmed(ledger_ids[0]),) * count
        return list(map(self._bookie.last_add_confirmed, ledger_ids))

    def _refuse(self, session: RequestSession, cursor: ReadCursor, index: int, error: BaseException) -> None:
        run = cursor.run
        session.connection.reply(run.reply(index, status_of(error)))
        self._done(session, cursor, 1, False)

    def _done(self, session: RequestSession, cursor: ReadCursor, count: int, success: bool) -> None:
        metric = self._context.metrics.read
        elapsed = (self._context.clock.seconds() - cursor.began) * 1000
        (metric.success if success else metric.failure).record(elapsed, count)
        session.answered(count)

    async def _load(
        self, session: RequestSession, cursor: ReadCursor, missing: Sequence[Piece], waiting: Sequence[Piece] = ()
    ) -> None:
        """Load the ``missing`` entries and answer their reads; put unanswered reads and the ``waiting`` ones back."""
        run, ahead = cursor.run, self._context.read_ahead
        most = max(_LOAD_BYTES // len(missing), FIRST_WINDOW)
        wanted = [
            (ledger_id, entry_id, min(ahead.window(ledger_id, entry_id), most))
            for ledger_id, entry_id in ((run.ledger_ids[start], run.entry_ids[start]) for start, _ in missing)
        ]
        expected = sum([max_bytes for _, _, max_bytes in wanted]) + len(waiting) * FIRST_WINDOW
        session.expect(expected)
        try:
            loaded = await self._bookie.load(wanted)
        except Exception as error:
            loaded = [error] * len(missing)
        session.expect(-expected)
        left: list[Piece] = []
        for (start, end), found in zip(missing, loaded, strict=True):
            # If there is no room for the replies, read the entries again later: they are in memory for a while.
            is_used = session.has_room and not isinstance(found, LoadLaterError)
            left.extend(self._use(session, cursor, start, end, found) if is_used else [(start, end)])
        left.extend(waiting)
        if left:
            session.again(ReadCursor(run, left, cursor.began, has_loaded=True))

    def _use(
        self, session: RequestSession, cursor: ReadCursor, start: int, end: int, found: EntryRun | Exception
    ) -> Iterable[Piece]:
        """Answer the reads ``start .. end - 1`` with the result of a load.

        :returns: the pieces (reads of consecutive entries) that must be read again.
        """
        if isinstance(found, Exception):
            self._refuse(session, cursor, start, found)
            # If one entry fails, the next ones probably do, too: read each of them by itself.
            return [(index, index + 1) for index in range(start + 1, end)]
        run = cursor.run
        self._context.read_ahead.loaded(run.ledger_ids[start], run.entry_ids[start], found.last)
        while start < end and run.entry_ids[start] <= found.last:
            try:
                entries = _entries(found, run.entry_ids[start], end - start)
            except Exception as error:  # only this entry may be damaged: refuse it, and read the others separately
                return self._use(session, cursor, start, end, error)
            self._reply(session, cursor, start, entries)
            start += len(entries)
        return [(start, end)] if start < end else []

    async def _last(self, session: RequestSession, cursor: ReadCursor, index: int) -> None:
        """Answer a read of the last stored entry of a ledger."""
        run = cursor.run
        try:
            entry = await read_last(session, run.ledger_ids[index])
        except Exception as error:
            self._refuse(session, cursor, index, error)
        else:
            self._reply(session, cursor, index, (entry[1],))


def _entries(held: EntryRun, first: int, max_count: int) -> Sequence[bytes]:
    """Return entries of a run from id ``first`` onwards: as many as fit one reply buffer, at least one."""
    count = 1 if max_count == 1 else max(1, held.fitting(first, max_count, _REPLY_BYTES, 0))
    return (held.entry(first),) if count == 1 else held.slice(first, count).entries()


async def read_entry(session: RequestSession, ledger_id: int, entry_id: int) -> bytes:
    """Read one entry with its header and digest, from memory or disk, when the limits allow another reply.

    :raises BookieError: NoSuchEntryError, NoSuchLedgerError, BookieIOError or TooManyRequestsError.
    """
    await session.room()
    bookie = session.context.bookie
    run = bookie.cached(ledger_id, entry_id) or bookie.resident(ledger_id, entry_id, 1, _LOOK_UP_BYTES)
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
    :raises BookieError: as :func:`read_entry`.
    """
    last = await session.context.bookie.last_entry(ledger_id)
    return last, await read_entry(session, ledger_id, last)


async def read_entry_or_last(session: RequestSession, ledger_id: int, entry_id: int) -> bytes:
    """Read one entry as :func:`read_entry` does.

    :param entry_id: id of the entry; -1 for the last stored entry.
    """
    if entry_id == INVALID_ENTRY_ID:
        return (await read_last(session, ledger_id))[1]
    return await read_entry(session, ledger_id, entry_id)

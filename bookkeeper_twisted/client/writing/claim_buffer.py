"""The base class of exclusive and shared claim logs: positions, terms, acknowledgement, room, the end.

Theory of operation.  A log is a queue of wire frames laid out in *terms* of preallocated memory.  A frame is
*claimed* (its place is taken; claim order is send order), *committed* or *aborted* (then it is a hole), *taken*
by the sender in runs of consecutive frames, sealed (:mod:`.log_frames`) and *acknowledged* by position:
everything below it.  A position is the number of bytes claimed before it.  The memory of a term serves
again once everything in it is acknowledged, so what has to be sent again is still there, the same bytes.

:attr:`ClaimLog.limit` is the gate: a claim that would end above it goes the slow way, which rotates terms and
finds out why there is no room.  A gate of 0 lets no claim pass, so code that works behind it needs no further
care.
"""

from bisect import insort
from enum import IntEnum

from twisted.internet.defer import Deferred, fail, succeed

from ...errors import IncorrectParameterError
from .log_frames import FrameLayout, Frames, Row, cut_frames
from .log_terms import NO_TERM, Term, TermPool

MAX_POSITION = (1 << 63) - 1
MAX_TERMS = 3
"""Terms a log holds at most, if nothing else is said; with the window this bounds its memory."""


class ClaimResult(IntEnum):
    """The results of ``offer`` and ``claim`` that are no position: the reasons why nothing was claimed."""

    BACK_PRESSURED = -2
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5


class ClaimLog:
    """See the module; subclasses add the ways to claim.  Everything here is called on the reactor's thread.

    :ivar tail: position behind the last claim.
    :ivar limit: position up to which claims need no care.
    :ivar term: the one that is being filled.
    :ivar taken: position up to which frames were given to the sender.
    :ivar acknowledged: position up to which everything is acknowledged.
    :ivar failure: why it takes nothing more, None while it does.
    :ivar lost_from: position from which on nothing will be acknowledged; None while all may be.
    :ivar rows: see :class:`~.log_frames.FrameLayout`; where there is none, :meth:`row` is asked.
    """

    __slots__ = (
        "tail", "limit", "term", "taken", "acknowledged", "failure", "lost_from", "rows", "_layout", "_pool", "_window",
        "_max_terms", "_terms", "_skipped", "_waiters", "_asked",
    )  # fmt: skip

    def __init__(
        self, layout: FrameLayout, pool: TermPool, window: int | None = None, start: int = 0, max_terms: int = MAX_TERMS
    ) -> None:
        """
        :param window: bytes that may be claimed and not acknowledged, by default the size of three terms.
        :param start: the first position.
        :param max_terms: how many it may hold.
        """
        self.tail = self.taken = self.acknowledged = start
        self.limit = 0
        self.term = NO_TERM
        self.failure: Exception | None = None
        self.lost_from: int | None = None
        self._layout = layout
        self.rows = layout.rows
        self._pool = pool
        self._window = MAX_TERMS * pool.size if window is None else window
        self._max_terms = max_terms
        self._terms: list[Term] = []  # lists are short, and smaller than deques where there is nothing in them
        self._skipped: list[tuple[int, int]] = []
        self._waiters: list[tuple[int, int, Deferred[int]]] = []
        self._asked = 0

    @property
    def in_flight(self) -> int:
        """Bytes that are claimed and not acknowledged."""
        return self.tail - self.acknowledged

    @property
    def waiting(self) -> bool:
        """Whether something is claimed that was not taken."""
        return self.tail > self.taken

    def row(self, size: int) -> Row:
        """Return the layout that frames with payloads of ``size`` bytes share."""
        return self.rows.get(size) or self._layout.row(size)

    # ---- room, behind the gate -----------------------------------------------------------------------

    def _check_size(self, size: int) -> None:
        """:raises IncorrectParameterError: there can never be room for so much."""
        if size > self._window:
            raise IncorrectParameterError(f"a frame of {size} bytes; the log holds {self._window}")

    def _make_room(self, size: int, wanted: int = 0) -> int:
        """Sees to it that the active term has room; the gate is shut.

        :param size: bytes of the frame that comes next.
        :param wanted: bytes of the frames that come at once.
        :returns: 0, or a :class:`ClaimResult`.
        """
        if self.failure is not None:
            return ClaimResult.CLOSED
        end, terms = self.tail + size, self._terms
        if end > MAX_POSITION:
            return ClaimResult.MAX_POSITION_EXCEEDED
        if end - self.acknowledged > self._window:
            return ClaimResult.BACK_PRESSURED
        if not terms or end > self.term.end:
            if len(terms) == self._max_terms:
                return ClaimResult.BACK_PRESSURED
            if terms:
                self.term.end = self.tail
            room = self._pool.size if terms else min(wanted, self._pool.size)
            self.term = term = self._pool.take(self.tail, max(size, room))
            term.end = min(term.end, MAX_POSITION)
            terms.append(term)
        return 0

    def _open_gate(self) -> None:
        """Lets claims pass again as far as there is room for certain."""
        if self._terms and self.failure is None:
            end, room = self.term.end, self.acknowledged + self._window
            self.limit = end if end < room else room

    # ---- the sender ----------------------------------------------------------------------------------

    def _committed(self) -> int:
        """Position up to which every claim is committed or aborted."""
        return self.tail

    def take(self, limit: int) -> Frames | None:
        """The next frames to be sent, ``limit`` bytes at most but one frame at least; None if there are none."""
        committed = self._committed()
        for term in self._terms:
            if term.end <= self.taken:
                continue
            end = min(committed, term.end)
            if term.aborted or term.holes:
                end = self._skip_holes(term, end)
            if self.taken < end:
                frames = cut_frames(term, self.taken, end, limit)
                self.taken = frames.end
                return frames
        if self._skipped:
            self.acknowledge(self.acknowledged)
        return None

    def _skip_holes(self, term: Term, end: int) -> int:
        """Goes past the holes that are next.

        :param end: up to where all is committed or aborted.
        :returns: up to where there are frames then.
        """
        term.sort_holes()
        for hole_start, hole_end in term.holes:
            if hole_start == self.taken and hole_end <= end:
                self._skipped.append((hole_start, hole_end))
                self.taken = hole_end
            elif hole_start > self.taken:
                return min(end, hole_start)
        return end

    def acknowledge(self, position: int) -> None:
        """Record that everything below a position is acknowledged; its memory may serve again.

        The callbacks of its claims are invoked in the order of their positions.

        :param position: the end of a taken frame.
        """
        self._settle(position)
        while self._waiters and self._waiters[0][0] <= self.acknowledged:
            at, _, waiter = self._waiters.pop(0)
            waiter.callback(at)

    def _settle(self, position: int) -> None:
        """Move the acknowledged position, and what follows from that for terms and for claims that wait for room."""
        skipped, terms = self._skipped, self._terms
        while skipped and skipped[0][0] <= position:
            position = max(position, skipped.pop(0)[1])
        if position > self.acknowledged:
            self.acknowledged = position
        while len(terms) > 1 and terms[0].end <= self.acknowledged:
            self._pool.give(terms.pop(0))
        self._serve()
        self._open_gate()

    def _serve(self) -> None:
        """Give room to claims that wait for it."""

    def trim(self) -> None:
        """Gives back the last term too, if everything is acknowledged: for logs that are idle."""
        if self._terms and self.tail == self.acknowledged:
            self.limit = 0
            self._pool.give(self._terms.pop())
            self.term = NO_TERM

    def when_acknowledged(self, position: int) -> "Deferred[int]":
        """Return a Deferred that fires with ``position`` once everything below it is acknowledged.

        :returns: it fails with :attr:`failure` if that can no longer happen.
        """
        lost_from = self.lost_from
        if position <= (self.acknowledged if lost_from is None else lost_from):
            return succeed(position)
        if lost_from is not None and self.failure is not None:
            return fail(self.failure)
        waiter: Deferred[int] = Deferred()
        self._asked += 1
        item = (position, self._asked, waiter)
        if not self._waiters or self._waiters[-1][0] <= position:
            self._waiters.append(item)
        else:
            insort(self._waiters, item)
        return waiter

    def shut(self, why: Exception) -> None:
        """Refuse further claims; what is claimed can be taken and acknowledged.

        :param why: the reason, which becomes :attr:`failure`; a second one has no effect.
        """
        if self.failure is None:
            self.failure = why
        self.limit = 0
        self._serve()

    def abandon(self, why: Exception) -> None:
        """Give up the log and its memory: what is claimed will not be sent, nor sent again.

        To be called again if threads had claims open.

        :param why: that the Deferreds of :meth:`when_acknowledged` fail with.
        """
        if self.lost_from is None:
            self.lost_from, self.failure = self.acknowledged, why
        self.shut(why)
        waiters, self._waiters = self._waiters, []
        self.taken = self._committed()
        self._settle(self.taken)
        self.trim()
        for _, _, waiter in waiters:
            waiter.errback(why)

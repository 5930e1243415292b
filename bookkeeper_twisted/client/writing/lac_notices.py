"""Tells bookies the last add confirmed of writers that fall idle (BP-7's explicit LAC), for readers who follow them.

An entry carries the last add confirmed of the moment in which it is sent, and never its own id.  The newest entries of
a ledger are therefore known to be confirmed only by what comes after them: another entry, the close, or a notice.  One
timer serves all writers of a client, and stands still while none has anything to tell.  Nothing is done when an entry
completes: a batch says which writers it was sent for, and what the timer looks at, and sends, is bounded.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Protocol

import attrs
from twisted.internet.defer import DeferredList
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ...codec.digest import Digester
from ...errors import ClientClosedError
from ...ledger.schedule import Schedule
from ...model import INVALID_ENTRY_ID
from ..interfaces import IBookieClient

MOST_LOOKS = 256
"""Writers that one look of the timer passes: thousands of writers must not take a turn of the reactor."""

MOST_SENT = 16
"""Notices that one look sends: writers that append seldom, and are many, must not send as many notices as entries."""

FIRST_REST = 1.0
LONGEST_REST = 60.0
"""Seconds between two tries of a notice that bookies did not take; doubled with each."""


@attrs.define(eq=False)
class LacNotice:
    """The last add confirmed that the bookies of one ledger were told.

    :ivar bookies: the flow that the ledger is written over.
    :ivar told: the last add confirmed that they have taken.
    :ivar due: time before which nothing is sent.
    :ivar rest: seconds until the next try of a notice that is not taken.
    """

    bookies: IBookieClient
    digester: Digester
    told: int = INVALID_ENTRY_ID
    due: float = 0.0
    rest: float = FIRST_REST


class NoticedWriter(Protocol):
    """A writer as its notices see it (:class:`~.quorum_writer.QuorumWriter`)."""

    ledger_id: int
    schedule: Schedule
    confirmed: int
    ensemble: tuple[str, ...]
    notice: LacNotice | None

    @property
    def idle(self) -> bool:
        """Whether no entry is in flight."""


class LacNotices:
    """The notices of all writers of one client.

    :param interval: seconds for which a writer sends no entry, at least, before a notice; at most twice as many.  0 for
        no notices at all.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, interval: float) -> None:
        self._clock = clock
        self._interval = interval
        self._sent: dict[NoticedWriter, None] = {}  # since the last look; a set has no order that repeats
        self._quiet: dict[NoticedWriter, None] = {}  # have something to tell, in the order in which they are looked at
        self._timer: IDelayedCall | None = None
        self._is_near = False  # whether the next look is an interval away at most

    def sent(self, writers: Iterable[NoticedWriter]) -> None:
        """Look at writers again once the interval has passed, because entries of theirs were sent or confirmed.

        :param writers: of the entries.
        """
        if self._interval:
            self._sent.update(dict.fromkeys(writers))
            if not self._is_near:
                self._look_after(self._interval)

    def stop(self) -> None:
        """Send nothing more."""
        self._interval = 0.0
        self._sent.clear()
        self._quiet.clear()
        self._cancel()

    def _look_after(self, seconds: float) -> None:
        self._cancel()
        self._is_near = seconds <= self._interval
        self._timer = self._clock.callLater(seconds, self._look)

    def _cancel(self) -> None:
        timer, self._timer, self._is_near = self._timer, None, False
        if timer is not None:
            timer.cancel()

    def _look(self) -> None:
        self._timer, self._is_near = None, False
        sent, self._sent = self._sent, {}
        now, quiet, room = self._clock.seconds(), self._quiet, MOST_SENT
        wait = self._interval if sent or len(quiet) > MOST_LOOKS else LONGEST_REST
        for writer in list(islice(quiet, MOST_LOOKS)):
            del quiet[writer]
            notice = writer.notice
            if notice is None or writer in sent:
                continue
            if not writer.idle or notice.due > now or (writer.confirmed > notice.told and not room):
                quiet[writer] = None
                wait = min(wait, max(notice.due - now, self._interval))
            elif writer.confirmed > notice.told:
                room -= 1
                self._send(writer, notice)
        quiet.update(sent)
        if quiet or self._sent:
            self._look_after(self._interval if self._sent else wait)

    def _send(self, writer: NoticedWriter, notice: LacNotice) -> None:
        """Tells all bookies of the newest entries: readers wait at those of the entry that they have next."""
        ledger_id, lac, key = writer.ledger_id, writer.confirmed, notice.digester.master_key
        body = notice.digester.seal_lac(ledger_id, lac)
        writes = [notice.bookies.write_lac(bookie_id, ledger_id, key, lac, body) for bookie_id in writer.ensemble]
        DeferredList(writes, consumeErrors=True).addCallback(self._answered, writer, notice, lac)

    def _answered(
        self, outcomes: Any, writer: NoticedWriter, notice: LacNotice, lac: int
    ) -> None:  # fmt: skip
        """A notice is taken where no write set has fewer bookies that know it than have its entries."""
        errors = [failure.value for ok, failure in outcomes if not ok]
        schedule = writer.schedule
        if len(errors) <= schedule.write_quorum - schedule.ack_quorum:
            notice.told, notice.rest = max(notice.told, lac), FIRST_REST
            return
        self._log.debug("ledger {id}: explicit LAC: {error}", id=writer.ledger_id, error=errors[0])
        if not any(isinstance(error, ClientClosedError) for error in errors):
            notice.due = self._clock.seconds() + notice.rest
            notice.rest = min(2 * notice.rest, LONGEST_REST)
            self.sent((writer,))

"""Notices of the last add confirmed (explicit LACs, BP-7), which idle writers send to bookies for tailing readers.

The LAC in an entry is always lower than the entry's own id.  So readers learn that the newest entry is confirmed only
from a later entry, from the close of the ledger, or from a notice.

When a batch of entries is sent, :class:`LacNotices` gets the writers that have entries in it, once for the batch and
not for each entry.  One timer serves all writers of a client; it is stopped while no writer needs a notice.  Each call
of the timer checks a limited number of writers and sends a limited number of notices.
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
from ..logger_context import LoggerContext, logger_in

MOST_LOOKS = 256
"""Maximum number of writers that one call of the timer checks, so that it does not block the reactor."""

MOST_SENT = 16
"""Maximum number of notices (explicit LACs) that one call of the timer sends, so that bookies are not flooded."""

FIRST_RETRY_DELAY = 1.0
MAX_RETRY_DELAY = 60.0
"""Minimum and maximum delay in seconds before a notice that bookies did not accept is sent again.

The delay doubles with each failure.
"""


@attrs.define(eq=False)
class LacNotice:
    """The state of the notices (explicit LACs) of one ledger.

    :ivar bookies: sends the requests to bookies for this ledger.
    :ivar accepted_lac: the highest LAC that enough bookies have accepted in a notice.
    :ivar due: time before which no notice is sent, in seconds of the clock.
    :ivar retry_delay: delay in seconds before the next notice is sent again if too few bookies accept it.
    :ivar logger_context: names and values that the program wants in log lines about this ledger; None for none.
    """

    bookies: IBookieClient
    digester: Digester
    accepted_lac: int = INVALID_ENTRY_ID
    due: float = 0.0
    retry_delay: float = FIRST_RETRY_DELAY
    logger_context: LoggerContext | None = None


class NoticedWriter(Protocol):
    """The attributes of a writer (:class:`~.quorum_writer.QuorumWriter`) that :class:`LacNotices` uses."""

    ledger_id: int
    schedule: Schedule
    confirmed: int
    ensemble: tuple[str, ...]
    notice: LacNotice | None

    @property
    def idle(self) -> bool:
        """Whether the writer has no entry in flight."""


class LacNotices:
    """Sends notices (explicit LACs) for all idle writers of one client.

    :param interval: seconds between two checks.  A notice is sent when a writer has been idle for one to two intervals.
        With 0, no notices are sent.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, interval: float) -> None:
        self._clock = clock
        self._interval = interval
        # writers that sent entries since the last call of the timer; a dict, because a set has no stable order
        self._sent: dict[NoticedWriter, None] = {}
        # Writers whose LAC may have to be sent in a notice.  The timer checks them from the first on, and moves writers
        # to the end that must be checked again later.
        self._quiet: dict[NoticedWriter, None] = {}
        self._timer: IDelayedCall | None = None
        self._is_near = False  # whether the timer is set to fire within one interval

    def sent(self, writers: Iterable[NoticedWriter]) -> None:
        """Record that ``writers`` have sent or confirmed entries.

        The timer checks later whether the LAC of these writers must be sent to bookies in a notice.

        :param writers: the writers of a batch.
        """
        if self._interval:
            self._sent.update(dict.fromkeys(writers))
            if not self._is_near:
                self._look_after(self._interval)

    def stop(self) -> None:
        """Stop the timer and send no more notices."""
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
        wait = self._interval if sent or len(quiet) > MOST_LOOKS else MAX_RETRY_DELAY
        for writer in list(islice(quiet, MOST_LOOKS)):
            del quiet[writer]
            notice = writer.notice
            if notice is None or writer in sent:
                continue
            if not writer.idle or notice.due > now or (writer.confirmed > notice.accepted_lac and not room):
                quiet[writer] = None
                wait = min(wait, max(notice.due - now, self._interval))
            elif writer.confirmed > notice.accepted_lac:
                room -= 1
                self._send(writer, notice)
        quiet.update(sent)
        if quiet or self._sent:
            self._look_after(self._interval if self._sent else wait)

    def _send(self, writer: NoticedWriter, notice: LacNotice) -> None:
        """Send a notice (explicit LAC) to all bookies of the newest ensemble, because readers may poll any of them."""
        ledger_id, lac, key = writer.ledger_id, writer.confirmed, notice.digester.master_key
        body = notice.digester.seal_lac(ledger_id, lac)
        writes = [notice.bookies.write_lac(bookie_id, ledger_id, key, lac, body) for bookie_id in writer.ensemble]
        DeferredList(writes, consumeErrors=True).addCallback(self._answered, writer, notice, lac)

    def _answered(
        self, outcomes: Any, writer: NoticedWriter, notice: LacNotice, lac: int
    ) -> None:  # fmt: skip
        """Record the LAC of a notice as sent, if an ack quorum of every write set has accepted the notice.

        If not, send the notice again later.

        :param outcomes: the results of the requests to all bookies of the ensemble.
        :param lac: the LAC in the notice.
        """
        errors = [failure.value for ok, failure in outcomes if not ok]
        schedule = writer.schedule
        if len(errors) <= schedule.write_quorum - schedule.ack_quorum:
            notice.accepted_lac, notice.retry_delay = max(notice.accepted_lac, lac), FIRST_RETRY_DELAY
            return
        log = logger_in(self._log, notice.logger_context)
        log.debug("ledger {id}: explicit LAC: {error}", id=writer.ledger_id, error=errors[0])
        if not any(isinstance(error, ClientClosedError) for error in errors):
            notice.due = self._clock.seconds() + notice.retry_delay
            notice.retry_delay = min(2 * notice.retry_delay, MAX_RETRY_DELAY)
            self.sent((writer,))

"""The rule for bookies that are registered but do not answer: checks send them no requests for a while.

A bookie may be registered and accept connections, but answer no request, for example because its process was stopped
by a signal.  If every check waited for such a bookie, a check of all ledgers would take a minute for each of the
bookie's replicas.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..errors import BookieHandleNotAvailableError, BookKeeperError, ClientClosedError
from ..ledger.bookie_health import NO_REPLY

T = TypeVar("T")

ENOUGH = 3
"""Number of consecutive unanswered requests after which a bookie gets no requests of checks for a while."""
FIRST_PAUSE = 30.0
"""Seconds from the last unanswered request to the request that tests whether the bookie answers again."""
LONGEST_PAUSE = 120.0
"""Maximum number of seconds between two tests whether the bookie answers again; each test doubles the pause."""


@attrs.define
class _Silence:
    """A bookie that gets no requests of checks for a while, because it does not answer.

    :ivar since: clock time, in seconds, of the last request without an answer.
    :ivar until: clock time, in seconds, of the next test whether the bookie answers again.
    """

    since: float
    pause: float
    until: float


class UnansweringBookies:
    """A record, shared by many checks, of the bookies that did not answer :data:`ENOUGH` requests in a row.

    Checks send no requests to such a bookie, except for one test after each pause.  They do not mark its ledgers as
    underreplicated, because the bookie may still have all its entries.

    :ivar left_out: number of requests that were not sent, because the bookie does not answer.
    :param what: name of the kind of requests, for the log; for example "checks of ledgers".
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, what: str) -> None:
        self.left_out = 0
        self._clock = clock
        self._what = what
        self._in_a_row: dict[str, int] = {}
        self._silent: dict[str, _Silence] = {}

    @property
    def bookies(self) -> Collection[str]:
        """The ids of the bookies that do not answer."""
        return self._silent.keys()

    async def ask(self, bookie_id: str, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request with ``send``, and record whether ``bookie_id`` answered.

        :raises BookieHandleNotAvailableError: the bookie did not answer earlier requests, so this one was not sent.
        :raises bookkeeper_twisted.errors.BookKeeperError: the request failed.
        """
        refusal = self.refusal(bookie_id)
        if refusal is not None:
            raise refusal
        try:
            answer = await send()
        except BookKeeperError as error:  # does not catch CancelledError: a cancelled request tells nothing
            self.heard(bookie_id, error)
            raise
        self.heard(bookie_id)
        return answer

    def refusal(self, bookie_id: str) -> BookieHandleNotAvailableError | None:
        """Return None if the caller may send a request to ``bookie_id``, or an error if it must not send the request.

        For a bookie that does not answer, the result is an error.  But after each pause, one call returns None: the
        caller must then send its request, which tests whether the bookie answers again.
        """
        silence = self._silent.get(bookie_id)
        if silence is None:
            return None
        now = self._clock.seconds()
        if now >= silence.until:
            silence.pause = min(2 * silence.pause, LONGEST_PAUSE)
            silence.until = now + silence.pause
            return None
        self.left_out += 1
        return BookieHandleNotAvailableError(f"not checked: bookie {bookie_id} does not answer")

    def heard(self, bookie_id: str, error: BookKeeperError | None = None) -> None:
        """Record the end of a request to ``bookie_id``.

        :param error: the error of the request; None if it succeeded.  An error that the bookie sent is an answer, too.
        """
        if isinstance(error, NO_REPLY):
            self._unanswered(bookie_id)
        elif not isinstance(error, ClientClosedError):
            self._answered(bookie_id)

    def _unanswered(self, bookie_id: str) -> None:
        if bookie_id in self._silent:
            return
        count = self._in_a_row[bookie_id] = self._in_a_row.get(bookie_id, 0) + 1
        if count >= ENOUGH:
            now = self._clock.seconds()
            self._silent[bookie_id] = _Silence(now, FIRST_PAUSE, now + FIRST_PAUSE)
            text = "bookie {bookie_id} does not answer: {what} leave it out and try it again after {pause:.0f} s"
            self._log.warn(text, bookie_id=bookie_id, what=self._what, pause=FIRST_PAUSE)

    def _answered(self, bookie_id: str) -> None:
        self._in_a_row.pop(bookie_id, None)
        silence = self._silent.pop(bookie_id, None)
        if silence is not None:
            seconds = self._clock.seconds() - silence.since
            text = "bookie {bookie_id} answers again after {seconds:.0f} s"
            self._log.info(text, bookie_id=bookie_id, seconds=seconds)

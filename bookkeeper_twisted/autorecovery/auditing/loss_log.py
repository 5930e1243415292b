"""The auditor's log lines about lost bookies: one line for each loss, and one for each return of a bookie."""

from collections.abc import Collection
from datetime import UTC, datetime

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import BookKeeperError
from .bookie_audit import BookieAudit


class LossLog:
    """A log of lost bookies.  During the delay after a loss, it also counts and logs the ledgers of the lost bookie.

    The count reads the metadata of all ledgers, as an audit does.  If the bookie returns, the count is cancelled.

    A bookie that is missing when the auditor begins was lost before: an earlier auditor may have logged the loss long
    ago.  The lines about it say so, because the time of the loss is not stored.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, audit: BookieAudit) -> None:
        self._clock = clock
        self._audit = audit
        self._since: dict[str, float] = {}
        self._lost_before: frozenset[str] | None = None  # None until the auditor knows the registered bookies
        self._named: set[str] = set()
        self._counting: Deferred[None] | None = None

    def bookies_are(self, missing: Collection[str], available: Collection[str]) -> None:
        """Record which bookies are missing and when they were lost; log each bookie that has returned.

        :param missing: ids of the bookies that are expected to be registered but are not.
        :param available: ids of the registered bookies.
        """
        now = self._clock.seconds()
        if self._lost_before is None:
            self._lost_before = frozenset(missing)
        for bookie_id in sorted(self._since.keys() & set(available)):
            seconds = now - self._since.pop(bookie_id)
            self._named.discard(bookie_id)
            more = "more than " if bookie_id in self._lost_before else ""
            self._log.info(
                "bookie {bookie_id} is back after {more}{seconds:.0f} s", bookie_id=bookie_id, more=more,
                seconds=seconds,
            )  # fmt: skip
        self._lost_before -= frozenset(available)
        for bookie_id in missing:
            self._since.setdefault(bookie_id, now)

    def lost(self, bookies: Collection[str], delay: int) -> None:
        """Log the loss of each of the ``bookies``, but only one time for each loss.

        :param bookies: ids of the lost bookies.
        :param delay: seconds until their ledgers are marked as underreplicated; 0 if this happens now.
        """
        when = f"in {delay} s" if delay else "now"
        for bookie_id in sorted(set(bookies) - self._named):
            self._named.add(bookie_id)
            self._log.info(
                "bookie {bookie_id} is lost since {since}: its ledgers will be marked {when}",
                bookie_id=bookie_id, since=self._text(bookie_id), when=when,
            )  # fmt: skip

    def wait(self, bookie_id: str, due: float) -> None:
        """Count the ledgers of a lost bookie, and log how many will be marked as underreplicated after the delay.

        :param due: time at which the ledgers will be marked, in seconds of the clock.
        """
        self.stop()
        self._counting = Deferred.fromCoroutine(self._count(bookie_id, due))
        self._counting.addErrback(self._not_counted, bookie_id)

    def stop(self) -> None:
        """Cancel the count of a lost bookie's ledgers; call this when the bookie has returned or its audit begins.

        The count is only for the log, and an audit logs the number of ledgers, too.
        """
        counting, self._counting = self._counting, None
        if counting is not None:
            counting.cancel()

    async def _count(self, bookie_id: str, due: float) -> None:
        count = await self._audit.count(bookie_id)
        self._log.info(
            "bookie {bookie_id} is lost since {since}: {n} ledgers will be marked in {left:.0f} s",
            bookie_id=bookie_id, since=self._text(bookie_id), n=count, left=max(due - self._clock.seconds(), 0),
        )  # fmt: skip

    def _not_counted(self, failure: Failure, bookie_id: str) -> None:
        if failure.check(BookKeeperError):
            text = "how many ledgers name bookie {bookie_id} is not known: {error}"
            self._log.warn(text, bookie_id=bookie_id, error=failure.getErrorMessage())
        elif not failure.check(CancelledError):
            self._log.failure("the ledgers of bookie {bookie_id} cannot be counted", failure, bookie_id=bookie_id)

    def _text(self, bookie_id: str) -> str:
        """Return the text of the time at which a bookie was lost, or before which it was, in UTC."""
        since = self._since.setdefault(bookie_id, self._clock.seconds())
        time = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"before {time}, when this auditor began" if bookie_id in (self._lost_before or ()) else time

"""The interface of the checker of ledgers, and the status of a ledger that a replication worker has locked."""

from collections.abc import Collection, Sequence

import attrs
from zope.interface import Interface

from ..ledger.findings import CheckReport
from ..limits.adaptive import RunningJob
from ..limits.ratelimit import Rate
from ..model import LedgerMetadata

_REPAIR = "replication of ledger "


class ILedgerChecker(Interface):
    """A checker of ledgers: it finds the bookies that lack entries of a ledger."""

    def unanswering() -> Collection[str]:
        """Return the ids of bookies that did not answer recent requests; checks send them no requests for a while."""

    async def check(
        ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = (), before: CheckReport | None = None
    ) -> CheckReport:
        """Read entries from the bookies of each fragment of a ledger, and verify them.

        Cancelling the check cancels its reads.

        :param metadata: the newest metadata of the ledger.
        :param suspects: ids of bookies from which the check reads all entries, not only a sample.  The check also asks
            the metadata store whether these bookies are registered.
        :param before: the report of an earlier check in the same repair.  Replicas that were complete in this report
            are not read again, except the replicas on ``suspects``.
        :raises bookkeeper_twisted.errors.ClientClosedError: the client was closed during the check.
        """


@attrs.define
class CopyProgress:
    """The progress of a running attempt to repair a ledger.

    :ivar began: time at which the attempt began, in seconds of the worker's clock.
    :ivar fragments: number of fragments with lost entries.
    :ivar done: number of these fragments that were repaired, or whose repair failed.
    :ivar entries: estimated number of copies of entries to make.
    :ivar copied: number of copies of entries that bookies have stored.
    :ivar n_bytes: number of bytes of these copies.
    """

    began: float
    fragments: int = 0
    done: int = 0
    entries: int = 0
    copied: int = 0
    n_bytes: int = 0
    _measured_from: float = attrs.field(init=False, default=attrs.Factory(lambda self: self.began, takes_self=True))
    _copied_before: int = attrs.field(init=False, default=0)

    def forget_speed(self, now: float) -> None:
        """Measure the speed from ``now`` on, in seconds of the worker's clock: a limit was changed."""
        self._measured_from, self._copied_before = now, self.copied

    def count(self, entries: int, n_bytes: int) -> None:
        """Record that a bookie has stored copies of ``entries`` entries, which have ``n_bytes`` bytes in total."""
        self.copied += entries
        self.n_bytes += n_bytes

    def eta(self, now: float) -> float | None:
        """Estimate the seconds until all entries are copied, by the mean speed since the last change of a limit.

        The result is None before the first copy, and before the first one after the change.

        :param now: the time, in seconds of the worker's clock.
        """
        left = max(self.entries - self.copied, 0)
        copied = self.copied - self._copied_before
        return (now - self._measured_from) * left / copied if copied else None

    def left(self) -> tuple[int, float]:
        """Return the number of copies that are left, and of their bytes; the latter is 0 before the first copy."""
        left = max(self.entries - self.copied, 0)
        return left, left * self.n_bytes / self.copied if self.copied else 0.0

    def seconds_at(self, limit: Rate, beside: Sequence["CopyProgress"] = ()) -> float:
        """Return the seconds that the copies that are left take at a speed ``limit``; 0 if it does not limit them.

        Before the first copy, the size of the entries is unknown, and only the limit of entries counts.

        :param beside: the progress of all repairs that use the limit now, this one included.  Each of them gets the
            same share of the limit until it ends.
        """
        return limit.shared_seconds(self.left(), [job.left() for job in beside or (self,)])


@attrs.frozen
class LedgerStatus:
    """The status of a ledger with an underreplicated mark that a replication worker has locked.

    :ivar state: *repairing*: the worker copies entries; *grace*: the writer of the ledger gets time to replace a lost
        bookie itself; *waiting*: bookies could not answer, and the worker will try again; *impossible*: the ledger
        cannot be repaired until bookies return or are added.
    :ivar reason: why the ledger is not repaired yet, for people to read.
    :ivar attempts: number of failed attempts.
    :ivar since: time at which the worker locked the ledger, in seconds of the worker's clock.
    :ivar next_attempt: time of the next attempt, in seconds of the worker's clock; None during an attempt.
    :ivar progress: the progress of the running attempt; None between attempts.
    """

    ledger_id: int
    state: str
    reason: str
    attempts: int
    since: float
    next_attempt: float | None
    progress: CopyProgress | None = None


def repair_of(ledger_id: int) -> str:
    """Return the name of the job that repairs a ledger: by this name, speed limits and operators know the job.

    :param ledger_id: id of the ledger.
    """
    return f"{_REPAIR}{ledger_id}"


def repaired_ledger(job: RunningJob) -> int:
    """Return the id of the ledger that a ``job`` of a replication worker repairs."""
    return int(job.name.removeprefix(_REPAIR))

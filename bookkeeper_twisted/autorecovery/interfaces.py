"""The interface of the checker of ledgers, and the status of a ledger that a replication worker has locked."""

from collections.abc import Collection

import attrs
from zope.interface import Interface

from ..ledger.findings import CheckReport
from ..model import LedgerMetadata


class ILedgerChecker(Interface):
    """A checker of ledgers: it finds the bookies that lack entries of a ledger."""

    def unanswering() -> Collection[str]:
        """Return the ids of the bookies that did not answer recent requests; checks leave them out for a while."""

    async def check(
        ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = (), before: CheckReport | None = None
    ) -> CheckReport:
        """Read entries from the bookies of each fragment of a ledger, and verify them.

        Cancelling the check cancels its reads.

        :param metadata: the newest metadata of the ledger.
        :param suspects: ids of bookies from which the check reads all entries, not only a sample.  The check also asks
            the metadata store whether these bookies are registered.
        :param before: the report of an earlier check in the same repair.  Replicas that were complete in it are not
            read again, unless a suspect has them.
        :raises bookkeeper_twisted.errors.ClientClosedError: the client was closed during the check.
        """


@attrs.define
class CopyProgress:
    """The progress of a present attempt to repair a ledger.

    :ivar began: time of its begin, in seconds of the worker's clock.
    :ivar fragments: number of fragments for which entries are copied.
    :ivar done: number of these fragments that are repaired, or cannot be repaired now.
    :ivar entries: number of copies of entries to make, as far as the checks have found them lost.
    :ivar copied, n_bytes: number of copies of entries made so far, and their bytes.
    """

    began: float
    fragments: int = 0
    done: int = 0
    entries: int = 0
    copied: int = 0
    n_bytes: int = 0

    def count(self, entries: int, n_bytes: int) -> None:
        """Count copies that a bookie has stored.

        :param entries: number of entries.
        :param n_bytes: their size.
        """
        self.copied += entries
        self.n_bytes += n_bytes

    def eta(self, now: float) -> float | None:
        """Return the seconds until the last copy at the mean speed so far; None if nothing was copied yet.

        :param now: the time, in seconds of the worker's clock.
        """
        left = max(self.entries - self.copied, 0)
        return (now - self.began) * left / self.copied if self.copied else None


@attrs.frozen
class LedgerStatus:
    """The status of a marked ledger that a replication worker has locked.

    :ivar state: *repairing*: the worker copies entries; *grace*: the writer of the ledger gets time to replace a lost
        bookie itself; *waiting*: bookies could not answer, and the worker will try again; *impossible*: the ledger
        cannot be repaired until bookies return or are added.
    :ivar reason: why the ledger is not repaired yet, for people to read.
    :ivar attempts: number of failed attempts.
    :ivar since: time at which the worker took the lock, in seconds of its clock.
    :ivar next_attempt: time of the next attempt, in seconds of the worker's clock; None during an attempt.
    :ivar progress: the progress of the present attempt; None between attempts.
    """

    ledger_id: int
    state: str
    reason: str
    attempts: int
    since: float
    next_attempt: float | None
    progress: CopyProgress | None = None

"""The interface of the checker of ledgers, and the status of a ledger that a replication worker has locked."""

from collections.abc import Collection

import attrs
from zope.interface import Interface

from ..ledger.findings import CheckReport
from ..model import LedgerMetadata


class ILedgerChecker(Interface):
    """A checker of ledgers: it finds the bookies that lack entries of a ledger."""

    def unanswering() -> Collection[str]:
        """Return the ids of the bookies that answered none of the last requests; checks leave them out for a while."""

    async def check(
        ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = (), before: CheckReport | None = None
    ) -> CheckReport:
        """Read entries from the bookies of each fragment of a ledger, and verify them.

        Cancelling the check cancels its reads.

        :param metadata: the metadata of the ledger, read just before.
        :param suspects: ids of bookies of which all entries are read, not only a sample.  The check asks the metadata
            store itself whether these bookies are registered.
        :param before: report of an earlier check in the same repair; replicas that were complete then are not read
            again, except on suspects.
        :raises bookkeeper_twisted.errors.ClientClosedError: the client was closed during the check.
        """


@attrs.frozen
class LedgerStatus:
    """The status of a marked ledger that a replication worker has locked.

    :ivar state: *repairing*; *grace*: its writer gets time to replace a lost bookie itself; *waiting*: bookies could
        not answer, and the worker will try again; *impossible*: it cannot be repaired until bookies return or are
        added.
    :ivar reason: why the ledger is not repaired yet, for people to read.
    :ivar attempts: number of failed attempts.
    :ivar since: time at which the worker took the lock, in seconds of its clock.
    :ivar next_attempt: time of the next attempt, in seconds of the worker's clock; None during an attempt.
    """

    ledger_id: int
    state: str
    reason: str
    attempts: int
    since: float
    next_attempt: float | None

"""The interfaces of autorecovery."""

from collections.abc import Collection

import attrs
from zope.interface import Interface

from ..ledger.findings import CheckReport
from ..model import LedgerMetadata


class ILedgerChecker(Interface):
    """A checker, which finds the replicas of a ledger that lack entries."""

    async def check(
        ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = (), before: CheckReport | None = None
    ) -> CheckReport:
        """Ask the bookies of each fragment for entries and verify them.

        Cancelling it ends the reads under way.

        :param metadata: the metadata, read just now.
        :param suspects: bookies of which every entry is read, whatever the percentage of other checks, and for which
            the store is asked whether they are there.
        :param before: an earlier check of the same repair: what it found whole on other bookies is not read again.
        :raises bookkeeper_twisted.errors.ClientClosedError: the client was closed during the check.
        """


@attrs.frozen
class LedgerStatus:
    """The status of a marked ledger that a worker has locked.

    :ivar state: *repairing*; *grace*: left to its writer for a while; *waiting*: bookies could not be asked, tried
        again later; *impossible*: not to be repaired before bookies come back or are added.
    :ivar reason: why it is not repaired yet, for people to read.
    :ivar attempts: number of failed attempts.
    :ivar since: time at which the lock was taken, by the worker's clock.
    :ivar next_attempt: time of the next attempt, by that clock; None during an attempt.
    """

    ledger_id: int
    state: str
    reason: str
    attempts: int
    since: float
    next_attempt: float | None

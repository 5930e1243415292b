"""The seams of autorecovery."""

from collections.abc import Collection

from zope.interface import Interface

from ..ledger.findings import CheckReport
from ..model import LedgerMetadata


class ILedgerChecker(Interface):
    """Finds out which replicas of a ledger lack entries."""

    async def check(ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = ()) -> CheckReport:
        """Ask the bookies of each fragment for entries and verify them.

        Cancelling it ends the reads under way.

        :param metadata: as it was read just now.
        :param suspects: bookies of which every entry is read, whatever the percentage of other checks.
        :raises bookkeeper_twisted.errors.ClientClosedError: the client was closed meanwhile.
        """

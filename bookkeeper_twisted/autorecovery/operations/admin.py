"""The administration of autorecovery: its switch, its marks, its auditor, the delay after a loss.

Everything is in the metadata store, so it holds for auditors and workers of all processes, Apache BookKeeper's too.
"""

from collections.abc import AsyncIterator, Collection, Mapping

from ...client.admin import BookKeeperAdmin
from ...config.autorecovery import LONGEST_DELAY
from ...errors import AutorecoveryDisabledError, IncorrectParameterError, NoAuditorError, NotUnderreplicatedError
from ...metadata.interfaces import IMetadataDriver
from ...model import AuditorCheck, UnderreplicatedLedger

_LONG_AGO = 21 * 24 * 3600
"""Seconds: longer than the interval of any periodic check, so that a check of that age is due."""


async def cluster_info(admin: BookKeeperAdmin) -> Mapping[str, object]:
    """Return the numbers of bookies and the state of autorecovery, under the names that Apache BookKeeper gives them.

    :param admin: of the cluster.
    :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
    """
    writable, read_only = await admin.writable_bookies(), await admin.read_only_bookies()
    known = await admin.all_bookies() | writable | read_only
    autorecovery = AutorecoveryAdmin(admin.client.metadata)
    auditor = await autorecovery.auditor()
    return {
        "auditorElected": auditor is not None,
        "auditorId": auditor or "",
        "clusterUnderReplicated": await autorecovery.any_underreplicated(),
        "ledgerReplicationEnabled": await autorecovery.is_enabled(),
        "totalBookiesCount": len(known),
        "writableBookiesCount": len(writable),
        "readonlyBookiesCount": len(read_only),
        "unavailableBookiesCount": len(known - writable - read_only),
    }


class AutorecoveryAdmin:
    """Administration of the autorecovery of a cluster.

    :param driver: open.
    """

    def __init__(self, driver: IMetadataDriver) -> None:
        self._marks = driver.underreplication
        self._auditing = driver.auditing

    # ---- the switch ----------------------------------------------------------------------------------

    async def is_enabled(self) -> bool:
        """Test whether autorecovery is on."""
        return await self._marks.is_enabled()

    async def set_enabled(self, enabled: bool) -> bool:
        """Switch auditors and workers of the whole cluster on or off.

        :param enabled: True for on.
        :returns: False if they were so already.
        """
        return await self._marks.set_enabled(enabled)

    # ---- ledgers -------------------------------------------------------------------------------------

    async def underreplicated(
        self, missing: str = "", excluding: str = ""
    ) -> AsyncIterator[tuple[int, UnderreplicatedLedger]]:
        """Yield ids and marks of marked ledgers in ascending order, without ledgers repaired during the listing.

        :param missing: only ledgers whose mark names this bookie.
        :param excluding: only ledgers whose mark does not name this bookie.
        """
        async for ledger_id in self._marks.marked_ledgers():
            try:
                mark = (await self._marks.read_mark(ledger_id)).value
            except NotUnderreplicatedError:
                continue
            if (not missing or missing in mark.replicas) and (not excluding or excluding not in mark.replicas):
                yield ledger_id, mark

    async def any_underreplicated(self) -> bool:
        """Test whether any ledger is marked."""
        async for _ in self._marks.marked_ledgers():
            return True
        return False

    async def recovering(self) -> dict[int, str]:
        """Return the text of each lock by ledger id: the worker's host, and why the ledger is not repaired yet."""
        return await self._marks.locked_ledgers()

    # ---- the auditor ---------------------------------------------------------------------------------

    async def auditor(self) -> str | None:
        """Return the bookie id of the auditor, None if no auditor is elected."""
        return await self._auditing.auditor()

    async def lost_bookie_delay(self) -> int:
        """Return the seconds between the loss of a bookie and the audit."""
        return await self._auditing.lost_bookie_delay() or 0

    async def set_lost_bookie_delay(self, seconds: int) -> None:
        """Set the delay between a loss and its audit; writing the stored value, or 0, also triggers an audit.

        :param seconds: between the loss of a bookie and the audit.
        :raises IncorrectParameterError: it is negative, or more than auditors can read.
        """
        if not 0 <= seconds <= LONGEST_DELAY:
            raise IncorrectParameterError(f"the delay after the loss of a bookie cannot be {seconds} s")
        await self._auditing.set_lost_bookie_delay(seconds)

    async def trigger_audit(self) -> None:
        """Have the auditor look for lost bookies now.

        :raises AutorecoveryDisabledError: it would not do so.
        :raises NoAuditorError: no auditor is elected.
        """
        if not await self._marks.is_enabled():
            raise AutorecoveryDisabledError("autorecovery is disabled in this cluster: autorecovery -enable")
        if await self._auditing.auditor() is None:
            raise NoAuditorError("no auditor is elected: no process of this cluster runs autorecovery")
        await self._auditing.set_lost_bookie_delay(await self.lost_bookie_delay())

    async def force_checks(self, checks: Collection[AuditorCheck], now: float) -> int:
        """Store that periodic checks ended long ago, so that an auditor that starts runs them.

        :param now: the time in seconds since the epoch.
        :returns: the time that was stored, in ms since the epoch.
        """
        ms = int((now - _LONG_AGO) * 1000)
        for check in checks:
            await self._auditing.set_check_time(check, ms)
        return ms

"""The administration of autorecovery: its switch, underreplicated marks, locks, auditor, and lost-bookie delay.

All settings are in the metadata store, so they apply to the auditors and workers of all processes, including those of
Apache BookKeeper.
"""

from collections.abc import AsyncIterator, Collection, Mapping

from ...client.admin import BookKeeperAdmin
from ...config.autorecovery import LONGEST_DELAY
from ...errors import AutorecoveryDisabledError, IncorrectParameterError, NoAuditorError, NotUnderreplicatedError
from ...metadata.interfaces import IMetadataDriver
from ...model import AuditorCheck, UnderreplicatedLedger

_LONG_AGO = 21 * 24 * 3600
"""Seconds by which the stored time of a check is set back, so that the check is due; longer than any check's interval.
"""


async def cluster_info(admin: BookKeeperAdmin) -> Mapping[str, object]:
    """Return the numbers of bookies and the state of autorecovery, under the names that Apache BookKeeper uses.

    :param admin: the administration of the cluster.
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
    """The administration of the autorecovery of a cluster.

    :param driver: the metadata driver, which is open.
    """

    def __init__(self, driver: IMetadataDriver) -> None:
        self._marks = driver.underreplication
        self._auditing = driver.auditing

    # ---- the switch ----------------------------------------------------------------------------------

    async def is_enabled(self) -> bool:
        """Test whether autorecovery is switched on."""
        return await self._marks.is_enabled()

    async def set_enabled(self, enabled: bool) -> bool:
        """Switch autorecovery on or off for the whole cluster.

        :param enabled: True to switch it on.
        :returns: False if autorecovery was in the requested state already.
        """
        return await self._marks.set_enabled(enabled)

    # ---- ledgers -------------------------------------------------------------------------------------

    async def underreplicated(
        self, missing: str = "", excluding: str = ""
    ) -> AsyncIterator[tuple[int, UnderreplicatedLedger]]:
        """Yield the id and the underreplicated mark of each ledger that has a mark, by ascending id.

        :param missing: if given, yield only ledgers whose mark contains this bookie id.
        :param excluding: if given, yield only ledgers whose mark does not contain this bookie id.
        """
        async for ledger_id in self._marks.marked_ledgers():
            try:
                mark = (await self._marks.read_mark(ledger_id)).value
            except NotUnderreplicatedError:
                continue
            if (not missing or missing in mark.replicas) and (not excluding or excluding not in mark.replicas):
                yield ledger_id, mark

    async def any_underreplicated(self) -> bool:
        """Test whether any ledger is marked as underreplicated."""
        async for _ in self._marks.marked_ledgers():
            return True
        return False

    async def recovering(self) -> dict[int, str]:
        """Return the text of each replication lock, by ledger id.

        The text has the host name of the worker.  If the worker waits with the repair, it also has the reason.
        """
        return await self._marks.locked_ledgers()

    # ---- the auditor ---------------------------------------------------------------------------------

    async def auditor(self) -> str | None:
        """Return the bookie id of the auditor, None if no auditor is elected."""
        return await self._auditing.auditor()

    async def lost_bookie_delay(self) -> int:
        """Return the stored delay, in seconds, between the loss of a bookie and the audit of its ledgers."""
        return await self._auditing.lost_bookie_delay() or 0

    async def set_lost_bookie_delay(self, seconds: int) -> None:
        """Set the delay from the loss of a bookie to the audit; setting 0 or the present value also triggers an audit.

        :param seconds: the delay in seconds.
        :raises IncorrectParameterError: the delay is negative, or so large that auditors could not read it.
        """
        if not 0 <= seconds <= LONGEST_DELAY:
            raise IncorrectParameterError(f"the delay after the loss of a bookie cannot be {seconds} s")
        await self._auditing.set_lost_bookie_delay(seconds)

    async def trigger_audit(self) -> None:
        """Make the auditor audit the lost bookies now.

        :raises AutorecoveryDisabledError: autorecovery is switched off, so that no audit would run.
        :raises NoAuditorError: no auditor is elected.
        """
        if not await self._marks.is_enabled():
            raise AutorecoveryDisabledError("autorecovery is disabled in this cluster: autorecovery -enable")
        if await self._auditing.auditor() is None:
            raise NoAuditorError("no auditor is elected: no process of this cluster runs autorecovery")
        await self._auditing.set_lost_bookie_delay(await self.lost_bookie_delay())

    async def force_checks(self, checks: Collection[AuditorCheck], now: float) -> int:
        """Make the auditor run periodic ``checks`` soon: store in the metadata store that they ended long ago.

        :param now: the time in seconds since the epoch.
        :returns: the time that was stored, in ms since the epoch.
        """
        ms = int((now - _LONG_AGO) * 1000)
        for check in checks:
            await self._auditing.set_check_time(check, ms)
        return ms

"""Deletes the unused entry logs of one ledger directory.

An index row says in which entry log a range of entries is stored.  A log is unused if no index row refers to it.
"""

from collections.abc import Collection, Sequence

from twisted.logger import Logger

from ...errors import StorageError
from ...limits.throttle import Throttle
from ...metrics import MaintenanceMetrics
from ...storage.ledger_dirs import entry_log_names
from ...storage.maintenance.plan import MOST_LOGS
from .maintained import MaintainedDirectory


class LogCollector:
    """Deletes the entry logs of one ledger directory that contain no entries of existing ledgers any more.

    :param scan: the speed limit of the reads that check an entry log before it is deleted.
    :ivar path: path of the ``current`` directory.
    :ivar freed: number of bytes of the logs deleted so far.
    :ivar removed: number of these logs.
    """

    _log = Logger()

    def __init__(self, directory: MaintainedDirectory, scan: Throttle, metrics: MaintenanceMetrics) -> None:
        self.path = directory.storage.path
        self._directory = directory
        self._scan = scan
        self._metrics = metrics
        self._kept: set[int] = set()
        self._missing: Collection[str] = ()
        self.freed = self.removed = 0

    @property
    def obstacle(self) -> str:
        """Return why no log of the directory can be deleted at present; empty if nothing prevents it."""
        return self._directory.obstacle

    async def clean(self) -> None:
        """Delete the files of an interrupted compaction, count the live entries, and log the ids of missing entry logs.

        Call this only while no compaction is running.
        """
        await self._directory.in_thread(self._directory.space.remove_left_over)
        missing = await self._directory.in_thread(self._directory.space.missing)
        for path in sorted(missing.keys() - self._missing):
            text = "DAMAGE: {path} is missing, with {count:,} entries: put it back, or scrub, so that they are repaired"
            self._log.critical(text, path=path, count=missing[path])
        self._missing = missing.keys()

    async def disk(self) -> int:
        """Return the device number of the disk on which the directory is.

        :raises OSError: the directory is missing.
        """
        return await self._directory.in_thread(self._directory.fs.disk, self.path)

    async def run(self) -> int:
        """Delete every entry log without live bytes.

        Live bytes are the bytes of entries to which an index row refers.

        :returns: the number of freed bytes.
        :raises bookkeeper_twisted.errors.DamageError: the structure of the index is damaged.  Then no log is deleted,
            because index rows may be missing.
        """
        usage = await self._directory.log_usage()
        for log in usage:
            if log.error and log.log_id not in self._directory.damaged:
                self._directory.damaged[log.log_id] = log.error
                self._log.critical("DAMAGE: an entry log cannot be read: {error}", error=log.error, log_id=log.log_id)
        freed = 0
        self._kept &= self._directory.damaged.keys()
        unneeded = [log for log in usage if not log.live and log.log_id not in self._kept]
        if unneeded:
            await self._scan.acquire(
                await self._directory.in_thread(self._directory.storage.index.check), 0, "check of the index"
            )
        for begin in range(0, len(unneeded), MOST_LOGS):
            freed += await self._remove([log.log_id for log in unneeded[begin : begin + MOST_LOGS]])
        self.freed += freed
        if freed:
            self._log.info("entry logs that nothing refers to were removed: {freed:,} bytes", freed=freed)
        active = [(log.size, log.live) for log in usage if log.live]
        used = sum(log.size for log in usage) - freed
        self._metrics.measured(self._directory.number, active, max(used, 0))
        return freed

    async def _remove(self, log_ids: Sequence[int]) -> int:
        """Check and delete some logs together; if the check fails, check and delete them one by one."""
        in_thread, space = self._directory.in_thread, self._directory.space
        checks = space.checks(log_ids)
        try:
            while (read := await in_thread(checks.step)) is not None:
                await self._scan.acquire(*read, f"removal of {entry_log_names(log_ids)}")
        except (StorageError, OSError) as error:
            if len(log_ids) > 1:
                return sum([await self._remove([log_id]) for log_id in log_ids])
            self._keep(log_ids[0], error)
            return 0
        freed = 0
        for log_id in log_ids:
            try:
                freed += await in_thread(space.remove, log_id)
                self.removed += 1
                self._directory.damaged.pop(log_id, None)
            except OSError as error:
                self._keep(log_id, error)
        await in_thread(space.sync)
        return freed

    def _keep(self, log_id: int, error: Exception) -> None:
        self._directory.damaged[log_id] = str(error)
        self._kept.add(log_id)
        self._metrics.not_removed.value += 1
        self._log.critical("DAMAGE: an entry log is kept: {error}", error=error, log_id=log_id)

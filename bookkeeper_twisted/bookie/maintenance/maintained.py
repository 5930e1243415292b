"""Runs the maintenance of one ledger directory or journal on its maintenance thread, in short function calls."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from ...errors import StorageError
from ...limits.throttle import Throttle
from ...storage.directory_storage import DirectoryStorage
from ...storage.interfaces import IFileSystem, JournalPosition
from ...storage.journal.scrub import JournalScrub
from ...storage.maintenance.log_space import LogSpace
from ...storage.maintenance.plan import LogUsage, candidates
from ...storage.maintenance.row_reader import PASSED_OVER, STEP_BYTES
from ...storage.uncommitted import NOT_TAKEN
from ..group_commit import GroupCommit
from ..interfaces import IStorageExecutor

_LEDGERS = 100
_LEAST_STEP = 64 * 1024
_COUNTED_STEP = 1024 * 1024  # maximum number of bytes of a step if the speed limits count only entries

T = TypeVar("T")


def step_limits(*throttles: Throttle) -> tuple[int, int]:
    """Return two limits for one step of maintenance: the bytes of its reads, and the bytes of a gap that may be read.

    The first number is the maximum number of bytes that one step may read.  If a speed limit counts bytes, a step
    normally reads at most the bytes that the lowest limit allows in 250 ms, so that the load on the disk is even.

    The second number is the largest gap, in bytes, between two wanted entries that one read may include.  If a speed
    limit counts bytes, it is 0, because the bytes in the gap would count, too.
    """
    rates = [throttle.rate for throttle in throttles]
    limits = [int(rate.bytes / 4) for rate in rates if rate.bytes]
    most = _COUNTED_STEP if any(rate.entries for rate in rates) else STEP_BYTES
    return (max(_LEAST_STEP, min(most, *limits)), 0) if limits else (most, PASSED_OVER)


class MaintainedJournal:
    """One journal directory, with the thread on which its scrub runs.

    :ivar number: the number under which damage of this journal is recorded.  Ledger directories have the numbers from 0
        on, and journals have the next numbers.
    """

    def __init__(
        self, fs: IFileSystem, commit: GroupCommit, number: int, read_log_mark: Callable[[], JournalPosition],
        executor: IStorageExecutor,
    ) -> None:  # fmt: skip
        """
        :param read_log_mark: reads the journal's log mark from disk; it blocks.
        """
        self.fs = fs
        self.path = commit.journal.directory
        self.number = number
        self._commit = commit
        self._read_log_mark = read_log_mark
        self._executor = executor

    async def scrub(self) -> JournalScrub:
        """Begin a scrub of the journal records after the log mark."""
        durable = self._commit.log_mark
        log_mark = await self.in_thread(self._read_log_mark)
        return JournalScrub(self.fs, self.path, log_mark, durable)

    def in_thread(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run a small piece of a scrub, ``work(*args)``, on the maintenance thread of the first ledger directory."""
        return self._executor.submit("maintenance-0", work, *args)


class MaintainedDirectory:
    """One ledger directory, with the threads on which its maintenance runs.

    :ivar number: position of the directory in the configuration, from 0.
    :ivar path: path of its ``current`` directory.
    :ivar space: measures the live and dead bytes of its entry logs.
    :ivar damaged: for each entry log that failed a check, by log id, a description of the damage.  These logs are not
        compacted until a scrub has verified the directory.  A damaged log to which no index row refers any more may be
        deleted before that.
    """

    _log = Logger()

    def __init__(self, fs: IFileSystem, storage: DirectoryStorage, number: int, executor: IStorageExecutor) -> None:
        self.fs = fs
        self.storage = storage
        self.number = number
        self.path = storage.path
        self.space = LogSpace(fs, storage)
        self.damaged: dict[int, str] = {}
        self._executor = executor

    @property
    def obstacle(self) -> str:
        """Return why no garbage collection can free space of the directory at present; empty if it can."""
        return f"{self.storage.refusal}: {NOT_TAKEN}" if self.storage.index.in_doubt else ""

    async def check_index(self) -> None:
        """Verify the structure of the index, unless this was done at the start of the bookie; log any damage."""
        if self.storage.index.checked:
            return
        try:
            await self.in_thread(self.storage.index.check)
        except CancelledError:
            return
        except StorageError as error:
            self._log.critical("DAMAGE: {error}; what the index does not hold is not known", error=error)

    async def log_usage(self) -> list[LogUsage]:
        """Measure the size and live bytes of each completed entry log.

        :raises bookkeeper_twisted.errors.StorageError: the index cannot be read.
        """
        sealed = await self.in_flush_thread(self.space.sealed_logs)
        return await self.in_thread(self.space.usage, sealed)

    async def log_usage_without(self, deleted: Sequence[int]) -> list[LogUsage]:
        """Measure the completed entry logs as :meth:`log_usage` does, as if the ``deleted`` ledgers were not stored.

        :raises bookkeeper_twisted.errors.StorageError: the index cannot be read.
        """
        usage, dead = await self.log_usage(), Counter[int]()
        for begin in range(0, len(deleted), _LEDGERS):
            dead.update(await self.in_thread(self.space.bytes_of, deleted[begin : begin + _LEDGERS]))
        return [attrs.evolve(log, live=max(log.live - dead[log.log_id], 0)) for log in usage]

    def logs_to_compact(self, logs: Iterable[LogUsage], threshold: float, target_size: int) -> list[LogUsage]:
        """Return those of the completed ``logs`` that a compaction copies, in its order; damaged logs are left out.

        See :func:`.candidates` for the other parameters.
        """
        whole = [log for log in logs if not log.error and log.log_id not in self.damaged]
        return candidates(whole, threshold, target_size)

    def in_flush_thread(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run short work, ``work(*args)``, such as an index commit, on the directory's flush thread."""
        return self._executor.submit(f"flush-{self.number}", work, *args)

    def in_thread(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run a small piece of maintenance, ``work(*args)``, on the maintenance thread of this directory."""
        return self._executor.submit(f"maintenance-{self.number}", work, *args)

"""Runs the maintenance of one ledger directory on its lane, in small pieces of work."""

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from ...errors import StorageError
from ...limits.throttle import Throttle
from ...storage.directory_storage import DirectoryStorage
from ...storage.interfaces import IFileSystem, JournalPosition
from ...storage.journal.scrub import JournalScrub
from ...storage.maintenance.log_space import LogSpace
from ...storage.maintenance.row_reader import PASSED_OVER, STEP_BYTES
from ..group_commit import GroupCommit
from ..interfaces import IStorageExecutor

_LEAST_STEP = 64 * 1024
_COUNTED_STEP = 1024 * 1024  # bytes of a step while entries are limited: more bytes may hold too many entries

T = TypeVar("T")


def step_limits(*throttles: Throttle) -> tuple[int, int]:
    """Return the bytes of one step of maintenance.

    :returns: bytes wanted: a quarter of what the slowest limit grants in a second, so that the work is even; and bytes
        between wanted ones that may be read as well: 0 if bytes are limited.
    """
    rates = [throttle.rate for throttle in throttles]
    limits = [int(rate.bytes / 4) for rate in rates if rate.bytes]
    most = _COUNTED_STEP if any(rate.entries for rate in rates) else STEP_BYTES
    return (max(_LEAST_STEP, min(most, *limits)), 0) if limits else (most, PASSED_OVER)


class MaintainedJournal:
    """One journal directory with the lane of its scrub.

    :ivar number: of its findings: ledger directories come first.
    """

    def __init__(
        self, fs: IFileSystem, commit: GroupCommit, number: int, read_mark: Callable[[], JournalPosition],
        executor: IStorageExecutor,
    ) -> None:  # fmt: skip
        """
        :param read_mark: returns the replay mark; blocks.
        """
        self.fs = fs
        self.path = commit.journal.directory
        self.number = number
        self._commit = commit
        self._read_mark = read_mark
        self._executor = executor

    async def scrub(self) -> JournalScrub:
        """Begin a pass over the records that a replay would need at present."""
        durable = self._commit.mark
        mark = await self.on_lane(self._read_mark)
        return JournalScrub(self.fs, self.path, mark, durable)

    def on_lane(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run a bounded piece of the pass, ``work(*args)``, on the maintenance lane of the first directory."""
        return self._executor.submit("maintenance-0", work, *args)


class MaintainedDirectory:
    """One ledger directory with its lanes.

    :ivar number: of the directory.
    :ivar path: ``current`` included.
    :ivar space: its entry logs as disk space.
    :ivar damaged: logs that failed a check, each with a text.  They are not compacted again until a scrub has verified
        the directory, but for a log that a compaction left and that nothing refers to any more: it goes.
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

    async def check_index(self) -> None:
        """Verify the structure of the index, if the start of the bookie has not done so yet."""
        if self.storage.index.checked:
            return
        try:
            await self.on_lane(self.storage.index.check)
        except CancelledError:
            return
        except StorageError as error:
            self._log.critical("DAMAGE: {error}; what the index does not hold is not known", error=error)

    def on_flush_lane(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run short work between checkpoints, ``work(*args)``, such as reserving log ids or committing to the index."""
        return self._executor.submit(f"flush-{self.number}", work, *args)

    def on_lane(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run a bounded piece of maintenance, ``work(*args)``; checkpoints do not wait for it."""
        return self._executor.submit(f"maintenance-{self.number}", work, *args)

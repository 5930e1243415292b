"""Where the maintenance of one ledger directory runs."""

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from ...storage.directory_storage import DirectoryStorage
from ...storage.interfaces import IFileSystem
from ...storage.maintenance.log_space import LogSpace
from ..interfaces import IStorageExecutor

T = TypeVar("T")


class MaintainedDirectory:
    """One ledger directory and its lanes.

    :ivar number: of the directory.
    :ivar space: its entry logs as space.
    :ivar damaged: logs that failed a check, with what was found; they stay as they are.
    """

    def __init__(self, fs: IFileSystem, storage: DirectoryStorage, number: int, executor: IStorageExecutor) -> None:
        self.fs = fs
        self.storage = storage
        self.number = number
        self.space = LogSpace(fs, storage)
        self.damaged: dict[int, str] = {}
        self._executor = executor

    def on_flush_lane(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run short work between checkpoints: log ids, commits of the index."""
        return self._executor.submit(f"flush-{self.number}", work, *args)

    def on_lane(self, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run a bounded piece of maintenance; checkpoints do not wait for it."""
        return self._executor.submit(f"maintenance-{self.number}", work, *args)

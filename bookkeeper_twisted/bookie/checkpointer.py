"""Runs checkpoints: at intervals, when the write cache is full, and when the bookie stops."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, DeferredList, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import NO_FILES, NO_SPACE, StorageError
from ..metrics import BookieMetrics
from ..storage.files.space_reserve import ReserveShortageError
from ..storage.interfaces import NO_INODES, ICheckpoint, ILedgerStorage, JournalPosition
from .checkpoint_times import CheckpointTimes
from .group_commit import GroupCommit
from .interfaces import IStorageExecutor

_LOG_INTERVAL = 60.0
"""Seconds after which a repeated failure is logged again."""

_ENTRY_LOG = re.compile(r"[0-9a-f]+(?=\.log\b)")


@attrs.frozen
class LastCheckpoint:
    """The result of the last checkpoint of a bookie, which runs when the bookie stops.

    :ivar log_marks: for each journal, the position from which the next start replays it.
    :ivar entries: number of entries that the checkpoint wrote.
    :ivar n_bytes: number of bytes that the checkpoint wrote for these entries.
    :ivar seconds: duration of the checkpoint.
    """

    log_marks: Sequence[JournalPosition]
    entries: int
    n_bytes: int
    seconds: float


class Checkpointer:
    """A scheduler of checkpoints, which write entries from memory to the entry logs.

    After a checkpoint, the journal files that are not needed any more are recycled or deleted.

    :param on_written: called after each successful checkpoint, because the write cache has room again.
    :param on_failed: called with the errors of each failed checkpoint, those of failed disks before those of full
        disks.  Adds are still accepted as long as the write cache has room.
    :ivar times: how long the checkpoint in progress and the newest checkpoints have lasted.
    """

    _log = Logger()

    def __init__(
        self, storage: ILedgerStorage, commits: Sequence[GroupCommit], executor: IStorageExecutor, clock: IReactorTime,
        metrics: BookieMetrics, on_written: Callable[[], None],
        on_failed: Callable[[Sequence[BaseException]], None],
    ) -> None:  # fmt: skip
        self._storage = storage
        self._commits = commits
        self._executor = executor
        self._clock = clock
        self._metrics = metrics
        self._on_written = on_written
        self._on_failed = on_failed
        self.times = CheckpointTimes(clock, storage.is_full, self._waits_for)
        self._failed_with = ""
        self._failures = 0  # number of consecutive failed checkpoints
        self._logged_at = 0.0
        self._waiting: list[Deferred[bool]] | None = None
        self._timer = LoopingCall(self.checkpoint)
        self._timer.clock = clock

    def start(self, interval: float) -> None:
        """Start a checkpoint every ``interval`` seconds."""
        self._timer.start(interval, now=False)

    def stop(self) -> "Deferred[bool]":
        """Stop the timer; the result fires when no checkpoint is in progress."""
        if self._timer.running:
            self._timer.stop()
        return succeed(True) if self._waiting is None else self._after_current(self._waiting)

    async def finish(self) -> LastCheckpoint | None:
        """Run the last checkpoint, after :meth:`stop`.

        :returns: None if the checkpoint failed.
        """
        log_marks, began = [commit.log_mark for commit in self._commits], self._clock.seconds()
        entries, n_bytes = self._storage.pending_entries(), self._storage.pending_bytes()
        if not await self.checkpoint():
            return None
        return LastCheckpoint(log_marks, entries, n_bytes, self._clock.seconds() - began)

    def _after_current(self, waiting: "list[Deferred[bool]]") -> "Deferred[bool]":
        result: Deferred[bool] = Deferred()
        waiting.append(result)
        return result

    def make_room(self) -> None:
        """Begin a checkpoint, to make room in the write cache; do nothing if a checkpoint is in progress."""
        if self._waiting is None:
            self.checkpoint()

    def checkpoint(self) -> "Deferred[bool]":
        """Run a checkpoint, or wait for the checkpoint in progress.

        :returns: fires with True if the checkpoint succeeded, else with False.
        """
        if self._waiting is None:
            # Read the new log marks (positions in the journals) before the checkpoint begins.  The storage already
            # has every record before these positions, so a replay from there misses no record.
            log_marks, n_bytes = [commit.log_mark for commit in self._commits], self._storage.pending_bytes()
            checkpoint = self._storage.begin_checkpoint(log_marks)
            if checkpoint is None:
                return succeed(False)
            self._waiting = []
            result = self._after_current(self._waiting)
            Deferred.fromCoroutine(self._run(checkpoint, log_marks, n_bytes))
            return result
        return self._after_current(self._waiting)

    async def checkpoint_all(self) -> bool:
        """Run a checkpoint that includes all records that were added until now.

        A checkpoint in progress may lack some of these records.  So wait for its end, and run another one.

        :returns: whether the checkpoint succeeded.
        """
        if self._waiting is not None:
            await self._after_current(self._waiting)
        return await self.checkpoint()

    async def _run(self, checkpoint: ICheckpoint, log_marks: Sequence[JournalPosition], n_bytes: int) -> None:
        began = self._clock.seconds()
        self.times.begin(checkpoint.paths)
        failures = await self._write(checkpoint)
        self.times.end()
        self._log_change(failures)
        errors = sorted([each.value for each in failures if each.value is not None], key=_rank)
        checkpoint.finish()
        series = self._metrics.flush.failure if errors else self._metrics.flush.success
        series.record((self._clock.seconds() - began) * 1000)
        waiting, self._waiting = self._waiting or [], None
        if not errors:
            # A replay begins at the new log marks, so recycle or delete the journal files that end before them.
            for commit, log_mark in zip(self._commits, log_marks, strict=True):
                commit.release_files(log_mark)
            if n_bytes:  # a checkpoint without entries would distort the metric of checkpoint sizes
                self._metrics.flush_size.success.record(n_bytes)
            self._on_written()
        else:
            self._metrics.flush_without_space.value += is_disk_full(errors[0])
            self._on_failed(errors)
        for result in waiting:
            result.callback(not errors)

    def _log_change(self, failures: Sequence[Failure]) -> None:
        """Log new failures immediately, repeated failures at intervals, and the first success after failures.

        Failures that differ in the id of an entry log alone are the same, because each attempt writes another log.
        """
        errors = [error for failure in failures if (error := failure.value) is not None]
        now = self._clock.seconds()
        failed_with = _ENTRY_LOG.sub("", "; ".join([str(error) or repr(error) for error in errors]))
        self._failures = self._failures + 1 if errors else 0
        is_new = failed_with != self._failed_with
        if not is_new and (not errors or now - self._logged_at < _LOG_INTERVAL):
            return
        self._failed_with, self._logged_at = failed_with, now
        if not errors:
            self._log.info("a checkpoint succeeded again")
            return
        text = "a checkpoint failed, the {n}. in a row, and is tried again: {reason}"
        reasons = "; ".join(dict.fromkeys([described(error) or repr(error) for error in errors]))
        self._log.error(text, n=self._failures, error=errors[0], reason=reasons)
        for failure in failures if is_new else ():
            if not failure.check(StorageError, OSError):
                self._log.failure("a checkpoint ended in a way it should not", failure)

    async def _write(self, checkpoint: ICheckpoint) -> list[Failure]:
        """Write all ledger directories at the same time, each in its own thread, and then the log marks.

        :returns: the failures of all directories; the log marks are written only if there are none.
        """
        try:
            writing = [
                self._executor.submit(f"flush-{number}", checkpoint.write, number).addCallback(self._written, path)
                for number, path in enumerate(checkpoint.paths)
            ]
            outcomes: Sequence[tuple[bool, Any]] = await DeferredList(writing, consumeErrors=True)
            failures = [outcome for succeeded, outcome in outcomes if not succeeded]
            if not failures:
                await self._executor.submit("flush", checkpoint.persist_log_marks)
        except Exception:
            return [Failure()]  # logged by _log_change()
        return failures

    def _written(self, _: None, path: str) -> None:
        self.times.written(path)

    def _waits_for(self, unwritten: Sequence[str]) -> str:
        """Return the directories for which the checkpoint in progress waits, as a text.

        When it has written all ledger directories, it writes the log marks into them, one after the other.  Before, the
        same thread may have to delete, recycle or prepare journal files.

        :param unwritten: paths of the ledger directories that it has not written yet.
        """
        directories = self._storage.directories
        journals = _named("journal", [commit.journal.directory for commit in self._commits])
        if unwritten:
            indexes = {each.path: f" with its index in {each.index_path}" for each in directories if each.index_path}
            return _named("ledger", [path + indexes.get(path, "") for path in unwritten])
        marking = [each.path for each in directories if each.is_marking]
        if marking:
            return f"{_named('ledger', marking)}, where it writes the log marks of the journals"
        if directories:
            return f"{journals}, where old files are deleted or recycled, or the next one is prepared"
        return f"a ledger directory, where it writes the log marks of the journals, or {journals}"


def _named(kind: str, paths: Sequence[str]) -> str:
    return f"the {kind} director{'y' if len(paths) == 1 else 'ies'} {', '.join(paths)}"


def described(error: BaseException) -> str:
    """Return the text of an ``error`` of the storage, with the bytes that are needed and free if these are known."""
    for each in _with_causes(error):
        if isinstance(each, ReserveShortageError):
            return f"{error}: {each.needed:,} bytes are needed, {each.free:,} are free"
    return str(error)


def _rank(error: BaseException | None) -> int:
    """Return which of several errors of a checkpoint tells the most: 0 for that of a failed disk.

    That a disk is full comes next, as its own check tells that, too.  A lack of descriptors says nothing of a disk.
    """
    return 2 if is_out_of_files(error) else 1 if is_disk_full(error) else 0


def is_disk_full(error: BaseException | None) -> bool:
    """Test whether a lack of disk space caused an ``error`` of the storage."""
    return any(
        (isinstance(each, OSError) and each.errno in NO_SPACE) or getattr(each, "sqlite_errorname", "") == "SQLITE_FULL"
        for each in _with_causes(error)
    )


def is_out_of_inodes(error: BaseException | None) -> bool:
    """Test whether an ``error`` of the storage is that of a disk that can have no more files."""
    return any(getattr(each, "strerror", "") == NO_INODES for each in _with_causes(error))


def is_out_of_files(error: BaseException | None) -> bool:
    """Test whether a lack of file descriptors caused an ``error`` of the storage."""
    return any(isinstance(each, OSError) and each.errno in NO_FILES for each in _with_causes(error))


def cause_of(error: BaseException | None) -> str:
    """Return what the operating system, or SQLite, said to an ``error`` of the storage; empty if neither said anything.

    Of a path, the text has only the ledger or index directory, so that it is the same for all errors of a disk.
    """
    directory = directory_of(error)
    where = f"{directory}: " if directory else ""
    for each in _with_causes(error):
        if isinstance(each, OSError) and each.strerror:
            return f"{where}{each.strerror} (errno {each.errno})"
        if name := getattr(each, "sqlite_errorname", ""):
            return f"{where}{each} ({name})"
    return ""


def directory_of(error: BaseException | None) -> str:
    """Return the ledger or index directory to which an ``error`` of the storage refers; empty if it is not known.

    The error of an operation on a file has the path of the file, and that of an index begins with it.
    """
    for each in _with_causes(error):
        path = str(each.filename or "") if isinstance(each, OSError) else str(each)
        directory = path.rpartition("/current")[0]
        if directory.startswith("/"):
            return directory
    return ""


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that one, and so on; nothing without an error."""
    while error is not None:
        yield error
        error = error.__cause__

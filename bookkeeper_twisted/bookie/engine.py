"""The engine of a bookie: everything that serves requests, without the listening port and the registration.

:mod:`.lifecycle.service` starts and stops an :class:`Engine`; tests and in-memory clusters use an engine without this
service.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..authorization.access import AccessControl
from ..errors import StorageFailedError, TooManyRequestsError
from ..instruments import Instruments
from ..metrics import BookieMetrics, ConnectionMetrics, JournalMetrics, RequestMetrics
from ..protocol.authentication import AuthenticationDisabled, IBookieAuthentication
from ..protocol.server.factory import BookieServerFactory
from ..protocol.server.limits import ServerLimits
from ..protocol.server.outbox import Outbox
from ..protocol.wire_protocols import wire_protocols
from ..security.principals import KINDS
from ..storage.interfaces import NO_INODES, ILedgerStorage
from ..storage.journal.interfaces import IJournal
from ..tracing.interfaces import ITracer
from ..tracing.records import TraceRecords
from .bookie import Bookie, BookieOptions
from .checkpoint_times import VERY_LONG
from .checkpointer import (
    Checkpointer,
    LastCheckpoint,
    cause_of,
    directory_of,
    is_disk_full,
    is_out_of_files,
    is_out_of_inodes,
)
from .group_commit import SYNC, CommitOptions, GroupCommit
from .interfaces import IStorageExecutor
from .requests.context import RequestContext, RequestLimits
from .requests.encryption import Encryption
from .requests.request_processor import RequestProcessor
from .requests.slow_requests import CHECKPOINT, DISK, ROOM, ROOM_ON_DISK, THREAD, PresentWait, SlowRequests
from .requests.traces import RequestTraces, WrittenGroup

T = TypeVar("T")

NO_SPACE = "a checkpoint found no space"
"""The reason for being read-only after a checkpoint has found no space; the directory follows, if it is known."""

FAILED = "a checkpoint failed"
"""The reason for being read-only after a checkpoint has failed for another reason than disk space.

What the operating system said follows, if it said anything.
"""


def checkpoint_reasons(reasons: Iterable[str], present: str) -> list[str]:
    """Return ``present``, and those of all ``reasons`` for being read-only that a failed checkpoint has given.

    The next checkpoint that succeeds ends them.

    :param present: the reason that the last checkpoint gives; empty if it succeeded.
    """
    before = [each for each in reasons if each.startswith((NO_SPACE, NO_INODES, FAILED))]
    return list(dict.fromkeys([present, *before] if present else before))


@attrs.frozen
class EngineOptions:
    """The options of all parts of an engine.

    :ivar access: decides what each peer may do; None if every peer may do everything.
    :ivar tracer: makes the spans of traced requests; None if there are no traces.
    :ivar max_traced: maximum number of traced requests per second; 0 for no limit.
    :ivar keeps_context: whether log lines about a request contain the request's ``requestContext``, which is a set of
        key-value pairs that the client sent with the request.
    """

    bookie: BookieOptions = attrs.field(factory=BookieOptions)
    commit: CommitOptions = attrs.field(factory=CommitOptions)
    requests: RequestLimits = attrs.field(factory=RequestLimits)
    server: ServerLimits = attrs.field(factory=ServerLimits)
    tcp_no_delay: bool = True
    authentication: IBookieAuthentication = attrs.field(factory=AuthenticationDisabled)
    encryption: Encryption | None = None
    access: AccessControl | None = None
    tracer: ITracer | None = None
    max_traced: int = 0
    keeps_context: bool = False


class Engine:
    """The running parts of a bookie: its operations, journal queues, checkpoints, and the factory of its connections.

    :param journals: the journals; their replay must have ended.
    :param disk_usage: returns total and free bytes of the ledger directories' disks.
    :param on_failure: called once, when a journal fails.  The process must then end: no entry can be made durable any
        more.
    :param on_checkpoint: called after each checkpoint with an empty text, or with the reason for
        being read-only if it failed.
    :param labels: Prometheus labels for the metrics of the ledger storage, with the paths of its directories.
    :ivar journal_groups: for each journal, the sizes and times of the newest groups of records that it wrote.
    """

    _log = Logger()

    def __init__(
        self, storage: ILedgerStorage, journals: Sequence[IJournal], executor: IStorageExecutor, clock: IReactorTime,
        disk_usage: Callable[[], "Deferred[tuple[int, int]]"], on_failure: Callable[[Failure], None],
        on_checkpoint: Callable[[str], None] = lambda reason: None, options: EngineOptions | None = None,
        instruments: Instruments | None = None, labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        options = options or EngineOptions()
        self.instruments = instruments or Instruments()
        self.outbox = Outbox()
        self._on_failure = on_failure
        self._on_checkpoint = on_checkpoint
        self._failed = False
        measured = [JournalMetrics(self.instruments, index) for index in range(len(journals))]
        self.journal_groups = [metrics.groups for metrics in measured]
        self.commits = [
            GroupCommit(
                journal, f"journal-{index}", executor, clock, self._end_group, self._journal_failed,
                measured[index], options.commit,
            )
            for index, journal in enumerate(journals)
        ]  # fmt: skip
        metrics = BookieMetrics(self.instruments, labels)
        self.instruments.gauge("bookie_JOURNAL_QUEUE_MAX_SIZE", lambda: options.commit.max_queued_items)
        self.checkpointer = Checkpointer(
            storage, self.commits, executor, clock, metrics, self._checkpointed, self._not_checkpointed
        )
        self.bookie = Bookie(
            storage, self.commits, executor, clock, self.outbox.flush, metrics, self.checkpointer.make_room,
            options.bookie,
        )  # fmt: skip
        metrics.reads.watch(
            lambda: self.bookie.waiting_reads, options.bookie.read_threads, options.bookie.max_waiting_reads
        )
        requests = RequestMetrics(self.instruments, labels)
        self.context = RequestContext(
            self.bookie, clock, requests, partial(self._flushed, disk_usage), options.requests,
            slow=self._slow(options.keeps_context, clock),
            traces=self._traces(options.tracer, options.max_traced, clock),
        )  # fmt: skip
        self.access = options.access
        self._executor = executor
        processor = RequestProcessor(self.context, options.authentication, options.encryption, options.access)
        self.factory = BookieServerFactory(
            self.outbox, processor.open_session, clock, ConnectionMetrics(self.instruments), options.server,
            options.tcp_no_delay, wire_protocols(),
        )  # fmt: skip
        self.factory.metrics.watch_principals(KINDS, self._count_principals)

    def _slow(self, keeps_context: bool, clock: IReactorTime) -> SlowRequests:
        slow = SlowRequests(
            clock, lambda ledger_id: self._commit_of(ledger_id).waits(), self._lacked_room,
            lambda: sum([commit.held_seconds for commit in self.commits]),
        )  # fmt: skip
        slow.keeps_context = keeps_context
        return slow

    def _lacked_room(self, began: float, ended: float) -> str:
        """Return why an add has waited for room between two times; empty if no add has waited for room since ``began``.

        A full write cache has room again only when the checkpoint in progress is on the disk, so the disk is the reason
        if such a checkpoint took most of this time.
        """
        if not self.bookie.lacked_room_since(began):
            return ""
        on_disk = self.checkpointer.times.blocked_seconds(began, ended)
        return ROOM_ON_DISK if on_disk > (ended - began) / 2 else ROOM

    def _traces(self, tracer: ITracer | None, limit: int, clock: IReactorTime) -> RequestTraces | None:
        if tracer is None:
            return None

        def group_of(ledger_id: int) -> WrittenGroup | None:
            return self._commit_of(ledger_id).completing

        return RequestTraces(TraceRecords(clock, tracer, limit), group_of, self.outbox.after_flush)

    def _commit_of(self, ledger_id: int) -> GroupCommit:
        """Return the queue of the journal to which the records of a ledger are written."""
        return self.commits[ledger_id % len(self.commits)]

    def _count_principals(self, kind: str) -> int:
        return sum([connection.principal.kind == kind for connection in self.factory.peers])

    def start(self, flush_interval: float) -> None:
        """Open the audit log, if there is one; start the periodic checkpoints, and prepare the next journal files.

        :param flush_interval: seconds between checkpoints.
        :raises ConfigError: the audit log cannot be opened; nothing has begun.
        """
        if self.access is not None:
            self.access.start(partial(self._executor.submit, "audit"))
        self.checkpointer.start(flush_interval)
        for commit in self.commits:
            # Normally a checkpoint prepares the next journal file.  But the checkpoint after the replay may have failed
            # on a full disk, so prepare the file here, too.
            commit.make_ready()

    def _flushed(self, ask: "Callable[[], Deferred[T]]") -> "Deferred[T]":
        """Call a function that returns a Deferred; after the Deferred's callbacks, send the replies queued by them.

        :param ask: the function, an operation of the bookie.
        :returns: fires with the result of ``ask``.  Cancelling it cancels the operation.
        """

        def answered(result: T | Failure) -> None:
            used.callback(result)
            self.outbox.flush()

        asking = ask()
        used: Deferred[T] = Deferred(lambda _: asking.cancel())
        asking.addBoth(answered)
        return used

    def blocked_seconds(self) -> float:
        """Return the age in seconds of the oldest journal write or sync in progress; 0 if none is in progress."""
        return max(commit.blocked_seconds for commit in self.commits)

    def present_waits(self) -> list[PresentWait]:
        """Return the longest present wait for each resource or step, without the time in which the reactor was held up.

        A checkpoint itself is among them only if it lasts very long: before, nothing waits for it but adds that have no
        room.
        """
        times, bookie, reads = self.checkpointer.times, self.bookie, self.bookie.present_reads()
        waits = {
            SYNC: self.blocked_seconds(), DISK: reads.on_disk, THREAD: reads.for_thread,
            ROOM_ON_DISK if times.is_blocking else ROOM: bookie.room_seconds,
        }  # fmt: skip
        if times.seconds >= VERY_LONG:
            waits[CHECKPOINT] = times.seconds
        held_up = self.context.slow.held_up
        where = dict.fromkeys((ROOM_ON_DISK, CHECKPOINT), times.waits_for)
        return [PresentWait(name, seconds - held_up(seconds), where.get(name, "")) for name, seconds in waits.items()]

    async def stop(self) -> LastCheckpoint | None:
        """Finish the requests in progress, close the connections and the journal queues, and run the last checkpoint.

        :returns: the last checkpoint; None if it failed, or was not begun because a journal had failed.
        """
        self.context.slow.stop()
        self.factory.stop_accepting()
        for commit in self.commits:
            await commit.finish()
        self.outbox.flush()
        await self.factory.end_all()
        for commit in self.commits:
            await commit.close()
        if self.context.traces is not None:
            self.context.traces.flush()
        await self.checkpointer.stop()
        if self.access is not None:
            await self.access.stop()
        return None if self._failed else await self.checkpointer.finish()

    def _end_group(self) -> None:
        """Finish a group of journal records: resume adds that waited for room in the queue, then send the replies."""
        self.bookie.resume_adds()
        self.outbox.flush()

    def _journal_failed(self, failure: Failure) -> None:
        if not self._failed:
            self._failed = True
            self.bookie.refuse_waiting(StorageFailedError("a journal has failed"))
            self._on_failure(failure)

    def _checkpointed(self) -> None:
        self._on_checkpoint("")
        self.bookie.resume_adds()
        self.outbox.flush()

    def disk_is_full(self, error: BaseException) -> None:
        """Make the bookie read-only until a checkpoint succeeds, because a disk has no space for replayed entries.

        :param error: the error of the checkpoint.
        """
        self._on_checkpoint(_reason([error]))

    def _not_checkpointed(self, errors: Sequence[BaseException]) -> None:
        """Refuse the waiting adds after a failed checkpoint, and report all disks that failed, or else are full.

        If the checkpoint failed because of a lack of file descriptors, the bookie stays writable, because its disks
        work.
        """
        if not is_out_of_files(errors[0]):
            self._on_checkpoint(_reason(errors))
        self.bookie.refuse_waiting(TooManyRequestsError(detail="entries cannot be flushed"))


def _reason(errors: Sequence[BaseException]) -> str:
    """Return the reason for being read-only after a checkpoint with ``errors``, of which the first one decides.

    It names all directories whose disks are full, or else all that failed.
    """
    is_full = is_disk_full(errors[0])
    alike = [each for each in errors if is_disk_full(each) is is_full and not is_out_of_files(each)]
    reason, found = FAILED, map(cause_of, alike)
    if is_full:
        reason = NO_INODES if is_out_of_inodes(errors[0]) else NO_SPACE
        found = map(directory_of, alike)
    what = (", " if is_full else "; ").join(dict.fromkeys(filter(None, found)))
    return f"{reason}: {what}" if what else reason

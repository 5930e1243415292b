"""A group commit in front of a journal that is a list."""

from collections.abc import Iterator, Sequence
from typing import Any

from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.bookie.group_commit import CommitOptions, GroupCommit
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import JournalMetrics
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.interfaces import GroupWrite, IJournal
from bookkeeper_twisted.testing.executor import StepExecutor


@implementer(IJournal)
class ListJournal:
    """Remembers what it was asked to do.

    :ivar begins: whether it lets its caller make the write of a group; the group is in ``calls`` when it is made.
    """

    directory = "/journal/current"
    direct_descriptor = None
    begins = False

    def __init__(self) -> None:
        self.position = self.durable = JournalPosition(1, 0)
        self.calls: list[object] = []
        self.error: BaseException | None = None
        self.released: list[JournalPosition] = []
        self.unprepared = 0
        self.written = 0

    def write_group(self, records: Sequence[bytes], sync: bool = True) -> JournalPosition:
        self._check()
        self.calls.append((b"".join(records), sync))
        self.position = JournalPosition(1, self.position.offset + sum(map(len, records)))
        if sync:
            self.durable = self.position
        return self.position

    def begin_group(self, records: Sequence[bytes]) -> GroupWrite | None:
        file: Any = self
        return GroupWrite(file, records, self.position.offset) if self.begins else None

    def pwritev(self, parts: Sequence[bytes], offset: int, durable: bool = False) -> None:
        """Make the write of a group, as the file of the group."""
        self._check()
        assert durable and offset == self.position.offset, (offset, self.position)
        self.calls.append(("begun", b"".join(parts)))
        self.written = offset + sum(map(len, parts))

    def end_group(self, failure: BaseException | None = None) -> JournalPosition:
        if failure is None:
            self.position = self.durable = JournalPosition(1, self.written)
        self.error = self.error or failure
        return self.position

    def sync(self) -> JournalPosition:
        self._check()
        self.calls.append("sync")
        self.durable = self.position
        return self.durable

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def replay(self, log_mark: JournalPosition) -> Iterator[bytes]:
        return iter(())

    def release(self, log_mark: JournalPosition) -> None:
        self._check()
        self.released.append(log_mark)

    def prepare(self) -> bool:
        self.unprepared -= 1
        return self.unprepared <= 0

    def close(self) -> None:
        self.calls.append("close")


class GroupCommitTestCase(SynchronousTestCase):
    """A queue in front of a journal that is a list."""

    options = CommitOptions()

    def setUp(self) -> None:
        self.journal = ListJournal()
        self.clock = Clock()
        self.executor = StepExecutor(self.clock)
        self.events: list[object] = []
        self.failures: list[Failure] = []
        self.commit = self.make(self.options)

    def make(self, options: CommitOptions) -> GroupCommit:
        self.metrics = JournalMetrics(Instruments(), 0)
        return GroupCommit(
            self.journal, "journal-0", self.executor, self.clock, lambda: self.events.append("flush"),
            self.failures.append, self.metrics, options,
        )  # fmt: skip

    def end_turn(self) -> None:
        """The reactor has read what its sockets have."""
        self.clock.advance(0)

    def append_in_write(self, record: bytes) -> None:
        """Append a record while the journal thread makes its next write."""
        write = self.journal.write_group

        def arriving(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
            self.journal.write_group = write  # type: ignore[method-assign]
            self.append(record)
            return write(records, sync)

        self.journal.write_group = arriving  # type: ignore[method-assign]

    def append(self, records: bytes, sync: bool = True) -> None:
        self.commit.append(records, 1, lambda error: self.events.append((records, error)), sync)

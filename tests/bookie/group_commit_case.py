"""A group commit in front of a journal that is a list."""

from collections.abc import Iterator, Sequence

from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.bookie.group_commit import CommitOptions, GroupCommit
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import JournalMetrics
from bookkeeper_twisted.storage.interfaces import IJournal, JournalPosition
from bookkeeper_twisted.testing.executor import StepExecutor


@implementer(IJournal)
class ListJournal:
    """Remembers what it was asked to do."""

    directory = "/journal/current"

    def __init__(self) -> None:
        self.position = self.durable = JournalPosition(1, 0)
        self.calls: list[object] = []
        self.error: Exception | None = None
        self.released: list[JournalPosition] = []
        self.unprepared = 0

    def write_group(self, records: Sequence[bytes], sync: bool = True) -> JournalPosition:
        self._check()
        self.calls.append((b"".join(records), sync))
        self.position = JournalPosition(1, self.position.offset + sum(map(len, records)))
        if sync:
            self.durable = self.position
        return self.position

    def sync(self) -> JournalPosition:
        self._check()
        self.calls.append("sync")
        self.durable = self.position
        return self.durable

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def replay(self, mark: JournalPosition) -> Iterator[bytes]:
        return iter(())

    def release(self, mark: JournalPosition) -> None:
        self._check()
        self.released.append(mark)

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
        self.executor = StepExecutor()
        self.clock = Clock()
        self.events: list[object] = []
        self.failures: list[Failure] = []
        self.commit = self.make(self.options)

    def make(self, options: CommitOptions) -> GroupCommit:
        self.metrics = JournalMetrics(Instruments(), 0)
        return GroupCommit(
            self.journal, "journal-0", self.executor, self.clock, lambda: self.events.append("flush"),
            self.failures.append, self.metrics, options,
        )  # fmt: skip

    def append(self, records: bytes, sync: bool = True) -> None:
        self.commit.append(records, 1, lambda error: self.events.append((records, error)), sync)

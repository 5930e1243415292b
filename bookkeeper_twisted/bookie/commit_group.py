"""The records that a journal writes together (a group), and the data of each record while it waits."""

from collections.abc import Callable, Sequence

from twisted.python.failure import Failure

from ..storage.interfaces import JournalPosition
from .traced_group import TracedGroup

Done = Callable[[Exception | None], None]
"""Called when records are durable, with None, or with the error if they are not."""

_NOWHERE = JournalPosition()


class CommitItem:
    """Records that are written to the journal together, and the callback for their end.

    :ivar n_entries: number of entries in the records.
    :ivar sync: whether the callback is called after a sync of the journal, or already after the write.
    :ivar done: the callback; it is called with None, or with the error if the records are not durable.
    :ivar queued_at: time in seconds at which the records were queued.
    """

    __slots__ = ("records", "n_entries", "sync", "done", "queued_at")

    def __init__(self, records: bytes, n_entries: int, sync: bool, done: Done, queued_at: float) -> None:
        self.records = records
        self.n_entries = n_entries
        self.sync = sync
        self.done = done
        self.queued_at = queued_at


class CommitGroup:
    """The records that the journal thread writes together (a group), and the result of the write.

    :ivar items: the items whose completions are called after the write: items that need no sync are only written to
        the journal, all other items are also synced.
    :ivar durable: position up to which the journal is synced.
    :ivar synced: whether the journal is synced up to its end, so that no timer for a later sync is needed.
    :ivar began: time in seconds at which the group was taken from the queue.
    :ivar behind: time at which the group before was complete; the items that were queued earlier waited for that group.
    :ivar held: seconds for which the call that began the write has held up the reactor thread; a frozen file system
        holds it up until it is thawed.
    :ivar written: time at which the records were written; the same as ``began`` if write and sync were one call.
    :ivar ended: time at which the group was complete.
    :ivar traced: the data for the span of this write; None if no add in it is traced.
    """

    __slots__ = ("items", "durable", "synced", "began", "behind", "held", "written", "ended", "failure", "traced")

    def __init__(self, items: Sequence[CommitItem], began: float, behind: float) -> None:
        self.items = items
        self.began = self.written = self.ended = began
        self.behind = behind
        self.held = 0.0
        self.durable = _NOWHERE
        self.synced = False
        self.failure: Failure | None = None
        self.traced: TracedGroup | None = None

    @property
    def n_entries(self) -> int:
        """The number of entries in the records of this group."""
        return sum([item.n_entries for item in self.items])

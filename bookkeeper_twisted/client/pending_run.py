"""A sealed run on its way to its write quorums."""

from ..model import EntryRun
from .ack_set import AckSet
from .placement import Schedule


class PendingRun:
    """What a writer knows of a run it has sent.

    :ivar run: the sealed entries.
    :ivar acks: who answered for which of them.
    :ivar error: the last failure of a bookie, None if there was none.
    :ivar sent_at: by the clock, where somebody waits for it.
    """

    __slots__ = ("run", "acks", "error", "sent_at", "_length_before", "_overhead")

    def __init__(self, run: EntryRun, schedule: Schedule, length_before: int, overhead: int) -> None:
        """
        :param length_before: of the ledger, without this run.
        :param overhead: bytes of a record that are not payload.
        """
        self.run = run
        self.acks = AckSet(run.first, run.count, schedule)
        self.error: Exception | None = None
        self.sent_at = 0.0
        self._length_before = length_before
        self._overhead = overhead

    def length_with(self, count: int) -> int:
        """Length of the ledger with the first ``count`` entries of the run."""
        start, end = self.run.bounds(self.run.first, count)
        return self._length_before + end - start - count * self._overhead

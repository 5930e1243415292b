"""A sealed run on its way to its write quorums, and what makes runs of a log's frames."""

from ...codec.digest import Digester
from ...ledger.ack_set import AckSet
from ...ledger.schedule import Schedule
from .claim_buffer import ClaimLog
from .frame_sealing import Frames
from .frame_shape import FrameShape
from .sealed_adds import SealedAdds


class PendingRun:
    """What a writer knows of a run it has sent.  Its bytes are in the log until it is completed.

    :ivar first: id of the first entry.
    :ivar last: of the last one.
    :ivar count: how many.
    :ivar size: bytes of all frames.
    :ivar acks: who answered for which of them.
    :ivar error: the last failure of a bookie, None if there was none.
    :ivar sent_at: by the clock, where somebody waits for it.
    """

    __slots__ = ("first", "last", "count", "size", "acks", "error", "sent_at", "_log", "_frames", "_sealer", "_length")

    def __init__(self, sealer: "RunSealer", log: ClaimLog, frames: Frames, length: int) -> None:
        """
        :param log: where the frames were taken from.
        :param frames: sealed.
        :param length: of the ledger, without this run.
        """
        self.first = frames.first
        self.count = frames.count
        self.last = self.first + self.count - 1
        self.size = frames.end - frames.start
        self.acks = AckSet(self.first, self.count, sealer.schedule)
        self.error: Exception | None = None
        self.sent_at = 0.0
        self._log = log
        self._frames = frames
        self._sealer = sealer
        self._length = length

    def adds(self, first: int, count: int) -> SealedAdds:
        """What is sent of these entries, at first and again; none of them is completed."""
        sealer, frames = self._sealer, self._frames
        return SealedAdds(sealer.shape, sealer.ledger_id, first, count, frames.data(first, count), frames.stride)

    def length_with(self, count: int) -> int:
        """Length of the ledger with the first ``count`` entries of the run."""
        frames = self._frames
        return self._length + frames.position(count) - frames.start - count * self._sealer.shape.payload_at

    def complete(self, count: int) -> None:
        """The first ``count`` entries are completed: the log may use their memory again."""
        self._log.acknowledge(self._frames.position(count))


class RunSealer:
    """Gives the frames of one ledger their ids, in the order in which they are taken.

    :ivar last: the last id given.
    :ivar length: bytes of all payloads up to there.
    """

    __slots__ = ("ledger_id", "shape", "schedule", "last", "length", "_digester")

    def __init__(
        self, ledger_id: int, shape: FrameShape, digester: Digester, schedule: Schedule, last: int = -1
    ) -> None:
        """:param last: the entry before the first."""
        self.ledger_id = ledger_id
        self.shape = shape
        self.schedule = schedule
        self.last = last
        self.length = 0
        self._digester = digester

    def go_on(self, last: int, length: int) -> None:
        """The entries up to ``last``, of ``length`` bytes together, are sealed."""
        self.last, self.length = last, length

    def take(self, log: ClaimLog, limit: int, last_add_confirmed: int) -> PendingRun | None:
        """The next frames of a log as a run, ``limit`` bytes at most but one entry at least; None if there are none.

        :param last_add_confirmed: stays in the entries, whatever is confirmed later.
        """
        frames = log.take(limit)
        if frames is None:
            return None
        length = self.length
        self.length = frames.seal(
            self.shape, self._digester, self.ledger_id, self.last + 1, last_add_confirmed, length
        )  # fmt: skip
        self.last += frames.count
        return PendingRun(self, log, frames, length)

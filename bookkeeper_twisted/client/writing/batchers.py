"""Batchers: where the appends of writers that can share batches come together, and are sent at the end of the turn."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, count
from typing import Any
from weakref import ref

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...codec.adds import FRAME_OVERHEAD, Adds
from ...codec.digest import Digester
from ...config.client import ClientConfig
from ...errors import WriteError
from ...ledger.schedule import Schedule
from ...protocol.wire_protocols import client_wires
from ..interfaces import IBookieClient
from .batch import COLUMNS, Batch, BatchSettings, Waiter
from .budget import ByteBudget
from .lac_notices import LacNotices
from .quorum_writer import QuorumWriter

MAX_ENTRIES = 1000
MAX_BYTES = 256 << 10
"""Bytes of a batch at most, but for one entry that is larger: nothing is gained beyond."""

FULL = COLUMNS * MAX_ENTRIES
"""Length of the list of appends of a batch that takes no more."""


class Batcher:
    """The batches of writers with the same digest type, password, quorums and flags, over one flow.

    :ivar settings: of the batches.
    :ivar overhead: bytes of a frame beside the payload.
    :ivar open: the batch that entries join, None where the next one begins another (:meth:`begin`).
    """

    __slots__ = ("settings", "overhead", "open", "_batches", "_scheduled", "__weakref__")
    _log = Logger()

    def __init__(self, settings: BatchSettings) -> None:
        self.settings = settings
        self.overhead = FRAME_OVERHEAD + settings.digester.size
        self.open: Batch | None = None
        self._batches: list[Batch] = []
        self._scheduled = False

    def join_many(
        self, writer: QuorumWriter, first: int, length: int, payloads: Sequence[bytes], waiter: Waiter
    ) -> None:  # fmt: skip
        """Add entries of a ``writer`` with consecutive ids to batches of this turn.

        :param first: id of the first entry.
        :param length: of the ledger without them.
        :param payloads: one for each entry, at least one.
        :param waiter: of the last one.
        """
        sizes, total, done = list(map(len, payloads)), len(payloads), 0
        overhead = self.overhead
        lengths = list(accumulate(sizes, initial=length))[1:]
        batch = self.open or self.begin()
        size = lengths[-1] - length + total * overhead
        if batch.size + size <= MAX_BYTES and len(batch.joined) + total * COLUMNS <= FULL:
            batch.join_many(writer, first, lengths, payloads, waiter)
            self._joined(writer, batch, size)
            return
        ends = list(accumulate([size + overhead for size in sizes], initial=0))
        while done < total:
            batch = self.open or self.begin()
            fitting = bisect_right(ends, ends[done] + MAX_BYTES - batch.size) - 1
            end = min(max(fitting, done + (not batch.size)), done + MAX_ENTRIES - len(batch.joined) // COLUMNS)
            if end > done:
                last = waiter if end == total else None
                batch.join_many(writer, first + done, lengths[done:end], payloads[done:end], last)
                self._joined(writer, batch, ends[end] - ends[done])
                done = end
            if done < total:
                self.open = None

    def cut(self) -> None:
        """Begins another batch: the length of what a writer adds next does not follow from what it has added."""
        self.open = None

    def put(self, writer: QuorumWriter, adds: Adds, lengths: Sequence[int], waiter: Waiter) -> None:
        """Send entries that are sealed already, behind what has joined.

        :param writer: of all of them.
        :param adds: the sealed entries.
        :param lengths: of the ledger with each of them.
        :param waiter: of the last one.
        """
        batch, self.open = self.begin(), None
        batch.fill(writer, adds, lengths, waiter)
        size, batch.size = batch.size, 0
        self._joined(writer, batch, size)

    def _joined(self, writer: QuorumWriter, batch: Batch, size: int) -> None:
        batch.size += size
        self.settings.budget.used += size
        writer.in_flight += size
        if not writer.batches or writer.batches[-1] is not batch:
            writer.follow(batch)

    def begin(self) -> Batch:
        """Opens a batch that is sent at the end of the turn."""
        self.open = batch = Batch(self.settings)
        self._batches.append(batch)
        if not self._scheduled:
            self._scheduled = True
            self.settings.clock.callLater(0, self._send)
        return batch

    def _send(self) -> None:
        self._scheduled, self.open = False, None
        batches, self._batches = self._batches, []
        for batch in batches:
            writers: list[Any] = batch.joined[::COLUMNS]
            try:
                batch.send()
            except Exception as error:
                self._log.failure("a batch was not sent")
                for writer in dict.fromkeys(writers):
                    writer.stop(WriteError(f"a batch was not sent: {error!r}"))


class Batchers:
    """The batchers of one client.

    Each batcher is a flow, so that there are as many for writers of one kind as there may be sockets that carry
    entries to a bookie.  Where each handle has sockets of its own, each has a batcher of its own, too.
    """

    def __init__(
        self, clock: IReactorTime, bookies: IBookieClient, budget: ByteBudget, notices: LacNotices,
        config: ClientConfig,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._bookies = bookies
        self._budget = budget
        self._notices = notices
        limit = config.max_connections_per_bookie
        self._shared = bool(limit)
        wires = client_wires(config)
        self._spread = max(1, wires.sockets(wires.main, limit))
        self._watches_time = config.add_entry_quorum_timeout_sec >= 0
        self._turns = count()
        self._batchers: dict[object, ref[Batcher]] = {}

    def batcher(
        self, own: IBookieClient, digester: Digester, schedule: Schedule, flags: int = 0, deferred_sync: bool = False
    ) -> Batcher:  # fmt: skip
        """Return the batcher of a writer, which writers of the same digest, password, quorums and flags share.

        :param own: the flow of its handle, for where nothing is shared.
        :param flags: of the adds on the wire.
        :param deferred_sync: whether bookies acknowledge before they sync.
        """
        kind = (
            digester.digest_type, digester.master_key, schedule.write_quorum, schedule.ack_quorum, flags, deferred_sync
        )  # fmt: skip
        if not self._shared:
            return self._new(own, digester, schedule, flags, deferred_sync)
        key = (kind, next(self._turns) % self._spread)
        batcher = self._batchers[key]() if key in self._batchers else None
        if batcher is None:
            flow = self._bookies.open_flow()
            batcher = self._new(flow, digester, schedule, flags, deferred_sync)
            self._batchers[key] = ref(batcher, partial(self._unused, key, flow))
        return batcher

    def _unused(self, key: object, flow: IBookieClient, batcher: "ref[Batcher]") -> None:
        """Retires the flow of a batcher that no writer refers to: sockets that no writer needs are free to go."""
        if self._batchers.get(key) is batcher:
            del self._batchers[key]
        flow.retire()

    def _new(
        self, bookies: IBookieClient, digester: Digester, schedule: Schedule, flags: int, deferred_sync: bool
    ) -> Batcher:  # fmt: skip
        watches_time = self._watches_time and not flags
        return Batcher(
            BatchSettings(
                self._clock, bookies, self._budget, self._notices, digester, schedule.write_quorum, schedule.ack_quorum,
                flags, deferred_sync, watches_time,
            )
        )  # fmt: skip

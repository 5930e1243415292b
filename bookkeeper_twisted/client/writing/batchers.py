"""Batchers: a batcher collects the entries that writers append in one reactor turn, and sends them at its end.

A batcher *seals* the collected entries: it computes their headers (with id, LAC and ledger length) and digests.  The
batcher also finds the bookies that must store each entry.  It collects the entries in :class:`~.batch.Batch` objects,
which send the requests and receive the answers.
"""

import struct
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from weakref import ref

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...codec.adds import FRAME_OVERHEAD, Adds, mix_headers, seal_adds
from ...codec.digest import Digester, pack_headers
from ...config.client import ClientConfig
from ...errors import WriteError
from ...ledger.schedule import Schedule
from ...protocol.wire_protocols import client_wires
from ..interfaces import IBookieClient
from ..traces import AppendTraces
from .appends import ByteBudget, Gatherer
from .batch import COLUMNS, Batch, BatchSettings
from .lac_notices import LacNotices
from .quorum_writer import QuorumWriter

_HEADER = struct.Struct(">qqqq")


@attrs.frozen(eq=False)
class SealSettings:
    """The settings with which a batcher seals and sends entries; to seal is to compute headers and digests.

    :ivar notices: sends explicit LACs for idle writers; the batcher tells it which writers have sent entries.
    :ivar flags: the flags of the adds on the wire.
    :ivar deferred_sync: whether bookies acknowledge entries before they sync them.
    :ivar watches_time: whether there is a time limit for the ack quorum of an entry.
    :ivar traces: the traces of the client's appends; None if it has no tracer.
    :ivar carries_context: whether the requests can carry the ids of spans to bookies.
    """

    clock: IReactorTime
    digester: Digester
    notices: LacNotices
    flags: int = 0
    deferred_sync: bool = False
    watches_time: bool = False
    traces: AppendTraces | None = None
    carries_context: bool = False


class Batcher(Gatherer):
    """Collects and sends the entries of writers that have the same digest type, password, quorums and flags."""

    __slots__ = ("_seals", "__weakref__")
    _log = Logger()

    def __init__(self, settings: BatchSettings[QuorumWriter], budget: ByteBudget, seals: SealSettings) -> None:
        super().__init__(settings, budget)
        self._seals = seals

    def _turn_begins(self) -> None:
        self._seals.clock.callLater(0, self._send_all)

    # ---- sending -------------------------------------------------------------------------------------

    def _send_all(self) -> None:
        for batch in self._take():
            writers: list[QuorumWriter] = batch.joined[::COLUMNS]
            try:
                self._send(batch, writers)
            except Exception as error:
                self._log.failure("a batch was not sent")
                for writer in dict.fromkeys(writers):
                    writer.stop(WriteError(f"ledger {writer.ledger_id}: a batch was not sent: {error!r}"))

    def _send(self, batch: Batch[QuorumWriter], writers: Sequence[QuorumWriter]) -> None:
        """Compute the digests of the entries of a batch, and send each bookie its entries."""
        for writer in writers:
            if writer.failures is not None:
                writer.replace_late()
        # read ``joined`` only now: the loop above may end writers, whose entries are then removed from the batch
        joined, seals = batch.joined, self._seals
        if not joined:
            return
        writers, entry_ids, lengths, payloads, waiters = (
            joined[::COLUMNS], joined[1::COLUMNS], joined[2::COLUMNS], joined[3::COLUMNS], joined[4::COLUMNS]
        )  # fmt: skip
        first, adds = writers[0], batch.adds
        of_one = writers.count(first) == len(writers)
        kept = _kept(writers, entry_ids, of_one)
        if adds is None:
            adds = self._seal(writers, entry_ids, lengths, payloads, of_one)
        if seals.watches_time:
            for writer in dict.fromkeys(writers):
                writer.watch_time(batch)
        seals.notices.sent((first,) if of_one else writers)
        traces = seals.traces
        if traces is not None and traces.waiting:
            traced = traces.through(self._settings.bookies, adds.ledger_ids, adds.entry_ids, seals.carries_context)
            if traced is not None:
                batch.trace(traced)
        batch.send(writers, entry_ids, lengths, waiters, adds, kept, of_one)

    def _seal(
        self, writers: Sequence[QuorumWriter], entry_ids: Sequence[int], lengths: Sequence[int],
        payloads: Sequence[bytes], of_one: bool,
    ) -> Adds:  # fmt: skip
        """Seal the entries: compute their headers and digests.

        :param of_one: whether all entries belong to the same writer.
        """
        seals, first, count = self._seals, writers[0], len(payloads)
        ids: Sequence[int]
        ledger_ids: Sequence[int]
        if count == 1:
            ledger_ids, ids = (first.ledger_id,), entry_ids
            headers = _HEADER.pack(first.ledger_id, entry_ids[0], first.confirmed, lengths[0])
        elif of_one:
            ledger_ids, ids = (first.ledger_id,) * count, range(entry_ids[0], entry_ids[-1] + 1)
            sizes = list(map(len, payloads))
            headers = pack_headers(first.ledger_id, ids[0], first.confirmed, lengths[0] - sizes[0], sizes)
        else:
            ledger_ids, ids = tuple([writer.ledger_id for writer in writers]), tuple(entry_ids)
            headers = mix_headers(ledger_ids, ids, [writer.confirmed for writer in writers], lengths)
        return seal_adds(seals.digester, ledger_ids, ids, headers, payloads, seals.flags, seals.deferred_sync)


def _kept(
    writers: Sequence[QuorumWriter], entry_ids: Sequence[int], of_one: bool
) -> Mapping[str, Sequence[int]]:
    """Return, for each bookie id, the indexes in the batch of the entries that the bookie must store.

    :param writers: the writer of each entry.
    :param entry_ids: the id of each entry.
    :param of_one: whether all entries belong to the same writer.
    """
    first, count = writers[0], len(writers)
    ensemble, striped = first.ensemble, first.schedule.striped
    if not striped and (of_one or [writer.ensemble for writer in writers].count(ensemble) == count):
        return dict.fromkeys(ensemble, range(count))
    indexes: dict[str, list[int]] = {}
    for index, (writer, entry_id) in enumerate(zip(writers, entry_ids, strict=True)):
        kept: Sequence[str] = writer.ensemble
        if writer.schedule.striped:
            kept = [kept[position] for position in writer.schedule.write_set(entry_id)]
        for bookie_id in kept:
            indexes.setdefault(bookie_id, []).append(index)
    return indexes


class Batchers:
    """The batchers of one client; a batcher sends the appends of one reactor turn to bookies.

    Each batcher uses its own socket to each bookie.  If the client may open n sockets to a bookie, up to n batchers
    have the same settings, and share the work.  If each ledger handle has its own sockets, it also has its own batcher.
    """

    def __init__(
        self, clock: IReactorTime, bookies: IBookieClient, budget: ByteBudget, notices: LacNotices,
        config: ClientConfig, traces: AppendTraces | None = None,
    ) -> None:  # fmt: skip
        self._traces = traces
        self._clock = clock
        self._bookies = bookies
        self._budget = budget
        self._notices = notices
        limit = config.max_connections_per_bookie
        self._shared = bool(limit)
        self._wires = wires = client_wires(config)
        self._spread = max(1, wires.sockets(wires.main, limit))
        self._watches_time = config.add_entry_quorum_timeout_sec >= 0
        self._turns = count()
        self._batchers: dict[object, ref[Batcher]] = {}

    def batcher(
        self, own: IBookieClient, digester: Digester, schedule: Schedule, flags: int = 0, deferred_sync: bool = False
    ) -> Batcher:  # fmt: skip
        """Return the batcher that a new writer must use.

        Writers with the same digest type, password, quorums and flags share batchers.

        :param own: sends requests over the sockets of the writer's ledger handle; used only if each handle has its own
            sockets.
        :param digester: makes the digests of the ledger's entries.
        :param schedule: the write quorum and the ack quorum of the ledger.
        :param flags: the flags of the adds on the wire.
        :param deferred_sync: whether bookies acknowledge entries before they sync them.
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
        """Stop using the sockets of a batcher once its requests have ended, because no writer needs it any more.

        :param key: the settings of the batcher.
        :param flow: sends the requests of the batcher.
        :param batcher: a weak reference to the batcher, which is freed already.
        """
        if self._batchers.get(key) is batcher:
            del self._batchers[key]
        flow.retire()

    def _new(
        self, bookies: IBookieClient, digester: Digester, schedule: Schedule, flags: int, deferred_sync: bool
    ) -> Batcher:  # fmt: skip
        settings = BatchSettings[QuorumWriter](
            bookies, self._budget.give_back, schedule.write_quorum, schedule.ack_quorum,
            # Only a recovery sends adds with flags.  Bookies may have got the entries of a recovery before, because the
            # writer of the ledger sent them.  So these adds are not marked as fresh (sent for the first time).
            fresh=not flags, overhead=FRAME_OVERHEAD + digester.size,
            reached=QuorumWriter.reached, failed=QuorumWriter.failed_at,
        )  # fmt: skip
        watches_time = self._watches_time and not flags
        wire = self._wires.complete if deferred_sync else self._wires.main
        seals = SealSettings(
            self._clock, digester, self._notices, flags, deferred_sync, watches_time, self._traces, wire.numbered
        )
        return Batcher(settings, self._budget, seals)

"""Plans the micro-batches of a stream: the offset at which each ends, and the partitions between two offsets.

Metadata of closed ledgers are cached.  Metadata of open ledgers are read again for every micro-batch, to notice new
ensembles and the close of a ledger.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping

import attrs

from ...errors import BookKeeperError
from ...model import LedgerMetadata
from ..driver.cluster import connect
from ..driver.planning import EntryRange
from ..options import LATEST, SourceOptions
from ..task.partition import Partition
from .batch import Planner
from .offsets import Admission, StreamOffset
from .selection import ReadableExtent, missing_ledger, offset_of

_LIKELY_ENTRY = 1024.0
"""Assumed average size of a payload in bytes after a restart of the query, until the real average is known."""


class StreamPlanner:
    """Plans the micro-batches of one streaming query, on Spark's driver."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._planner = Planner(connect(options.reading.metadata_service_uri, options.client), options)
        self._closed: dict[int, LedgerMetadata] = {}
        self._averages: dict[int, float] = {}
        self._target: StreamOffset | None = None

    def close(self) -> None:
        """Close the connection to the metadata store."""
        self._planner.cluster.close()

    # ---- offsets -------------------------------------------------------------------------------------

    def initial_offset(self) -> StreamOffset:
        """Return the offset at which the query begins."""
        starting = self._options.reading.starting_offsets
        starting = LATEST if starting is None else starting
        if starting == "earliest":
            return StreamOffset()
        ledgers = self._ledgers(self._planner.selection.ledger_ids())
        table: dict[int, int] = {}
        done: set[int] = set()
        for ledger_id, extent in self._extents(ledgers).items():
            strict = self._options.reading.fail_on_data_loss
            position = offset_of("startingOffsets", starting, ledger_id, extent.end, strict)
            if extent.closed and position >= extent.end:
                done.add(ledger_id)
            else:
                table[ledger_id] = position
        self._closed.clear()
        return StreamOffset().advanced(table, (), done | self._planner.selection.take_passed_over())

    def set_target(self) -> None:
        """Set the end of the query (``Trigger.AvailableNow``) to the entries that can be read now."""
        self._target = None
        self._target = self.latest_offset(StreamOffset(), Admission(None, None))

    def latest_offset(self, start: StreamOffset, admission: Admission) -> StreamOffset:
        """Return the offset at which a micro-batch that begins at ``start`` ends.

        :param admission: the limits of the micro-batch; this call subtracts the entries of the micro-batch from them.
        :returns: ``start`` itself if there is nothing new to read.
        :raises BookKeeperError: a ledger was deleted and ``failOnDataLoss`` is set, or the metadata store failed.
        """
        ledgers = self._ledgers(self._unfinished(start))
        extents = self._extents(ledgers)
        table: dict[int, int] = {}
        done: set[int] = set()
        for ledger_id in sorted(ledgers):
            if self._is_later(ledger_id):
                continue
            position, extent = start.position(ledger_id) or 0, extents.get(ledger_id)
            if extent is not None:
                until = self._end(ledger_id, extent, position)
                position += admission.admitted(max(until - position, 0), extent.entry_bytes)
            if extent is not None and extent.closed and position >= extent.end:
                done.add(ledger_id)
            elif position or ledger_id in start.next_entry or not ledgers[ledger_id].closed:
                table[ledger_id] = position
        end = start.advanced(table, done, self._lost(start.next_entry, ledgers))
        if end is start:
            # There may be new ledgers that the options do not select.  Do not add their ids to ``done`` now, because a
            # changed offset would cause an empty micro-batch.
            return start
        return attrs.evolve(end, done=end.done.union(self._planner.selection.take_passed_over()))

    def _is_later(self, ledger_id: int) -> bool:
        """Test whether a ledger is new since :meth:`set_target` was called; False if it was not called."""
        target = self._target
        return target is not None and ledger_id not in target.next_entry and ledger_id not in target.done

    def _end(self, ledger_id: int, extent: ReadableExtent, position: int) -> int:
        target = self._target
        if target is None or target.is_done(ledger_id):
            return extent.end
        return min(extent.end, max(target.next_entry.get(ledger_id, 0), position))

    def _unfinished(self, start: StreamOffset) -> list[int]:
        """Return the ids of the ledgers that are being read, and of selected ledgers that may have been created since.

        :param start: the offset at which the previous micro-batch ended.
        """
        possible = self._planner.selection.ledger_ids(start.done.complement())
        return sorted({*possible, *start.next_entry})

    def _lost(self, expected: Iterable[int], ledgers: Mapping[int, LedgerMetadata]) -> set[int]:
        """Return the ids in ``expected`` that are not in ``ledgers``, because the ledgers were deleted; log warnings.

        :raises NoSuchLedgerMetadataError: a ledger was deleted, and ``failOnDataLoss`` is set.
        """
        lost = {ledger_id for ledger_id in expected if ledger_id not in ledgers}
        for ledger_id in sorted(lost):
            if self._options.reading.fail_on_data_loss:
                raise missing_ledger(ledger_id)
            warnings.warn(f"passed over: ledger {ledger_id} was deleted", RuntimeWarning, stacklevel=2)
        return lost

    # ---- ledgers -------------------------------------------------------------------------------------

    def _ledgers(self, ledger_ids: Iterable[int]) -> dict[int, LedgerMetadata]:
        wanted = list(ledger_ids)
        found = {n: self._closed[n] for n in wanted if n in self._closed}
        fresh = self._planner.selection.metadata(n for n in wanted if n not in found)
        self._closed.update({n: metadata for n, metadata in fresh.items() if metadata.closed})
        return found | fresh

    def _extents(self, ledgers: Mapping[int, LedgerMetadata]) -> dict[int, ReadableExtent]:
        """Find the entries of each ledger that can be read.

        Leave out ledgers whose bookies do not answer, and warn of each.
        """
        found: dict[int, ReadableExtent] = {}
        for ledger_id, extent in self._planner.extents(ledgers).items():
            if isinstance(extent, BookKeeperError):
                warnings.warn(f"ledger {ledger_id} waits: {extent}", RuntimeWarning, stacklevel=2)
            else:
                found[ledger_id] = extent
                self._averages[ledger_id] = extent.entry_bytes
        return found

    # ---- partitions ----------------------------------------------------------------------------------

    def partitions(self, start: StreamOffset, end: StreamOffset) -> list[Partition]:
        """Return the partitions of the micro-batch between two offsets; the same offsets always give the same entries.

        :param start: the micro-batch begins at this offset.
        :param end: the micro-batch ends before this offset.
        :raises BookKeeperError: a ledger was deleted, and ``failOnDataLoss`` is set.
        """
        finished = list(end.finished) if end != start else []
        advanced = [n for n, position in end.next_entry.items() if position > (start.position(n) or 0)]
        ledgers = self._ledgers([*finished, *advanced])
        self._lost({*advanced, *finished, *(start.next_entry.keys() - end.next_entry.keys())}, ledgers)
        planned = self._planner.partitions(list(self._ranges(start, end, ledgers)))
        for ledger_id in finished:
            self._closed.pop(ledger_id, None)
            self._averages.pop(ledger_id, None)
        return planned

    def _ranges(
        self, start: StreamOffset, end: StreamOffset, ledgers: Mapping[int, LedgerMetadata]
    ) -> Iterator[EntryRange]:
        for ledger_id, metadata in sorted(ledgers.items()):
            first = start.position(ledger_id) or 0
            last = end.next_entry[ledger_id] - 1 if ledger_id in end.next_entry else metadata.last_entry_id
            yield EntryRange(ledger_id, first, last, metadata, self._averages.get(ledger_id, _LIKELY_ENTRY))

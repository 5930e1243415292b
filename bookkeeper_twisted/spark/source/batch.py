"""Plans the reads of batches on Spark's driver, and makes the rows of views (tables of metadata)."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise

import attrs

from ...blocking_reads import Address
from ...errors import BookKeeperError, ConfigError
from ...model import LedgerMetadata
from ..driver.cluster import ClusterView, bookies_of, connected
from ..driver.planning import EntryRange, partitions
from ..options import EARLIEST, SourceOptions
from ..sink.manifest import publications, published_rows
from ..task.decryption import check_keys
from ..task.partition import Partition, connections, settings_of
from .filters import IdFilter
from .selection import ReadableExtent, Selection, extents, offset_of

Row = tuple[object, ...]


class Planner:
    """Plans reads on Spark's driver, over an open connection to the metadata store."""

    def __init__(self, cluster: ClusterView, options: SourceOptions) -> None:
        self.cluster = cluster
        self.options = options
        self.selection = Selection(cluster, options)
        self._addresses: dict[str, Address] = {}
        settings = settings_of(options)
        self._pool = connections(settings.timeouts, settings.limits.max_frame_size, settings.security)

    def addresses(self, ledgers: Mapping[int, LedgerMetadata]) -> dict[str, Address]:
        """Return the addresses, by bookie id, of all bookies of ``ledgers``, and perhaps of other bookies.

        Addresses are cached.  An address is looked up again if it was not found, or if the bookie did not answer.
        """
        unknown = {n for n in bookies_of(ledgers.values()) if not self._is_known(n)}
        self._addresses.update(self.cluster.addresses(unknown))
        return self._addresses

    def _is_known(self, bookie_id: str) -> bool:
        address = self._addresses.get(bookie_id, _NOWHERE)
        return bool(address.port) and not self._pool.is_suspect(address)

    def extents(self, ledgers: Mapping[int, LedgerMetadata]) -> dict[int, ReadableExtent | BookKeeperError]:
        """Find out which entries of each of the ``ledgers`` can be read now; return the result by ledger id.

        The result for a ledger is an error if too few of its bookies answer.
        """
        return extents(ledgers, self.addresses(ledgers), self._pool)

    def partitions(self, ranges: list[EntryRange]) -> list[Partition]:
        """Return the partitions of a read of some ``ranges``, one for each task.

        The addresses of all bookies are looked up again, because tasks cannot look them up.  The key provider is
        created again, so that a long-running stream finds keys that were added to the provider's files.

        :raises UnauthorizedAccessError: a ledger of the ranges is encrypted, and the key provider does not have its
            key.
        """
        self._addresses.clear()
        reading = self.options.reading
        ledgers = {entries.ledger_id: entries.metadata for entries in ranges}
        if reading.include_payload and reading.decrypt:
            check_keys({n.ledger_id: n.metadata for n in ranges if n.count > 0}, self.cluster.keys)
        if not reading.include_payload:
            ranges = [attrs.evolve(entries, entry_bytes=0.0) for entries in ranges]
        planned = partitions(ranges, self.addresses(ledgers), reading.max_bytes_per_partition, reading.min_partitions)
        return [Partition.of(pieces, ledgers) for pieces in planned]


_NOWHERE = Address("", "", 0)


def plan_batch(options: SourceOptions, wanted: IdFilter) -> list[Partition]:
    """Return the partitions of a batch.

    This reads metadata, and asks bookies for the last add confirmed of open ledgers.

    :param wanted: the conditions of the query on ledger and entry ids.
    :raises BookKeeperError: a ledger does not exist and ``failOnDataLoss`` is set, or too few bookies of an open ledger
        answered.
    """
    with connected(options.reading.metadata_service_uri, options.client) as cluster:
        planner = Planner(cluster, options)
        chosen = planner.selection.ledger_ids(wanted.ledgers.ids())
        if not chosen and options.reading.ledgers_of_manifest:
            _expect_publication(cluster, options, "ledgersOfManifest", options.reading.ledgers_of_manifest)
        ledgers = planner.selection.metadata(chosen)
        ranges = [
            _range_of(options, ledger_id, ledgers[ledger_id], extent, wanted)
            for ledger_id, extent in sorted(planner.extents(ledgers).items())
        ]
        return planner.partitions(ranges)


def _range_of(
    options: SourceOptions, ledger_id: int, metadata: LedgerMetadata, extent: ReadableExtent | BookKeeperError,
    wanted: IdFilter,
) -> EntryRange:  # fmt: skip
    """Return the range of entries of one ledger that a batch reads, by offsets and filters; it may be empty."""
    if isinstance(extent, BookKeeperError):
        raise extent
    reading = options.reading
    starting = EARLIEST if reading.starting_offsets is None else reading.starting_offsets
    strict = reading.fail_on_data_loss
    start = offset_of("startingOffsets", starting, ledger_id, extent.end, strict)
    end = offset_of("endingOffsets", reading.ending_offsets, ledger_id, extent.end, strict)
    first, last = wanted.entries.clipped(start, end - 1)
    return EntryRange(ledger_id, first, last, metadata, extent.entry_bytes)


def _expect_publication(cluster: ClusterView, options: SourceOptions, option: str, manifest: str) -> None:
    """Check that at least one batch, perhaps an empty batch, was published under the name ``manifest``.

    :raises ConfigError: no batch was published, and ``failOnDataLoss`` is set.
    """
    if options.reading.fail_on_data_loss and not publications(cluster, manifest):
        raise ConfigError(
            f"option {option} is {manifest!r}: nothing is published under this name; with failOnDataLoss = false "
            "there are no rows"
        )


# ---- rows that the driver makes ----------------------------------------------------------------------


def view_rows(options: SourceOptions) -> list[Row]:
    """Return the rows of a view (a table of metadata) or of a manifest, whichever the ``options`` select.

    :raises BookKeeperError: metadata, or the entries that list published ledgers, cannot be read.
    """
    reading = options.reading
    with connected(reading.metadata_service_uri, options.client) as cluster:
        if reading.manifest:
            rows: list[Row] = [
                (
                    publication.key.manifest, publication.key.query_id, publication.key.batch_id, row.partition_id,
                    row.ledger_key, row.ledger_id, row.entries, row.n_bytes, _timestamp(publication.published),
                )
                for publication, row in published_rows(cluster, reading.manifest)
            ]  # fmt: skip
            if not rows:
                _expect_publication(cluster, options, "manifest", reading.manifest)
            return rows
        planner = Planner(cluster, options)
        ledgers = planner.selection.metadata(planner.selection.ledger_ids())
        if reading.view == "ledgers":
            return [_ledger_row(ledger_id, metadata) for ledger_id, metadata in sorted(ledgers.items())]
        return list(_fragment_rows(planner, ledgers))


def _timestamp(ms: int | None) -> object:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def _ledger_row(ledger_id: int, metadata: LedgerMetadata) -> Row:
    return (
        ledger_id, metadata.state.name, metadata.last_entry_id, metadata.length, metadata.ensemble_size,
        metadata.write_quorum_size, metadata.ack_quorum_size, metadata.digest_type.name, _timestamp(metadata.ctime),
        len(metadata.segments), sorted(metadata.bookies), dict(metadata.custom_metadata),
    )  # fmt: skip


def _fragment_rows(planner: Planner, ledgers: Mapping[int, LedgerMetadata]) -> Iterator[Row]:
    """Yield a row for each replica of a fragment, that is, for each position in its ensemble.

    The newest fragment of an open ledger ends with the last add confirmed.  If too few bookies answer, the last add
    confirmed is unknown.  Then column ``end_known`` is false, and the row has only the first entry of the fragment,
    which may not exist.
    """
    known, available = planner.extents(ledgers), planner.cluster.available_bookies()
    addresses = planner.addresses(ledgers)
    for ledger_id, metadata in sorted(ledgers.items()):
        extent = known[ledger_id]
        newest = metadata.segments[-1].first_entry_id
        unknown = isinstance(extent, BookKeeperError)
        end, average = (newest + 1, 0.0) if isinstance(extent, BookKeeperError) else (extent.end, extent.entry_bytes)
        quorums = (metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
        starts = [*(segment.first_entry_id for segment in metadata.segments), end]
        for number, (segment, (first, following)) in enumerate(zip(metadata.segments, pairwise(starts), strict=True)):
            end_known = not (unknown and first == newest)
            for position, bookie_id in enumerate(segment.bookies):
                address = addresses[bookie_id]
                yield (
                    ledger_id, number, first, following - 1, end_known, position, bookie_id, address.host,
                    address.port, bookie_id in available, *quorums, metadata.digest_type.name, average,
                )  # fmt: skip

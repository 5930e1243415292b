"""The manifest of the sink: a record for each batch of a query, and a ledger with one row per ledger of the batch.

A *publication* is the metadata of a ledger without entries, whose id follows from manifest, query and batch.
Creating it is what publishes the batch: metadata stores create an id once, so a batch that is written again finds it
published. It names the ledger that holds the rows. Ledgers that no publication leads to are leftovers of attempts
that failed.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Self, TypeVar

import attrs

from ...blocking_reads import FragmentReader, ReadLimits, SocketPool, Timeouts
from ...codec.digest import Digester
from ...errors import LedgerExistsError, NoSuchLedgerMetadataError, UnexpectedConditionError
from ...metadata.interfaces import ILedgerManager
from ...model import DigestType, LedgerMetadata, LedgerState, Segment
from ..driver.cluster import ClusterView, bookies_of
from ..driver.planning import EntryRange, pieces
from ..publication_ids import MANIFEST, PUBLICATION_ROLE, QUERY_ROLE, ROLE, id_of, range_of
from ..task.partition import connections

QUERY, BATCH = "spark.query", "spark.batch"
PARTITION, ATTEMPT, KEY = "spark.partition", "spark.attempt", "spark.ledger-key"
_ROWS, _START, _NEXT, _TIME = "spark.rows", "spark.start", "spark.next", "spark.time"

DATA_ROLE, ROWS_ROLE = b"data", b"rows"

T = TypeVar("T")


@attrs.frozen
class BatchKey:
    """The identity of a batch, which is the same each time the batch is written."""

    manifest: str
    query_id: str
    batch_id: int

    def custom_metadata(self, role: bytes, **more: str) -> dict[str, bytes]:
        """Return the custom metadata of a ledger of the batch.

        :param role: of the ledger, :data:`DATA_ROLE` or another.
        :param more: values by the rest of their keys, which begin with ``spark.``.
        """
        own = {
            ROLE: role,
            MANIFEST: self.manifest.encode(),
            QUERY: self.query_id.encode(),
            BATCH: b"%d" % self.batch_id,
        }
        return own | {f"spark.{key.replace('_', '-')}": value.encode() for key, value in more.items()}

    @classmethod
    def of(cls, metadata: LedgerMetadata) -> "BatchKey | None":
        """Return the batch that a ledger with these ``metadata`` was written for; None for ledgers of others."""
        custom = metadata.custom_metadata
        if not custom.keys() >= {ROLE, MANIFEST, QUERY, BATCH} or not custom[BATCH].isdigit():
            return None
        try:
            return cls(custom[MANIFEST].decode(), custom[QUERY].decode(), int(custom[BATCH]))
        except ValueError:  # a user's ledger happens to have the same keys, but other values
            return None


@attrs.frozen
class PublishedLedger:
    """One row of a manifest.

    :ivar ledger_key: the value of the column; None where there is no such column.
    :ivar n_bytes: of all payloads.
    """

    partition_id: int
    ledger_key: str | None
    ledger_id: int
    entries: int
    n_bytes: int

    def encode(self) -> bytes:
        """Return the row as an entry of the ledger of rows."""
        return json.dumps(attrs.asdict(self)).encode()

    @classmethod
    def decode(cls, entry: bytes) -> Self:
        """Decode the row in an ``entry``."""
        return cls(**json.loads(entry))


@attrs.frozen
class Publication:
    """A published batch.

    :ivar rows_ledger: holds the rows.
    :ivar start: no attempt to write the batch has ledgers with lower ids.
    :ivar next: the same for the batch after it.
    :ivar published: ms since the epoch.
    """

    key: BatchKey
    rows_ledger: int
    start: int
    next: int
    published: int

    def custom_metadata(self) -> dict[str, bytes]:
        """Return the publication as custom metadata of a ledger."""
        numbers = {_ROWS: self.rows_ledger, _START: self.start, _NEXT: self.next, _TIME: self.published}
        return self.key.custom_metadata(PUBLICATION_ROLE) | {name: b"%d" % value for name, value in numbers.items()}

    @classmethod
    def of(cls, metadata: LedgerMetadata) -> "Publication | None":
        """Return the publication stored in the ``metadata`` of a record; None if the record is not a publication."""
        custom = metadata.custom_metadata
        key = BatchKey.of(metadata)
        if key is None or custom[ROLE] != PUBLICATION_ROLE:
            return None
        try:
            return cls(key, *(int(custom[name]) for name in (_ROWS, _START, _NEXT, _TIME)))
        except (KeyError, ValueError):  # as above: a user's ledger with the same keys
            return None


def _record(bookie_id: str, custom: Mapping[str, bytes]) -> LedgerMetadata:
    """Return the metadata of a ledger that is closed without an entry."""
    return LedgerMetadata(
        1, 1, 1, (Segment(0, (bookie_id,)),), LedgerState.CLOSED, digest_type=DigestType.CRC32C,
        custom_metadata=dict(custom),
    )  # fmt: skip


async def find(ledgers: ILedgerManager, key: BatchKey) -> Publication | None:
    """Return the publication of a batch, None if it is not published.

    :param key: of the batch.
    :raises MetadataError: the store failed.
    """

    def wanted(metadata: LedgerMetadata) -> Publication | None:
        found = Publication.of(metadata)
        return found if found is not None and found.key == key else None

    return (await _looked_up(ledgers, id_of(key.manifest, key.query_id, str(key.batch_id)), wanted))[1]


async def _looked_up(
    ledgers: ILedgerManager, ledger_id: int, wanted: Callable[[LedgerMetadata], T | None]
) -> tuple[int, T | None]:
    """Return the ledger id and the content of a manifest record; without one, the first unused ledger id and None.

    :param ledger_id: of the record, unless a ledger of a user or another record has it by chance.
    :param wanted: returns the content of the record, None for another ledger.
    """
    while True:
        try:
            found = wanted((await ledgers.read(ledger_id)).value)
        except NoSuchLedgerMetadataError:
            return ledger_id, None
        if found is not None:
            return ledger_id, found
        ledger_id += 1


async def publish(ledgers: ILedgerManager, publication: Publication, bookie_id: str) -> Publication:
    """Publish a batch, unless it is published.

    :param publication: the record to be stored.
    :param bookie_id: any bookie: metadata have to name one.
    :returns: the publication that is stored now.
    """
    key = publication.key
    ledger_id = id_of(key.manifest, key.query_id, str(key.batch_id))
    record = _record(bookie_id, publication.custom_metadata())
    while True:
        try:
            await ledgers.create(ledger_id, record)
            return publication
        except LedgerExistsError:
            found = await find(ledgers, key)
            if found is not None:
                return found
            ledger_id += 1


async def begin(ledgers: ILedgerManager, key: BatchKey, bookie_id: str) -> None:
    """Store the lowest id for ledgers of a query, unless stored already; called before the first ledger is created.

    :param key: of any batch of the query.
    :param bookie_id: any bookie: metadata have to name one.
    """
    ledger_id, start = await _begun(ledgers, key)
    if start is not None:
        return
    custom = key.custom_metadata(QUERY_ROLE) | {_START: b"%d" % await ledgers.generate_id()}
    try:
        await ledgers.create(ledger_id, _record(bookie_id, custom))
    except LedgerExistsError:
        return  # another task stored the record first


async def _begun(ledgers: ILedgerManager, key: BatchKey) -> tuple[int, int | None]:
    """Return the id of a query's record, and the lowest id of the query's ledgers; None without a record."""

    def wanted(metadata: LedgerMetadata) -> int | None:
        found, custom = BatchKey.of(metadata), metadata.custom_metadata
        same = found is not None and (found.manifest, found.query_id) == (key.manifest, key.query_id)
        return int(custom[_START]) if same and custom[ROLE] == QUERY_ROLE else None

    return await _looked_up(ledgers, id_of(key.manifest, key.query_id, "begin"), wanted)


async def beginning(ledgers: ILedgerManager, key: BatchKey) -> int | None:
    """Return a lower bound of the ids of a query's ledgers, None if the query never began.

    :param key: of any batch of the query.
    :raises MetadataError: the store failed.
    """
    return (await _begun(ledgers, key))[1]


async def forget(ledgers: ILedgerManager, key: BatchKey) -> None:
    """Remove the record that :func:`begin` stored; harmless without a record.

    :param key: of any batch of the query.
    :raises MetadataError: the store failed.
    """
    ledger_id, start = await _begun(ledgers, key)
    if start is not None:
        with suppress(NoSuchLedgerMetadataError):
            await ledgers.remove(ledger_id)


# ---- reading a manifest ------------------------------------------------------------------------------


def publications(cluster: ClusterView, manifest: str) -> list[Publication]:
    """Return all publications of a ``manifest``, by query and batch.

    :raises MetadataError: the store failed.
    """
    found = _publications(cluster, manifest, cluster.stored_ids(*range_of(manifest)))
    return sorted(found.values(), key=lambda publication: (publication.key.query_id, publication.key.batch_id))


def _publications(cluster: ClusterView, manifest: str, records: Iterable[int]) -> dict[int, Publication]:
    """Return the publications of a manifest that are among some records, by record id."""
    found = {n: Publication.of(metadata) for n, metadata in cluster.metadata(records).items()}
    return {n: one for n, one in found.items() if one is not None and one.key.manifest == manifest}


def published_rows(cluster: ClusterView, manifest: str) -> Iterator[tuple[Publication, PublishedLedger]]:
    """Yield the rows of a ``manifest``, each with its publication; they are read from bookies.

    :raises UnexpectedConditionError: a ledger of rows does not exist.
    :raises BookKeeperError: rows cannot be read.
    """
    for publication, rows in _rows(cluster, publications(cluster, manifest)):
        for row in rows:
            yield publication, row


def _rows(
    cluster: ClusterView, found: Collection[Publication]
) -> Iterator[tuple[Publication, Iterator[PublishedLedger]]]:
    stored = cluster.metadata([publication.rows_ledger for publication in found])
    addresses = cluster.addresses(bookies_of(stored.values()))
    limits = ReadLimits()
    pool = connections(Timeouts(), limits.max_frame_size)
    for publication in found:
        metadata = stored.get(publication.rows_ledger)
        if metadata is None:
            raise UnexpectedConditionError(
                f"manifest {publication.key.manifest}: ledger {publication.rows_ledger} of its rows is gone"
            )
        entries = EntryRange(publication.rows_ledger, 0, metadata.last_entry_id, metadata)
        yield publication, map(PublishedLedger.decode, _entries(entries, addresses, pool, limits))


def _entries(
    entries: EntryRange, addresses: Mapping[str, object], pool: SocketPool, limits: ReadLimits
) -> Iterator[bytes]:
    digester = Digester(entries.metadata.digest_type, entries.metadata.password)
    for piece in pieces(entries, addresses, float("inf")):  # type: ignore[arg-type]
        for run in FragmentReader(pool, piece.fragment, digester, limits).runs():
            yield from digester.payloads(run)


class PublishedLedgers:
    """The published ledgers of a manifest; each publication is read only once, because publications never change."""

    def __init__(self, cluster: ClusterView, manifest: str) -> None:
        self._cluster = cluster
        self._manifest = manifest
        self._known: dict[int, tuple[int, ...]] = {}

    def ids(self) -> list[int]:
        """Return the ids of the published ledgers in ascending order.

        :raises BookKeeperError: as :func:`published_rows`.
        """
        records = self._cluster.stored_ids(*range_of(self._manifest))
        self._known = {n: self._known[n] for n in records if n in self._known}
        fresh = _publications(self._cluster, self._manifest, (n for n in records if n not in self._known))
        for record, (_, rows) in zip(fresh, _rows(self._cluster, fresh.values()), strict=True):
            self._known[record] = tuple(row.ledger_id for row in rows)
        return sorted(chain.from_iterable(self._known.values()))

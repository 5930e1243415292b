"""The manifest of the sink: the list of the ledgers that the published batches have written.

A batch is published by a *publication*: the metadata of a ledger without entries, whose id is computed from manifest,
query and batch.  A metadata store refuses to create a second ledger with the same id, so a batch can be published only
once.  The publication contains the id of a ledger with the *manifest rows*: one entry for each ledger with data of the
batch.  All other ledgers of the batch were left by failed attempts to write it.
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
from ..task.decryption import digesters_of
from ..task.partition import connections

QUERY, BATCH = "spark.query", "spark.batch"
PARTITION, ATTEMPT, KEY = "spark.partition", "spark.attempt", "spark.ledger-key"
_ROWS, _START, _NEXT, _TIME = "spark.rows", "spark.start", "spark.next", "spark.time"

DATA_ROLE, ROWS_ROLE = b"data", b"rows"

T = TypeVar("T")


@attrs.frozen
class BatchKey:
    """The identity of a batch; it is the same in all attempts to write the batch."""

    manifest: str
    query_id: str
    batch_id: int

    def custom_metadata(self, role: bytes, **more: str) -> dict[str, bytes]:
        """Return the custom metadata for a ledger that belongs to the batch.

        :param role: the purpose of the ledger, such as :data:`DATA_ROLE`.
        :param more: further values.  In their names, ``_`` is replaced by ``-``, and the prefix ``spark.`` is added.
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
        """Return the batch to which a ledger belongs, by its ``metadata``; None if it is not a ledger of the sink."""
        custom = metadata.custom_metadata
        if not custom.keys() >= {ROLE, MANIFEST, QUERY, BATCH} or not custom[BATCH].isdigit():
            return None
        try:
            return cls(custom[MANIFEST].decode(), custom[QUERY].decode(), int(custom[BATCH]))
        except ValueError:  # not a ledger of the sink: a user has set the same keys to other values
            return None


@attrs.frozen
class PublishedLedger:
    """One row of a manifest (the list of published ledgers): a ledger with data of a published batch.

    :ivar ledger_key: the value of column ``ledger_key`` in all rows of the ledger; None if there is no such column.
    :ivar n_bytes: total size in bytes of all payloads in the ledger.
    """

    partition_id: int
    ledger_key: str | None
    ledger_id: int
    entries: int
    n_bytes: int

    def encode(self) -> bytes:
        """Encode this row of the manifest as JSON, as the payload of an entry."""
        return json.dumps(attrs.asdict(self)).encode()

    @classmethod
    def decode(cls, entry: bytes) -> Self:
        """Decode a row of the manifest from ``entry``, a payload that :meth:`encode` made."""
        return cls(**json.loads(entry))


@attrs.frozen
class Publication:
    """The content of a publication, which is the record in the metadata store that publishes a batch.

    :ivar rows_ledger: id of the ledger whose entries list the ledgers with data of the batch.
    :ivar start: lower bound of the ids of all ledgers of this batch, also of failed attempts.
    :ivar next: lower bound of the ids of all ledgers of the next batch.
    :ivar published: time of the publication, in ms since the epoch.
    """

    key: BatchKey
    rows_ledger: int
    start: int
    next: int
    published: int

    def custom_metadata(self) -> dict[str, bytes]:
        """Encode this object as the custom metadata of the record that publishes the batch."""
        numbers = {_ROWS: self.rows_ledger, _START: self.start, _NEXT: self.next, _TIME: self.published}
        return self.key.custom_metadata(PUBLICATION_ROLE) | {name: b"%d" % value for name, value in numbers.items()}

    @classmethod
    def of(cls, metadata: LedgerMetadata) -> "Publication | None":
        """Decode a publication from the ``metadata`` of a ledger; return None if the ledger is not a publication."""
        custom = metadata.custom_metadata
        key = BatchKey.of(metadata)
        if key is None or custom[ROLE] != PUBLICATION_ROLE:
            return None
        try:
            return cls(key, *(int(custom[name]) for name in (_ROWS, _START, _NEXT, _TIME)))
        except (KeyError, ValueError):  # not a ledger of the sink: a user has set the same keys to other values
            return None


def _record(bookie_id: str, custom: Mapping[str, bytes]) -> LedgerMetadata:
    """Return the metadata of a ledger that serves as a record; it is closed and has no entries.

    :param bookie_id: id of any bookie, because the metadata of a ledger must contain one.
    :param custom: the content of the record, stored as custom metadata.
    """
    return LedgerMetadata(
        1, 1, 1, (Segment(0, (bookie_id,)),), LedgerState.CLOSED, digest_type=DigestType.CRC32C,
        custom_metadata=dict(custom),
    )  # fmt: skip


async def find(ledgers: ILedgerManager, key: BatchKey) -> Publication | None:
    """Look up the publication of a batch; return None if the batch is not published.

    :param key: identity of the batch.
    :raises MetadataError: the metadata store failed.
    """

    def wanted(metadata: LedgerMetadata) -> Publication | None:
        found = Publication.of(metadata)
        return found if found is not None and found.key == key else None

    return (await _looked_up(ledgers, id_of(key.manifest, key.query_id, str(key.batch_id)), wanted))[1]


async def _looked_up(
    ledgers: ILedgerManager, ledger_id: int, decode: Callable[[LedgerMetadata], T | None]
) -> tuple[int, T | None]:
    """Read a record of a manifest from the metadata store.

    :param ledger_id: the id that was computed for the record.  If other ledgers had this id, and perhaps the ids after
        it, when the record was created, the record has the next id that was free.
    :param decode: decodes the record from the metadata of a ledger; returns None if the ledger is not the record.
    :returns: the ledger id and the decoded content of the record.  If the record does not exist, the first free ledger
        id for it, and None.
    """
    while True:
        try:
            found = decode((await ledgers.read(ledger_id)).value)
        except NoSuchLedgerMetadataError:
            return ledger_id, None
        if found is not None:
            return ledger_id, found
        ledger_id += 1


async def publish(ledgers: ILedgerManager, publication: Publication, bookie_id: str) -> Publication:
    """Publish a batch by creating its publication record; do nothing if the record exists.

    :param publication: the record to create.
    :param bookie_id: id of any bookie, because the metadata of a ledger must contain one.
    :returns: the stored publication: ``publication``, or an earlier publication of the same batch.
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
    """Generate and store an id that is lower than the ids of all ledgers of a query; do nothing if one is stored.

    Call this before the first ledger of the query is created.  Commits and aborts search for ledgers of failed attempts
    from the stored id upwards.

    :param key: identity of any batch of the query.
    :param bookie_id: id of any bookie, because the metadata of a ledger must contain one.
    """
    ledger_id, start = await _begun(ledgers, key)
    if start is not None:
        return
    custom = key.custom_metadata(QUERY_ROLE) | {_START: b"%d" % await ledgers.generate_id()}
    try:
        await ledgers.create(ledger_id, _record(bookie_id, custom))
    except LedgerExistsError:
        return  # another task created the record first


async def _begun(ledgers: ILedgerManager, key: BatchKey) -> tuple[int, int | None]:
    """Read the record that :func:`begin` has made for a query.

    :returns: the ledger id of the record, and its content: an id that is lower than the ids of all ledgers of the
        query.  If the record does not exist, the first free ledger id for it, and None.
    """

    def wanted(metadata: LedgerMetadata) -> int | None:
        found, custom = BatchKey.of(metadata), metadata.custom_metadata
        same = found is not None and (found.manifest, found.query_id) == (key.manifest, key.query_id)
        return int(custom[_START]) if same and custom[ROLE] == QUERY_ROLE else None

    return await _looked_up(ledgers, id_of(key.manifest, key.query_id, "begin"), wanted)


async def beginning(ledgers: ILedgerManager, key: BatchKey) -> int | None:
    """Return the lower bound of the ids of a query's ledgers, which :func:`begin` has stored; None if there is none.

    :param key: identity of any batch of the query.
    :raises MetadataError: the metadata store failed.
    """
    return (await _begun(ledgers, key))[1]


async def forget(ledgers: ILedgerManager, key: BatchKey) -> None:
    """Remove the record that :func:`begin` created; do nothing if there is none.

    :param key: identity of any batch of the query.
    :raises MetadataError: the metadata store failed.
    """
    ledger_id, start = await _begun(ledgers, key)
    if start is not None:
        with suppress(NoSuchLedgerMetadataError):
            await ledgers.remove(ledger_id)


# ---- reading a manifest ------------------------------------------------------------------------------


def publications(cluster: ClusterView, manifest: str) -> list[Publication]:
    """Return the records of all batches that were published under the name ``manifest``, sorted by query and batch.

    :raises MetadataError: the metadata store failed.
    """
    found = _publications(cluster, manifest, cluster.stored_ids(*range_of(manifest)))
    return sorted(found.values(), key=lambda publication: (publication.key.query_id, publication.key.batch_id))


def _publications(cluster: ClusterView, manifest: str, records: Iterable[int]) -> dict[int, Publication]:
    """Read the publications of ``manifest``, the records about its published batches; return them by ledger id.

    :param records: ids of ledgers that may be publications.  Other ledgers are left out.
    """
    found = {n: Publication.of(metadata) for n, metadata in cluster.metadata(records).items()}
    return {n: one for n, one in found.items() if one is not None and one.key.manifest == manifest}


def published_rows(cluster: ClusterView, manifest: str) -> Iterator[tuple[Publication, PublishedLedger]]:
    """Read the rows of a ``manifest`` from bookies; yield each row with the record of its publication.

    A publication makes ledgers that a Spark job has written visible to readers, all at once.  The manifest lists these
    ledgers: each row describes one, and is stored as an entry of a ledger.

    :param manifest: name of the manifest.
    :raises UnexpectedConditionError: a ledger whose entries are rows of the manifest does not exist.
    :raises BookKeeperError: rows of the manifest cannot be read.
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
    pool = connections(Timeouts(), limits.max_frame_size, cluster.security)
    for publication in found:
        metadata = stored.get(publication.rows_ledger)
        if metadata is None:
            raise UnexpectedConditionError(
                f"manifest {publication.key.manifest}: ledger {publication.rows_ledger} of its rows is gone"
            )
        entries = EntryRange(publication.rows_ledger, 0, metadata.last_entry_id, metadata)
        (digester,) = digesters_of({entries.ledger_id: metadata}, cluster.keys, metadata.password).values()
        yield publication, map(PublishedLedger.decode, _entries(entries, digester, addresses, pool, limits))


def _entries(
    entries: EntryRange, digester: Digester, addresses: Mapping[str, object], pool: SocketPool, limits: ReadLimits
) -> Iterator[bytes]:
    for piece in pieces(entries, addresses, float("inf")):  # type: ignore[arg-type]
        for run in FragmentReader(pool, piece.fragment, digester, limits).runs():
            opened, cut = digester.opened(run)
            yield from cut.payloads(opened)


class PublishedLedgers:
    """The list of the published ledgers of a manifest.

    Publication records never change, so each record is read only once.
    """

    def __init__(self, cluster: ClusterView, manifest: str) -> None:
        self._cluster = cluster
        self._manifest = manifest
        self._known: dict[int, tuple[int, ...]] = {}

    def ids(self) -> list[int]:
        """Return the ids of the published ledgers in ascending order.

        :raises BookKeeperError: metadata, or the entries that list published ledgers, cannot be read.
        """
        records = self._cluster.stored_ids(*range_of(self._manifest))
        self._known = {n: self._known[n] for n in records if n in self._known}
        fresh = _publications(self._cluster, self._manifest, (n for n in records if n not in self._known))
        for record, (_, rows) in zip(fresh, _rows(self._cluster, fresh.values()), strict=True):
            self._known[record] = tuple(row.ledger_id for row in rows)
        return sorted(chain.from_iterable(self._known.values()))

"""Writes the rows of one partition to ledgers, in a task.

A task creates one ledger for each value of column ``ledger_key``; the rows in a ledger keep their order.  The client
runs in the reactor thread of the worker process, and later tasks of the process use it again.  While bookies write the
entries of one record batch, the task reads the next record batch from Spark.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import attrs
from twisted.internet.defer import Deferred

from ...client import BookKeeper, LedgerWriter
from ...errors import (
    BookKeeperError,
    IncorrectParameterError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
)
from ...model import DigestType
from ..options import SinkOptions
from ..reactor import THREAD
from ..task.pacing import pace_of
from . import manifest
from .manifest import BatchKey, PublishedLedger

Connect = Callable[..., "Deferred[BookKeeper]"]


@attrs.frozen
class WriteAttempt:
    """One attempt of a task to write a partition.

    :ivar number: number of the attempt, unique among all attempts of all tasks.
    """

    key: BatchKey
    partition_id: int
    number: int


@lru_cache(maxsize=8)
def _client(connect: Connect, uri: str, settings: tuple[tuple[str, object], ...]) -> BookKeeper:
    from ...config.client import ClientConfig

    config = ClientConfig(**cast(Any, dict(settings)))
    return THREAD.wait(lambda: connect(THREAD.reactor, uri, config))


def client_of(options: SinkOptions, connect: Connect = BookKeeper.connect) -> BookKeeper:
    """Return the client of this process for ``options``; the first call connects it, and blocks until it is connected.

    :param connect: a function that connects a client: :meth:`.BookKeeper.connect`, or the same method of a subclass.
    :raises BookKeeperError: there is no connection to the metadata store.
    """
    config = options.client
    settings = tuple((name, getattr(config, name)) for name in sorted(config.origins))
    return _client(connect, options.writing.metadata_service_uri, settings)


class AlreadyPublishedError(BookKeeperError):
    """Raised in an attempt to write a batch if another attempt has published the batch."""


async def any_bookie(client: BookKeeper) -> str:
    """Return the lowest id of a writable bookie, for the ensemble of a ledger without entries.

    :param client: the client, which is connected to the cluster.
    :raises NotEnoughBookiesError: no bookie is writable.
    """
    writable = await client.metadata.registration.writable_bookies()
    if not writable:
        raise NotEnoughBookiesError("no bookie is writable")
    return min(writable)


async def new_ledger(
    client: BookKeeper, options: SinkOptions, digest_type: DigestType, custom: Mapping[str, bytes]
) -> LedgerWriter:
    """Create a ledger with the quorums and the password in the options.

    :param digest_type: digest type of the ledger.
    :param custom: custom metadata of the ledger.
    :raises NotEnoughBookiesError: there are fewer writable bookies than the ensemble needs.
    """
    writing = options.writing
    quorums = (writing.ensemble_size, writing.write_quorum, writing.ack_quorum)
    try:
        return await client.create_ledger(*quorums, options.password.value, digest_type, custom)
    except NotEnoughBookiesError as error:
        raise NotEnoughBookiesError(f"option ensembleSize is {writing.ensemble_size}: {error}") from None


class PartitionWriter:
    """One attempt to write the rows of a partition: to one ledger for each value of column ``ledger_key``."""

    def __init__(self, client: BookKeeper, options: SinkOptions, attempt: WriteAttempt) -> None:
        self._client = client
        self._options = options
        self._attempt = attempt
        self._ledgers = client.metadata.ledgers
        self._writers: dict[str | None, LedgerWriter] = {}
        self._counts: dict[str | None, list[int]] = {}
        self._under_way: list[Deferred[tuple[int, int]]] = []

    async def is_published(self) -> bool:
        """Test whether another attempt to write the batch has already published it."""
        return await manifest.find(self._ledgers, self._attempt.key) is not None

    async def append(self, rows: Iterable[tuple[str | None, Sequence[bytes]]]) -> None:
        """Start to append payloads; then wait until all payloads of the previous call are acknowledged.

        :param rows: ledger keys, each with the payloads for its ledger; a key may occur several times.
        :raises BookKeeperError: a ledger cannot be created, or an append of the previous call failed.
        """
        started = []
        for key, payloads in rows:
            writer = self._writers.get(key) or await self._open(key)
            counts = self._counts[key]
            counts[0] += len(payloads)
            counts[1] += sum(map(len, payloads))
            started.append(writer.append_many(payloads))
        before, self._under_way = self._under_way, started
        for result in before:
            await result

    async def _open(self, key: str | None) -> LedgerWriter:
        """Create the ledger for a value of ``ledger_key``; raise AlreadyPublishedError if the batch is published.

        The test comes after the creation of the ledger.  So if another attempt publishes the batch at this moment,
        either this test finds the publication, and :meth:`remove` deletes the ledger; or the commit of the other
        attempt finds the ledger, and deletes it.
        """
        writing, attempt = self._options.writing, self._attempt
        if len(self._writers) >= writing.max_open_ledgers:
            raise IncorrectParameterError(
                f"partition {attempt.partition_id} has more than {writing.max_open_ledgers} values of ledger_key: "
                "partition the rows by ledger_key, or raise option maxOpenLedgers"
            )
        more = {"partition": str(attempt.partition_id), "attempt": str(attempt.number)}
        if key is not None:
            more["ledger_key"] = key
        custom = attempt.key.custom_metadata(manifest.DATA_ROLE, **more)
        if not self._writers:
            await manifest.begin(self._ledgers, attempt.key, await any_bookie(self._client))
        writer = await new_ledger(self._client, self._options, self._options.digest_type, custom)
        self._writers[key] = writer
        self._counts[key] = [0, 0]
        if await self.is_published():
            raise AlreadyPublishedError
        return writer

    async def finish(self) -> list[PublishedLedger]:
        """Wait until all appends are acknowledged, and close the ledgers.

        :returns: a description of each ledger for the manifest, the list of published ledgers.
        """
        for result in self._under_way:
            await result
        for writer in self._writers.values():
            await writer.close()
        partition_id = self._attempt.partition_id
        return [
            PublishedLedger(partition_id, key, writer.ledger_id, *self._counts[key])
            for key, writer in self._writers.items()
        ]

    async def remove(self) -> None:
        """Cancel the appends of a failed attempt, and delete its ledgers; ignore errors of the close of a ledger."""
        for result in self._under_way:
            result.addErrback(lambda failure: None)
            result.cancel()
        for writer in self._writers.values():
            with suppress(BookKeeperError):
                await writer.close()
            with suppress(NoSuchLedgerMetadataError):
                await self._client.delete_ledger(writer.ledger_id)
        self._writers = {}


def write_partition(options: SinkOptions, attempt: WriteAttempt, batches: Iterable[Any]) -> list[PublishedLedger]:
    """Write the rows of a DataFrame partition to ledgers.

    :param batches: Arrow record batches with a column ``payload`` and optionally ``ledger_key``.
    :returns: for each written ledger, its row for the manifest (the list of published ledgers); no rows if the batch is
        published already.
    """
    writer = PartitionWriter(client_of(options), options, attempt)
    if THREAD.wait(writer.is_published):
        return []
    pace = pace_of("write", options.writing.share)
    try:
        for batch in batches:
            pace.spend(batch.num_rows, batch.nbytes)
            rows = by_key(batch)
            THREAD.wait(lambda rows=rows: writer.append(rows))  # type: ignore[misc]
        return THREAD.wait(writer.finish)
    except AlreadyPublishedError:
        THREAD.wait(writer.remove)
        return []
    except BaseException:
        THREAD.wait(writer.remove)
        raise


def by_key(batch: Any) -> list[tuple[str | None, list[bytes]]]:
    """Group the payloads of an Arrow record batch by ledger key; keep their order within each group.

    :raises IncorrectParameterError: a payload is null.
    """
    column = batch.column("payload")
    if column.null_count:
        raise IncorrectParameterError("column payload has a null: an entry is bytes, which may be empty")
    payloads = [value.encode() if isinstance(value, str) else value for value in column.to_pylist()]
    if "ledger_key" not in batch.schema.names:
        return [(None, payloads)] if payloads else []
    rows: dict[str | None, list[bytes]] = {}
    for key, payload in zip(batch.column("ledger_key").to_pylist(), payloads, strict=True):
        rows.setdefault(None if key is None else str(key), []).append(payload)
    return list(rows.items())

"""Commits and aborts batches of the sink, on the driver.

Each batch is published exactly once, and ledgers of failed attempts are deleted.  An attempt to write a batch first
creates a ledger, then checks whether the batch is published.  A commit first publishes the batch, then searches for
ledgers of other attempts.  So if both happen at the same time, the attempt finds the publication or the commit finds
the ledger, and deletes the ledger.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress

from twisted.internet.interfaces import IReactorTime

from ...client import BookKeeper, LedgerWriter
from ...errors import NoSuchLedgerMetadataError
from ...model import DigestType
from ..options import SinkOptions
from ..publication_ids import FIRST_PUBLICATION
from . import manifest
from .ledger_writing import any_bookie, new_ledger
from .manifest import BatchKey, Publication, PublishedLedger


class Publisher:
    """Publishes batches, and deletes the ledgers that failed attempts have left.

    :param clock: the clock for the time of publication (column ``published`` of the manifest).
    """

    def __init__(self, clock: IReactorTime, client: BookKeeper, options: SinkOptions) -> None:
        self._clock = clock
        self._client = client
        self._options = options
        self._ledgers = client.metadata.ledgers

    async def commit(self, key: BatchKey, rows: Sequence[PublishedLedger]) -> None:
        """Publish a batch if it is not published yet; delete the ledgers of failed attempts to write it.

        :param key: identity of the batch.
        :param rows: the ledgers with data that all tasks have written; ignored if the batch is already published.
        :raises BookKeeperError: the batch was not published, or ledgers of failed attempts remain; the call can be
            repeated.
        """
        published = await manifest.find(self._ledgers, key)
        if published is None:
            published = await self._publish(key, rows)
        kept = {row.ledger_id for row in await self._rows(published)} | {published.rows_ledger}
        previous = await self._previous(key)
        first = published.start
        if previous is not None:
            kept |= {row.ledger_id for row in await self._rows(previous)} | {previous.rows_ledger}
            first = min(first, previous.start)
        await self._remove_leftovers(key, first, kept, previous is not None)

    async def abort(self, key: BatchKey) -> None:
        """Delete all ledgers of a batch, unless the batch is published.

        :param key: identity of the batch.
        :raises BookKeeperError: some ledgers were not deleted.
        """
        if await manifest.find(self._ledgers, key) is None:
            first = await self._start(key)
            if first is not None:
                await self._remove_leftovers(key, first, set(), False)

    async def end(self, key: BatchKey) -> None:
        """Remove the record that contains a lower bound of the ids of a query's ledgers.

        Commits begin at this bound to search for ledgers of failed attempts, so call this only after the last batch.

        :param key: identity of the last batch of the query.
        """
        await manifest.forget(self._ledgers, key)

    async def _publish(self, key: BatchKey, rows: Sequence[PublishedLedger]) -> Publication:
        bookie_id = await any_bookie(self._client)
        start = await self._start(key)
        # If no lower bound is stored, no task has created a ledger of the query, because a task stores the bound first.
        if start is None:
            await manifest.begin(self._ledgers, key, bookie_id)
            start = await self._start(key)
        writer = await self._write_rows(key, rows)
        # The lower bound of the next batch: its ledgers are created later than the ledger with the manifest rows, so
        # they have higher ids.  Do not generate an id for the bound: generated ids without a ledger are gaps, and gaps
        # make the offsets of streams longer.
        following = writer.ledger_id + 1
        time = int(self._clock.seconds() * 1000)
        publication = Publication(key, writer.ledger_id, start or 0, following, time)
        return await manifest.publish(self._ledgers, publication, bookie_id)

    async def _write_rows(self, key: BatchKey, rows: Sequence[PublishedLedger]) -> LedgerWriter:
        custom = key.custom_metadata(manifest.ROWS_ROLE)
        writer = await new_ledger(self._client, self._options, DigestType.CRC32C, custom)
        if rows:
            await writer.append_many([row.encode() for row in rows])
        await writer.close()
        return writer

    async def _rows(self, publication: Publication) -> list[PublishedLedger]:
        async with await self._client.open_ledger(publication.rows_ledger, self._options.password.value) as reader:
            return [PublishedLedger.decode(entry.data) async for entry in reader.entries()]

    async def _previous(self, key: BatchKey) -> Publication | None:
        if not key.batch_id:
            return None
        return await manifest.find(self._ledgers, BatchKey(key.manifest, key.query_id, key.batch_id - 1))

    async def _start(self, key: BatchKey) -> int | None:
        """Return a lower bound of the ids of all ledgers of a batch; None if no attempt has created a ledger."""
        previous = await self._previous(key)
        return await manifest.beginning(self._ledgers, key) if previous is None else previous.next

    async def _remove_leftovers(self, key: BatchKey, first: int, kept: Collection[int], with_previous: bool) -> None:
        """Delete the ledgers of a batch that have ids from ``first`` upwards, except those in ``kept``.

        :param with_previous: whether to delete ledgers of the previous batch, too.
        """
        batches = {key.batch_id, key.batch_id - 1} if with_previous else {key.batch_id}
        async for ledger_id, other in self._written(first):
            same = (other.manifest, other.query_id) == (key.manifest, key.query_id)
            if same and other.batch_id in batches and ledger_id not in kept:
                with suppress(NoSuchLedgerMetadataError):
                    await self._ledgers.remove(ledger_id)

    async def _written(self, first: int) -> AsyncIterator[tuple[int, BatchKey]]:
        """Yield the id of each ledger that a sink has written, and its batch; skip ids below ``first``."""
        # stop below the ids of the sink's records: ledgers with entries have generated ids, which are lower
        async for ledger_id in self._ledgers.ledger_ids(first, FIRST_PUBLICATION - 1):
            try:
                key = BatchKey.of((await self._ledgers.read(ledger_id)).value)
            except NoSuchLedgerMetadataError:
                continue
            if key is not None:
                yield ledger_id, key

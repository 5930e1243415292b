"""The commit and the abort of batches of the sink, on the driver.

The order of steps is what makes a batch appear exactly once. An attempt creates its ledgers, then looks whether the
batch is published; a commit publishes, then looks for ledgers. So of a ledger and a publication at least one is seen
by the other side, and what was not published is removed.
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
    """The publisher of batches, which removes the leftovers of failed attempts.

    :param clock: the time of day for the column ``published``.
    """

    def __init__(self, clock: IReactorTime, client: BookKeeper, options: SinkOptions) -> None:
        self._clock = clock
        self._client = client
        self._options = options
        self._ledgers = client.metadata.ledgers

    async def commit(self, key: BatchKey, rows: Sequence[PublishedLedger]) -> None:
        """Publish a batch, unless it is published, and remove the ledgers that do not belong to it.

        :param key: of the batch.
        :param rows: of all its tasks; without effect for a batch that is published.
        :raises BookKeeperError: the batch was not published, or leftovers remain; the call is to be repeated.
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
        """Remove all ledgers of a batch, unless the batch is published.

        :param key: of the batch.
        :raises BookKeeperError: some ledgers were not removed.
        """
        if await manifest.find(self._ledgers, key) is None:
            first = await self._start(key)
            if first is not None:
                await self._remove_leftovers(key, first, set(), False)

    async def end(self, key: BatchKey) -> None:
        """Remove the record of a query that will have no further batch.

        :param key: of its last batch.
        """
        await manifest.forget(self._ledgers, key)

    async def _publish(self, key: BatchKey, rows: Sequence[PublishedLedger]) -> Publication:
        bookie_id = await any_bookie(self._client)
        start = await self._start(key)
        if start is None:  # no task has created a ledger yet, so the start of the query is not stored
            await manifest.begin(self._ledgers, key, bookie_id)
            start = await self._start(key)
        writer = await self._write_rows(key, rows)
        # Attempts at the next batch begin after this one is published, so their ledger ids are higher than this one.
        # Drawing an id that no ledger gets would leave a gap in stream offsets.
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
        """Return a lower bound of the ledger ids of all attempts to write the batch."""
        previous = await self._previous(key)
        return await manifest.beginning(self._ledgers, key) if previous is None else previous.next

    async def _remove_leftovers(self, key: BatchKey, first: int, kept: Collection[int], with_previous: bool) -> None:
        """Remove the ledgers of a batch and of the previous batch, except those in ``kept``."""
        batches = {key.batch_id, key.batch_id - 1} if with_previous else {key.batch_id}
        async for ledger_id, other in self._written(first):
            same = (other.manifest, other.query_id) == (key.manifest, key.query_id)
            if same and other.batch_id in batches and ledger_id not in kept:
                with suppress(NoSuchLedgerMetadataError):
                    await self._ledgers.remove(ledger_id)

    async def _written(self, first: int) -> AsyncIterator[tuple[int, BatchKey]]:
        """Yield the ledgers that a sink wrote, from an id upwards, each with the key of its batch."""
        # a sink's ledgers have generated ids, which are lower than the ids of its records
        async for ledger_id in self._ledgers.ledger_ids(first, FIRST_PUBLICATION - 1):
            try:
                key = BatchKey.of((await self._ledgers.read(ledger_id)).value)
            except NoSuchLedgerMetadataError:
                continue
            if key is not None:
                yield ledger_id, key

"""The sink without Spark: attempts, commits, replays, leftovers."""

from collections.abc import Iterable

import pyarrow

from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.model import MAX_LEDGER_ID, LedgerMetadata
from bookkeeper_twisted.spark.options import SinkOptions
from bookkeeper_twisted.spark.publication_ids import id_of, range_of
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink import manifest
from bookkeeper_twisted.spark.sink.ledger_writing import (
    AlreadyPublishedError,
    PartitionWriter,
    WriteAttempt,
    client_of,
    write_partition,
)
from bookkeeper_twisted.spark.sink.manifest import BatchKey, PublishedLedger
from bookkeeper_twisted.spark.sink.publishing import Publisher

from ..cluster_case import ClusterCase


class SinkCase(ClusterCase):
    """Batches of a query."""

    def setUp(self) -> None:
        super().setUp()
        self.options = SinkOptions.parse({"metadataserviceuri": self.uri, "manifest": "events"})
        self.inner = client_of(self.options)
        self.addCleanup(THREAD.wait, self.inner.close)
        self.publisher = Publisher(THREAD.reactor, self.inner, self.options)
        self.cluster = self.connect()

    def key(self, batch_id: int = 0) -> BatchKey:
        """A batch."""
        return BatchKey("events", "query", batch_id)

    def attempt(self, number: int, batch_id: int = 0, keys: list[str | None] | None = None) -> list[PublishedLedger]:
        """Writes three rows as one attempt."""
        columns = {"payload": [b"%d-%d" % (number, n) for n in range(3)]}
        batch = pyarrow.RecordBatch.from_pydict(columns if keys is None else columns | {"ledger_key": keys})
        return write_partition(self.options, WriteAttempt(self.key(batch_id), 0, number), [batch])

    def abandoned(self, number: int, batch_id: int = 0) -> None:
        """An attempt that dies with an open ledger."""
        writer = PartitionWriter(self.inner, self.options, WriteAttempt(self.key(batch_id), 0, number))
        THREAD.wait(lambda: writer.append([(None, [b"lost"])]))

    def commit(self, rows: list[PublishedLedger], batch_id: int = 0) -> None:
        """Commits a batch."""
        THREAD.wait(lambda: self.publisher.commit(self.key(batch_id), rows))

    def published(self) -> list[tuple[int, bytes]]:
        """Batch and payload of everything that is published."""
        found = []
        for publication, row in manifest.published_rows(self.cluster, "events"):
            with self.client.open_ledger(row.ledger_id) as reader:
                found += [(publication.key.batch_id, entry.data) for entry in reader]
        return found

    def orphans(self) -> list[int]:
        """Ledgers that no publication leads to."""
        kept = {publication.rows_ledger for publication in manifest.publications(self.cluster, "events")}
        kept |= set(manifest.PublishedLedgers(self.cluster, "events").ids())
        return [n for n in self.cluster.ledger_ids() if n not in kept]


class PublishingTests(SinkCase):
    """Every batch once."""

    def test_batches(self) -> None:
        """Batches are published in order, with what was written where."""
        for batch_id in range(3):
            self.commit(self.attempt(batch_id, batch_id), batch_id)
        self.assertEqual(self.published(), [(b, b"%d-%d" % (b, n)) for b in range(3) for n in range(3)])
        self.assertEqual(self.orphans(), [])
        row = next(row for _, row in manifest.published_rows(self.cluster, "events"))
        self.assertEqual((row.entries, row.n_bytes, row.ledger_key), (3, 9, None))

    def test_replay(self) -> None:
        """A batch that is written again after its publication changes nothing and leaves nothing."""
        self.commit(self.attempt(1))
        self.assertEqual(self.attempt(2), [])
        self.commit([])
        self.assertEqual([payload for _, payload in self.published()], [b"1-0", b"1-1", b"1-2"])
        self.assertEqual(self.orphans(), [])

    def test_two_commits(self) -> None:
        """Of two commits of a batch, the first one counts, and the ledgers of the other are removed."""
        first, second = self.attempt(1), self.attempt(2)
        self.commit(first)
        self.commit(second)
        self.assertEqual(len(self.published()), 3)
        self.assertEqual(self.orphans(), [])

    def test_leftovers_of_attempts(self) -> None:
        """What dead attempts left is removed by the commit, by that of the next batch, and by an abort."""
        self.abandoned(1)
        rows = self.attempt(2)
        self.abandoned(3)
        self.commit(rows)
        self.assertEqual(self.orphans(), [])
        rows = self.attempt(4, 1)
        self.abandoned(5, 1)
        THREAD.wait(lambda: self.publisher.abort(self.key(1)))
        self.assertEqual(self.orphans(), [])
        self.abandoned(6, 1)
        self.commit(self.attempt(7, 1), 1)
        self.assertEqual(self.orphans(), [])
        self.assertEqual(len(self.published()), 6)
        self.assertEqual(len(rows), 1)

    def test_publications_are_read_once(self) -> None:
        """Who asks for the published ledgers again reads what was published since; removed publications are gone."""
        published, asked = manifest.PublishedLedgers(self.cluster, "events"), []
        read = self.cluster.metadata

        def metadata(ledger_ids: Iterable[int]) -> dict[int, LedgerMetadata]:
            asked.extend(found := list(ledger_ids))
            return read(found)

        self.patch(self.cluster, "metadata", metadata)
        self.assertEqual(published.ids(), [])
        ledgers = []
        for batch_id in range(2):
            rows = self.attempt(batch_id, batch_id)
            ledgers += [row.ledger_id for row in rows]
            self.commit(rows, batch_id)
            asked.clear()
            self.assertEqual(published.ids(), ledgers)
            self.assertEqual(len(asked), 2 + 1)  # the record, the ledger of its rows, and where the query begins
            asked.clear()
            self.assertEqual(published.ids(), ledgers)
            self.assertEqual(len(asked), 1)
        (record,) = {id_of("events", "query", "0")}.intersection(self.cluster.stored_ids(0, MAX_LEDGER_ID))
        THREAD.wait(lambda: self.cluster.ledgers.remove(record))
        self.assertEqual(published.ids(), ledgers[1:])

    def test_records_of_one_id(self) -> None:
        """Batches whose records would have the same id are published one by one, and each is found again."""
        self.patch(manifest, "id_of", lambda name, *key: range_of(name)[0])
        for batch_id in range(2):
            self.commit(self.attempt(batch_id, batch_id), batch_id)
        self.assertEqual(self.published(), [(i, b"%d-%d" % (i, n)) for i in range(2) for n in range(3)])
        self.assertEqual(self.attempt(9, 1), [])

    def test_ledgers_with_ids_of_records(self) -> None:
        """Ledgers of users that have the ids of a query's records stay as they are, and the query goes on beside."""
        ids = [id_of("events", "query", word) for word in ("begin", "0")]
        odd = {"spark.role": b"publication", "spark.manifest": b"\xff", "spark.query": b"q", "spark.batch": b"0"}
        for ledger_id, custom in zip(ids, ({}, odd), strict=True):
            self.client.create_ledger_adv(ledger_id, 3, 3, 2, custom_metadata=custom).close()
        self.commit(self.attempt(1))
        THREAD.wait(lambda: self.publisher.end(self.key()))
        self.assertEqual([payload for _, payload in self.published()], [b"1-0", b"1-1", b"1-2"])
        self.assertEqual([n for n in self.cluster.ledger_ids() if n in ids], sorted(ids))

    def test_manifests_of_one_range(self) -> None:
        """Manifests whose records are in the same range of ids keep their ledgers apart."""
        names = ("m2735", "m5550")
        self.assertEqual(*map(range_of, names))
        batch = pyarrow.RecordBatch.from_pydict({"payload": [b"x"]})
        for name in names:
            key = BatchKey(name, "query", 0)
            rows = write_partition(self.options, WriteAttempt(key, 0, 1), [batch])
            THREAD.wait(lambda key=key, rows=rows: self.publisher.commit(key, rows))  # type: ignore[misc]
            ids = [row.ledger_id for row in rows]
            self.assertEqual(manifest.PublishedLedgers(self.cluster, name).ids(), ids)

    def test_published_ledgers_survive_an_abort(self) -> None:
        """An abort that comes after the publication removes nothing."""
        self.commit(self.attempt(1))
        THREAD.wait(lambda: self.publisher.abort(self.key()))
        self.assertEqual(len(self.published()), 3)

    def test_ledgers_of_others(self) -> None:
        """Ledgers that were written by another query, or otherwise, are never removed."""
        self.abandoned(1)
        mine = self.ledger([b"x"])
        other = PartitionWriter(self.inner, self.options, WriteAttempt(BatchKey("events", "other", 0), 0, 9))
        THREAD.wait(lambda: other.append([(None, [b"theirs"])]))
        self.commit(self.attempt(2))
        self.assertEqual(len(self.orphans()), 2)
        self.assertIn(mine, self.orphans())

    def test_late_attempt(self) -> None:
        """An attempt that goes on after the publication removes its own ledger."""
        late = PartitionWriter(self.inner, self.options, WriteAttempt(self.key(), 0, 9))
        self.commit(self.attempt(1))
        rows: list[tuple[str | None, list[bytes]]] = [(None, [b"late"])]
        self.assertRaises(AlreadyPublishedError, THREAD.wait, lambda: late.append(rows))
        THREAD.wait(late.remove)
        self.assertEqual(self.orphans(), [])


class KeyTests(SinkCase):
    """Rows with a key."""

    def test_order_by_key(self) -> None:
        """Each key has a ledger of its own, in which its rows keep their order."""
        self.commit(self.attempt(1, keys=["a", "b", "a"]))
        rows = {row.ledger_key: row for _, row in manifest.published_rows(self.cluster, "events")}
        with self.client.open_ledger(rows["a"].ledger_id) as reader:
            self.assertEqual([entry.data for entry in reader], [b"1-0", b"1-2"])
        self.assertEqual(rows["b"].entries, 1)

    def test_too_many_keys(self) -> None:
        """More keys than ledgers may be open are an error that names the option, and nothing is left."""
        self.options = SinkOptions.parse({"metadataserviceuri": self.uri, "manifest": "events", "maxopenledgers": "2"})
        error = self.assertRaises(IncorrectParameterError, self.attempt, 1, 0, ["a", "b", "c"])
        self.assertIn("maxOpenLedgers", str(error))
        self.assertEqual(self.orphans(), [])

    def test_null_payload(self) -> None:
        """A row without a payload is an error, and nothing is left."""
        batch = pyarrow.RecordBatch.from_pydict({"payload": [b"a", None]})
        attempt = WriteAttempt(self.key(), 0, 1)
        self.assertRaises(IncorrectParameterError, write_partition, self.options, attempt, [batch])
        self.assertEqual(self.orphans(), [])

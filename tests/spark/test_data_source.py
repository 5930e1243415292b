"""The source in Spark: batches, streams, errors."""

import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.spark.reactor import THREAD

from .session import SparkCase, missing

PAYLOADS = [b"%d" % n * (n % 40) for n in range(5000)]


class ImportTests(SynchronousTestCase):
    """What Spark imports."""

    skip = missing() or None

    def test_found_by_spark(self) -> None:
        """The source that Spark finds by its name is this one."""
        from bookkeeper_twisted.spark.data_source import BookKeeperDataSource
        from pyspark_bookkeeper import DefaultSource

        self.assertEqual(DefaultSource.name(), BookKeeperDataSource.name())
        self.assertIsInstance(DefaultSource({})._loaded, BookKeeperDataSource)

    def test_tasks_load_no_twisted(self) -> None:
        """What a task of the source imports is the codec and sockets: no Twisted, which would double its start."""
        check = "import sys, bookkeeper_twisted.spark.data_source; sys.exit('twisted' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", check]).returncode, 0)


class BatchTests(SparkCase):
    """Reading ledgers once."""

    def test_all_entries(self) -> None:
        """Ids, lengths and payloads are those that were written, over several partitions."""
        ledger = self.ledger(PAYLOADS)
        frame = self.load(ledger=str(ledger), maxBytesPerPartition="60k")
        self.assertGreater(frame.rdd.getNumPartitions(), 3)
        rows = sorted(frame.collect())
        self.assertEqual([(r.ledger_id, r.entry_id, r.payload) for r in rows], _rows(ledger))
        self.assertEqual(rows[-1].length, sum(map(len, PAYLOADS)))

    def test_views_and_columns(self) -> None:
        """Options choose columns: ids alone, metadata beside them, ledgers, fragments."""
        ledger = self.ledger(PAYLOADS[:100], custom={"application": b"tests"})
        self.assertEqual(self.load(ledger=str(ledger), includePayload="false").columns, ["ledger_id", "entry_id"])
        self.assertEqual(self.load(ledger=str(ledger), includePayload="false").count(), 100)
        row = self.load(ledger=str(ledger), includeMetadata="true").orderBy("entry_id").first()
        self.assertEqual((row.custom_metadata, row.last_add_confirmed), ({"application": b"tests"}, -1))
        (row,) = self.load(view="ledgers").collect()
        self.assertEqual((row.ledger_id, row.state, row.last_entry_id), (ledger, "CLOSED", 99))
        rows = self.load(view="fragments", ledger=str(ledger)).collect()
        self.assertEqual([(r.first_entry_id, r.last_entry_id, r.available) for r in rows], [(0, 99, True)] * 3)

    def test_selections_and_offsets(self) -> None:
        """Ledgers are chosen by id or custom metadata, entries by offsets."""
        first = self.ledger(PAYLOADS[:50], custom={"application": b"a1"})
        second = self.ledger(PAYLOADS[:50], custom={"application": b"b1"})
        both = f"{first},{second}"
        self.assertEqual(self.load(ledgers=both).count(), 100)
        self.assertEqual({r.ledger_id for r in self.load(ledgersPattern="application=b.*").collect()}, {second})
        offsets = self.load(
            ledgers=both, startingOffsets=f'{{"{first}": 40, "{second}": 0}}',
            endingOffsets=f'{{"{first}": 45, "{second}": 1}}',
        )  # fmt: skip
        self.assertEqual(sorted((r.ledger_id, r.entry_id) for r in offsets.collect()),
                         [(first, n) for n in range(40, 45)] + [(second, 0)])  # fmt: skip

    def test_high_ids(self) -> None:
        """Ledgers of users with ids as high as those of the sink's records are read, listed and verified."""
        ids = [7, (1 << 62) - 1, 1 << 62, (1 << 63) - 1]
        for ledger_id in ids:
            custom = {"application": b"high"}
            with self.client.create_ledger_adv(ledger_id, 3, 3, 2, custom_metadata=custom) as writer:
                writer.write(0, b"x")
        self.spark.range(3).selectExpr("CAST(id AS STRING) AS payload").write.format("bookkeeper").mode(
            "append"
        ).options(metadataServiceUri=self.uri, manifest="beside").save()
        chosen = ({"ledgersPattern": "application=high"}, {"ledgers": f"0-{ids[3]}", "failOnDataLoss": "false"})
        for options in chosen:
            found = {row.ledger_id for row in self.load(**options).collect()}
            self.assertLessEqual(set(ids), found)
        listed = {row.ledger_id for row in self.load(view="ledgers").collect()}
        self.assertEqual({n for n in listed if n >= 1 << 62}, set(ids[2:]))
        self.assertLessEqual(set(ids), {row.ledger_id for row in self.load(view="fragments").collect()})

    def test_filters_are_pushed_down(self) -> None:
        """A filter on ids reads only what it allows, and the result is that of Spark's own filter."""
        ledger = self.ledger(PAYLOADS)
        frame = self.load(ledger=str(ledger)).where(
            "entry_id >= 4000 AND entry_id < 4010 AND octet_length(payload) > 8"
        )
        self.assertEqual(frame.count(), sum(len(PAYLOADS[n]) > 8 for n in range(4000, 4010)))
        plan = frame._jdf.queryExecution().executedPlan().toString()
        self.assertNotIn("4000", plan)

    def test_open_ledger(self) -> None:
        """A ledger that is being written is read up to its last add confirmed."""
        with self.client.create_ledger(3, 3, 2) as growing:
            growing.append_many(PAYLOADS)
            growing.append(b"tells the bookies that the others are confirmed")
            self.assertEqual(self.load(ledger=str(growing.ledger_id)).count(), len(PAYLOADS))

    def test_no_entries(self) -> None:
        """A ledger without entries, and a pattern without ledgers, are empty DataFrames."""
        self.assertEqual(self.load(ledger=str(self.ledger([]))).count(), 0)
        self.assertEqual(self.load(ledgersPattern="a=b").count(), 0)

    def test_bookie_down(self) -> None:
        """Entries come from the other replicas where a bookie is down; with all of them down the ledger is named."""
        ledger = self.ledger(PAYLOADS)
        THREAD.wait(self.bookies.pop().stop)
        frame = self.load(ledger=str(ledger), maxBytesPerPartition="60k")
        checksum = sum(map(zlib.crc32, PAYLOADS))
        self.assertEqual(frame.selectExpr("sum(crc32(payload)) AS c").first().c, checksum)
        self.stop_bookies()
        text = self.failure(frame.count)
        self.assertRegex(text, rf"ledger {ledger} cannot be read: bookie bookie-\d: (no|connection)")

    def failure(self, action: Any) -> str:
        """The message of the error of an action."""
        with self.assertRaises(Exception) as caught:
            action()
        return str(caught.exception)

    def test_mistakes(self) -> None:
        """Wrong options, a missing ledger and a wrong password are one sentence that names them, and no traceback."""
        ledger, plain = self.ledger([b"x"], b"secret"), str(self.ledger([b"x"]))
        for options, wanted in (
            ({"ledgr": "1"}, "option ledgr is unknown; did you mean ledger?"),
            ({}, "one of the options ledger, "),
            ({"ledger": "77"}, "ledger 77 does not exist"),
            ({"ledgers": "9-5", "view": "ledgers"}, "option ledgers: 9-5 is no range"),
            ({"ledger": plain, "endingOffsets": f'{{"{plain}": 2}}'}, "can be read up to offset 1"),
            ({"ledger": plain, "startingOffsets": f'{{"{plain}": 2}}'}, "can be read up to offset 1"),
            ({"ledger": str(ledger), "bookkeeper.passwd": "guess"}, "wrong password, option bookkeeper.password"),
        ):
            with self.subTest(options):
                text = self.failure(lambda options=options: self.load(**options).collect())
                self.assertIn(wanted, text)
                self.assertNotIn("Traceback", text)
                self.assertNotIn("guess", text)

    def test_columns_given(self) -> None:
        """Columns that a user gives are those that are read, or one sentence names both."""
        ledger = str(self.ledger(PAYLOADS[:3]))
        frame = self.load(ledger=ledger, includeMetadata="true")
        self.assertEqual(self.reader(ledger=ledger, includeMetadata="true").schema(frame.schema).load().count(), 3)
        for columns, options in (
            ("payload BINARY", {}), ("ledger_id BIGINT, entry_id BIGINT, length BIGINT, payload BINARY", {}),
            ("ledger_id STRING", {"view": "ledgers"}),
        ):  # fmt: skip
            with self.subTest(columns):
                given = self.reader(**(options or {"ledger": ledger})).schema(columns)
                text = self.failure(lambda given=given: given.load().collect())
                self.assertIn(f"schema() gives the columns {columns}: leave it out, these are ledger_id BIGINT", text)
                self.assertNotIn("Traceback", text)

    def test_secrets(self) -> None:
        """No plan shows the password; entries protected by it are read."""
        with self.client.create_ledger(3, 3, 2, b"hidden", DigestType.HMAC) as ledger:
            ledger.append_many(PAYLOADS[:10])
        frame = self.load(ledger=str(ledger.ledger_id), **{"bookkeeper.passwd": "hidden"})
        self.assertEqual(frame.count(), 10)
        execution = frame._jdf.queryExecution()
        for plan in (execution.toString(), execution.stringWithStats(), execution.simpleString()):
            self.assertNotIn("hidden", plan)


def _rows(ledger: int) -> list[tuple[int, int, bytes]]:
    return [(ledger, n, payload) for n, payload in enumerate(PAYLOADS)]


class StreamTests(SparkCase):
    """Following ledgers, and writing what comes to the sink."""

    def query(self, checkpoint: Path, **options: str) -> Any:
        """A query from the source to the sink that ends with what is there now."""
        source = self.spark.readStream.format("bookkeeper").option("metadataServiceUri", self.uri)
        source = source.option("startingOffsets", "earliest").options(**options)
        rows = source.load().selectExpr("payload", "CAST(ledger_id AS STRING) AS ledger_key")
        sink = rows.writeStream.format("bookkeeper").option("metadataServiceUri", self.uri)
        sink = sink.option("manifest", "copy").option("checkpointLocation", str(checkpoint))
        return sink.trigger(availableNow=True).start()

    def copied(self) -> list[bytes]:
        """What the sink published."""
        return sorted(row.payload for row in self.load(ledgersOfManifest="copy").collect())

    def test_copy_with_restarts(self) -> None:
        """A query that is started again goes on where it ended; every entry is copied exactly once."""
        checkpoint = Path(self.mktemp()).absolute()
        written: list[bytes] = []
        for n in range(2):
            payloads = [b"%d-%d" % (n, i) for i in range(300)]
            self.ledger(payloads, custom={"application": b"in"})
            written += payloads
            query = self.query(checkpoint, ledgersPattern="application=in", maxEntriesPerTrigger="200")
            query.awaitTermination()
        self.assertEqual(self.copied(), sorted(written))
        rows = self.load(manifest="copy").collect()
        self.assertEqual(sum(row.entries for row in rows), 600)
        self.assertGreaterEqual(len({row.batch_id for row in rows}), 4)

    def test_mistakes(self) -> None:
        """A query that cannot be says why, also where the columns are given, so that options are parsed late."""
        for options, schema, wanted in (
            ({"view": "ledgers"}, "", "a stream reads entries: options manifest and view are for batches"),
            ({"ledgr": "1"}, "payload BINARY", "option ledgr is unknown; did you mean ledger?"),
            ({"ledgersPattern": "a=b"}, "payload BINARY", "schema() gives the columns payload BINARY: leave it out"),
        ):
            source = self.spark.readStream.format("bookkeeper").option("metadataServiceUri", self.uri)
            frame = (source.schema(schema) if schema else source).options(**options).load()
            query = frame.writeStream.format("noop").option("checkpointLocation", self.mktemp()).start()
            with self.subTest(options), self.assertRaises(Exception) as caught:
                query.awaitTermination()
            self.assertIn(wanted, str(caught.exception))
            self.assertNotIn("Traceback", str(caught.exception))

    def test_lost_commit(self) -> None:
        """A batch whose commit Spark forgot is run again and not copied again."""
        checkpoint = Path(self.mktemp()).absolute()
        payloads = [b"%d" % i for i in range(100)]
        self.ledger(payloads, custom={"application": b"in"})
        self.query(checkpoint, ledgersPattern="application=in").awaitTermination()
        commits = sorted((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        commits[-1].unlink()
        (checkpoint / "commits" / f".{commits[-1].name}.crc").unlink()
        self.query(checkpoint, ledgersPattern="application=in").awaitTermination()
        self.assertEqual(self.copied(), sorted(payloads))

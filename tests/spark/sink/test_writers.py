"""The sink in Spark."""

from typing import Any, cast

from bookkeeper_twisted.model import MAX_LEDGER_ID

from ..session import SparkCase


class SinkTests(SparkCase):
    """Batch writes; streams are tested with the source."""

    def write(self, frame: Any, **options: str) -> None:
        """Writes a DataFrame."""
        writer = frame.write.format("bookkeeper").mode(options.pop("mode", "append"))
        writer.options(metadataServiceUri=self.uri, **options).save()

    def data_ledgers(self) -> int:
        """Ledgers that hold rows of a sink."""
        rows = self.load(view="ledgers").collect()
        return sum("spark.partition" in row.custom_metadata for row in rows)

    def test_rows_and_manifest(self) -> None:
        """Rows become entries, the manifest says where; a write with the same id is not repeated."""
        frame = self.spark.range(1000).selectExpr(
            "CAST(id AS STRING) AS payload", "CAST(id % 3 AS STRING) AS ledger_key"
        )
        for _ in range(2):
            self.write(frame.repartition(2, "ledger_key"), manifest="numbers", writeId="first")
        rows = self.load(manifest="numbers").collect()
        self.assertEqual(
            (sorted(row.ledger_key for row in rows), sum(row.entries for row in rows)), (list("012"), 1000)
        )
        found = self.load(ledgersOfManifest="numbers").selectExpr("CAST(payload AS STRING) AS p").collect()
        self.assertEqual(sorted(int(row.p) for row in found), list(range(1000)))
        self.assertEqual(self.data_ledgers(), 3)

    def test_failing_tasks(self) -> None:
        """Rows of tasks that fail and are run again are there once, and no ledger of a failed attempt is left."""
        flaky = _flaky(self.spark.range(100).repartition(2), fail_below=2)
        self.write(flaky, manifest="flaky")
        self.assertEqual(self.load(ledgersOfManifest="flaky").count(), 100)
        self.assertEqual(self.data_ledgers(), 2)

    def test_failed_write(self) -> None:
        """A write that fails for good leaves nothing."""
        with self.assertRaisesRegex(Exception, "injected"):
            self.write(_flaky(self.spark.range(100).repartition(2), fail_below=99), manifest="never")
        for option in ("manifest", "ledgersOfManifest"):
            with self.assertRaisesRegex(Exception, f"option {option} is 'never': nothing is published"):
                self.load(**{option: "never"}).count()
            self.assertEqual(self.load(**{option: "never"}, failOnDataLoss="false").count(), 0)
        self.assertEqual(self.data_ledgers(), 0)
        self.assertEqual(self.connect().stored_ids(0, MAX_LEDGER_ID), self.connect().ledger_ids())

    def test_no_rows(self) -> None:
        """A write without rows is published, and read back without rows."""
        self.write(self.spark.range(0).selectExpr("CAST(id AS STRING) AS payload"), manifest="empty")
        self.assertEqual(self.load(manifest="empty").count() + self.load(ledgersOfManifest="empty").count(), 0)

    def test_schema(self) -> None:
        """Texts and bytes are payloads."""
        from pyspark.sql.types import StructType

        from bookkeeper_twisted.spark.sink.writers import check_schema

        for kind in ("BINARY", "STRING"):
            check_schema(cast(StructType, StructType.fromDDL(f"payload {kind}, ledger_key STRING")), False)

    def test_mistakes(self) -> None:
        """A wrong schema or mode is one sentence that says what to do."""
        for columns, mode, wanted in (
            ("id", "append", "column payload of type BINARY or STRING is missing"),
            ("CAST(id AS STRING) AS payload, id AS ledger_key", "append", "cast it"),
            ("CAST(id AS STRING) AS payload, id", "append", "columns id would be lost"),
            ("CAST(id AS STRING) AS payload", "overwrite", "use mode append"),
        ):
            with self.subTest(wanted), self.assertRaises(Exception) as caught:
                self.write(self.spark.range(3).selectExpr(*columns.split(", ")), mode=mode)
            self.assert_plain(wanted, caught.exception)

    def test_mistakes_that_tasks_notice(self) -> None:
        """What goes wrong in a task is one sentence without a stack of Spark's, even if nothing can be undone."""
        numbers = self.spark.range(0, 3, 1, 1)
        rows = numbers.selectExpr("CAST(id AS STRING) AS payload")
        null = numbers.selectExpr("CAST(NULL AS STRING) AS payload")
        for frame, options, wanted in (
            (rows, {"metadataServiceUri": "nothing://here"}, "no metadata driver for 'nothing://here'"),
            (rows, {"ensembleSize": "4"}, "option ensembleSize is 4: 4 bookies are needed, 3 are available"),
            (null, {}, "column payload has a null"),
        ):
            given = {"metadataServiceUri": self.uri} | options
            with self.subTest(wanted), self.assertRaises(Exception) as caught:
                frame.write.format("bookkeeper").mode("append").options(**given).save()
            self.assert_plain(wanted, caught.exception)

    def assert_plain(self, wanted: str, error: Exception) -> None:
        """The error says what is wanted, and its message has no stack, neither of Python nor of Java."""
        self.assertIn(wanted, str(error))
        self.assertNotIn("Traceback", str(error))
        self.assertNotIn("\tat ", str(error))


def _flaky(frame: Any, fail_below: int) -> Any:
    """The ids as payloads, from tasks whose first attempts fail at their last rows."""
    from pyspark import TaskContext
    from pyspark.sql.functions import udf

    def payload(value: int) -> str:
        context = TaskContext.get()
        if value >= 90 and context is not None and context.attemptNumber() < fail_below:
            raise RuntimeError("injected")
        return str(value)

    return frame.select(udf(payload, "string", useArrow=False)("id").alias("payload"))

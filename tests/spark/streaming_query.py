"""``python -m tests.spark.streaming_query URI CHECKPOINT [--to-the-end]``: copies entries with a streaming query.

It prints a line for each micro-batch.  Without ``--to-the-end`` it goes on until it is killed.
"""

import os
import sys
from typing import Any

APPLICATION, MANIFEST = "events", "copies"
"""Custom metadata of the ledgers that are followed; name under which the copies are published."""

ENTRIES_AT_ONCE = 10_000


def session() -> Any:
    """A small Spark."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").appName("copies")
    settings = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.driver.memory": "600m"}
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def start(spark: Any, uri: str, checkpoint: str, to_the_end: bool) -> Any:
    """Start the query, or go on where an earlier one ended."""
    source = spark.readStream.format("bookkeeper").option("metadataServiceUri", uri)
    source = source.option("ledgersPattern", f"application={APPLICATION}").option("startingOffsets", "earliest")
    rows = source.option("maxEntriesPerTrigger", str(ENTRIES_AT_ONCE)).option("minPartitions", "2").load()
    sink = rows.select("payload").writeStream.format("bookkeeper").option("metadataServiceUri", uri)
    sink = sink.option("manifest", MANIFEST).option("checkpointLocation", checkpoint)
    return sink.trigger(availableNow=True).start() if to_the_end else sink.start()


def main(arguments: list[str]) -> None:
    """Run a query and report its progress."""
    uri, checkpoint, *flags = arguments
    query = start(session(), uri, checkpoint, "--to-the-end" in flags)
    reported = None
    while not query.awaitTermination(0.1):
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != reported:
            reported = progress["batchId"]
            print(f"batch {reported}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

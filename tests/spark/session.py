"""The one Spark session of a test run, and why there may be none."""

import os
import shutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from .cluster_case import ClusterCase

EVENTS = Path("spark-events")
"""The folder, below the one in which tests run, with the log of Spark's events."""


def missing() -> str:
    """Why tests of Spark are skipped; empty if they are not."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "PySpark is not installed: pip install 'bookkeeper-twisted[spark]'"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Java is not installed: Spark needs Java 17 or later"
    return ""


@lru_cache(maxsize=1)
def session() -> Any:
    """Two cores in one JVM, which ends with the process."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "700m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.task.maxFailures": "4",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{EVENTS.absolute()}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    EVENTS.mkdir(exist_ok=True)
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class SparkCase(ClusterCase):
    """Three bookies and a Spark session."""

    skip = missing() or None
    timeout = 900  # the first test of a run starts Spark: seconds on an idle machine, minutes on a busy one

    def setUp(self) -> None:
        super().setUp()
        self.spark = session()

    def reader(self, **options: str) -> Any:
        """A reader of the source."""
        return self.spark.read.format("bookkeeper").option("metadataServiceUri", self.uri).options(**options)

    def load(self, **options: str) -> Any:
        """A DataFrame of the source."""
        return self.reader(**options).load()

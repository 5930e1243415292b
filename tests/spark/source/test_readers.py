"""The readers of the source."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.spark.id_ranges import IdRanges
from bookkeeper_twisted.spark.options import ReadOptions
from bookkeeper_twisted.spark.source.offsets import Admission

from ..session import missing


class LimitTests(SynchronousTestCase):
    """What goes into a micro-batch."""

    skip = missing() or None

    def test_limits(self) -> None:
        """Options and the limit of the trigger hold together; all that is available is more than both."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

        from bookkeeper_twisted.spark.source.readers import admission_of

        own = ReadOptions(metadata_service_uri="memory:", ledger=IdRanges.of([1]), max_entries_per_trigger=10)
        self.assertEqual(admission_of(own, ReadMaxRows(5)), Admission(5, None))
        self.assertEqual(admission_of(own, ReadMaxBytes(7)), Admission(10, 7))
        self.assertEqual(admission_of(own, ReadAllAvailable()), Admission(None, None))

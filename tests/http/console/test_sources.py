"""Parts of the console that consist of records."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.http.console.sources import RecordSource
from bookkeeper_twisted.instruments import Ring


class RecordTests(SynchronousTestCase):
    """New records of some rings."""

    def test_after(self) -> None:
        """Each ring gives the records after its number, and the number of its newest; unknown rings give all."""
        rings: list[Ring[int]] = [Ring(9), Ring(9)]
        source = RecordSource("r", lambda: rings, str)
        self.assertEqual(source.after([]), [{"last": 0, "records": []}, {"last": 0, "records": []}])
        rings[0].append(1)
        counts = source.counts()
        rings[0].append(2)
        rings[1].append(3)
        self.assertEqual(source.after(counts), [{"last": 2, "records": ["2"]}, {"last": 1, "records": ["3"]}])
        self.assertEqual(source.after([]), [{"last": 2, "records": ["1", "2"]}, {"last": 1, "records": ["3"]}])

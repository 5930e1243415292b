"""Figures of a metrics page."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.top.figures import MetricsSample
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import new_registry, render

PAGE = """\
# TYPE bookkeeper_server_ADD_ENTRY_REQUEST summary
bookkeeper_server_ADD_ENTRY_REQUEST{success="false",quantile="0.99"} 900
bookkeeper_server_ADD_ENTRY_REQUEST{success="true",quantile="0.99"} 1.5
bookkeeper_server_ADD_ENTRY_REQUEST{success="true",quantile="0.999"} 7
bookkeeper_server_ADD_ENTRY_REQUEST_count{success="true"} 100
bookkeeper_server_ADD_ENTRY_REQUEST_count{success="false"} 4
bookkeeper_server_READ_ENTRY_REQUEST_count{success="true"} 20
bookkeeper_server_BATCH_READ_ENTRY_RESPONSE_ENTRIES_sum 30
# TYPE bookie_WRITE_BYTES counter
bookie_WRITE_BYTES 1000
bookie_READ_BYTES 2000
bookie_journal_JOURNAL_QUEUE_SIZE{journalIndex="0"} 3
bookie_journal_JOURNAL_QUEUE_SIZE{journalIndex="1"} 4
bookie_ledger_dir_usage{ledgerDir="/a"} 41.5
bookie_ledger_dir_usage{ledgerDir="/b"} 40
# TYPE bookie_connections_active counter
bookie_connections_active 9
bookie_SERVER_STATUS 1
"""


class MetricsSampleTests(SynchronousTestCase):
    """What is taken from a page."""

    def test_figures(self) -> None:
        """Counters are added up over their labels, the fullest disk counts, and the latency of adds that succeed."""
        expected = MetricsSample(5.0, 104, 50, 1000, 2000, 1.5, 7, 41.5, 9, True)
        self.assertEqual(MetricsSample.parse(PAGE, 5.0), expected)
        self.assertIs(MetricsSample.parse("bookie_SERVER_STATUS 0\n", 5.0).writable, False)

    def test_missing(self) -> None:
        """What a page does not have, or has no number for, is unknown."""
        text = 'bookkeeper_server_ADD_ENTRY_REQUEST{success="true",quantile="0.99"} NaN\nother 1\n'
        self.assertEqual(MetricsSample.parse(text, 5.0), MetricsSample(5.0))
        self.assertEqual(MetricsSample.parse("", 5.0), MetricsSample(5.0))

    def test_no_metrics(self) -> None:
        """Another page is an error."""
        for text in ("<html>", '{"a": 1}', "a b c", "bookie_WRITE_BYTES"):
            self.assertRaises(ValueError, MetricsSample.parse, text, 5.0)

    def test_ours(self) -> None:
        """A page as a bookie renders it is understood."""
        instruments = Instruments()
        text = render(new_registry(instruments)).decode()
        self.assertIsInstance(MetricsSample.parse(text, 5.0), MetricsSample)

"""Instruments and their text."""

import math

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.instruments import QUANTILES, Instruments, RecentQuantile, Ring, Series, render


class RingTests(SynchronousTestCase):
    """The newest records."""

    def test_after(self) -> None:
        """Records after a number are returned in order, as far as they are kept."""
        ring: Ring[str] = Ring(3)
        self.assertEqual((ring.count, ring.after(0)), (0, []))
        for record in "abcde":
            ring.append(record)
        self.assertEqual(ring.count, 5)
        for number, expected in ((0, "cde"), (3, "de"), (4, "e"), (5, ""), (9, "")):
            self.assertEqual("".join(ring.after(number)), expected)


class SeriesTests(SynchronousTestCase):
    """Quantiles."""

    def test_weights(self) -> None:
        """A value recorded for many counts as many."""
        series = Series()
        series.record(1.0, 98)
        series.record(5.0, 2)
        self.assertEqual((series.count, series.sum), (100, 108.0))
        self.assertEqual(series.quantiles(), [1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0])

    def test_window(self) -> None:
        """Quantiles speak of the newest values, count and sum of all."""
        series = Series()
        series.record(1000.0)
        for _ in range(5000):
            series.record(1.0)
        self.assertEqual(series.quantiles()[-1], 1.0)
        self.assertEqual(series.count, 5001)

    def test_empty(self) -> None:
        """Without values there are no quantiles."""
        self.assertTrue(all(map(math.isnan, Series().quantiles())))


class RecentQuantileTests(SynchronousTestCase):
    """A quantile of what was recorded since the last question."""

    def test_recent(self) -> None:
        """Values from before the last question do not count; without new ones there is no answer."""
        series = Series()
        series.record(1000.0, 50)
        recent = RecentQuantile(0.99, series)
        self.assertIsNone(recent())
        series.record(1.0, 98)
        series.record(5.0, 2)
        self.assertEqual((recent(), recent()), (5.0, None))
        series.record(2.0)
        self.assertEqual(recent(), 2.0)

    def test_each_series(self) -> None:
        """A few slow values of one series are not hidden by many fast ones of another."""
        fast, slow = Series(), Series()
        recent = RecentQuantile(0.99, fast, slow)
        fast.record(1.0, 100_000)
        slow.record(80.0, 10)
        self.assertEqual(recent(), 80.0)

    def test_part_of_a_record(self) -> None:
        """Of equal values that were recorded at once, as many count as are asked for."""
        series = Series()
        series.record(1.0, 5)
        series.record(2.0, 5)
        self.assertEqual(series.newest(7), [(2.0, 5), (1.0, 2)])
        self.assertEqual(series.newest(0), [])


class RenderTests(SynchronousTestCase):
    """The text exposition."""

    def setUp(self) -> None:
        self.instruments = Instruments()
        self.registry = CollectorRegistry()

    def text(self) -> str:
        self.registry.register(self.instruments)
        return render(self.registry).decode()

    def test_counter(self) -> None:
        """A counter keeps its name."""
        self.instruments.counter("bookie_WRITE_BYTES").value += 7
        self.assertEqual(self.text(), "# TYPE bookie_WRITE_BYTES counter\nbookie_WRITE_BYTES 7\n")

    def test_labels(self) -> None:
        """Members of a family are told apart by labels, which are escaped."""
        for index in ("0", 'a"\\\n'):
            self.instruments.counter("n", journalIndex=index)
        expected = '# TYPE n counter\nn{journalIndex="0"} 0\nn{journalIndex="a\\"\\\\\\n"} 0\n'
        self.assertEqual(self.text(), expected)

    def test_gauge(self) -> None:
        """A gauge is asked, and may call itself a counter."""
        self.instruments.gauge("a", lambda: 1.5)
        self.instruments.gauge("b", lambda: 2, "counter")
        self.assertEqual(self.text(), "# TYPE a gauge\na 1.5\n# TYPE b counter\nb 2\n")

    def test_summary(self) -> None:
        """A summary has quantiles, count and sum for each outcome."""
        summary = self.instruments.summary("lat")
        summary.success.record(2.5, 4)
        lines = self.text().splitlines()
        self.assertIn('lat{success="true",quantile="0.5"} 2.5', lines)
        self.assertIn('lat{success="false",quantile="1.0"} NaN', lines)
        self.assertIn('lat_count{success="true"} 4', lines)
        self.assertIn('lat_sum{success="true"} 10.0', lines)
        self.assertEqual(len(lines), 1 + 2 * (len(QUANTILES) + 2))

    def test_histogram(self) -> None:
        """A histogram counts up to each bound, the bound included, and knows count and sum."""
        histogram = self.instruments.histogram("size", (1, 10))
        for value in (1, 2, 10, 11):
            histogram.record(value)
        text = self.text()
        self.assertIn('size_bucket{le="1"} 1\nsize_bucket{le="10"} 3\nsize_bucket{le="+Inf"} 4\n', text)
        self.assertIn("size_count 4\nsize_sum 24\n", text)
        self.assertEqual((histogram.count, histogram.sum), (4, 24))

    def test_latency(self) -> None:
        """A latency is a summary, and a histogram of successes, of which each counts as often as it was recorded."""
        latency = self.instruments.latency("lat", of="x")
        latency.success.record(5.0, 3)
        latency.success.record(5.1)
        latency.success.record(1e6, 2)
        latency.failure.record(1.0)
        text = self.text()
        self.assertIn('lat_ms_bucket{le="2.0",of="x"} 0\nlat_ms_bucket{le="5.0",of="x"} 3\n', text)
        self.assertIn('lat_ms_bucket{le="10.0",of="x"} 4\n', text)
        self.assertIn('lat_ms_bucket{le="30000.0",of="x"} 4\nlat_ms_bucket{le="+Inf",of="x"} 6\n', text)
        self.assertIn('lat_ms_count{of="x"} 6\nlat_ms_sum{of="x"} 2000020.1\n', text)
        self.assertIn('lat_count{success="true",of="x"} 6\nlat_sum{success="true",of="x"} 2000020.1\n', text)
        self.assertIn('lat{success="true",quantile="0.5",of="x"} 5.0\n', text)
        kinds = {family.name: family.type for family in text_string_to_metric_families(text)}
        self.assertEqual(kinds, {"lat": "summary", "lat_ms": "histogram"})

    def test_foreign_instruments(self) -> None:
        """Instruments of the library itself, and infinite values, come out in its own form."""
        Counter("requests", "", registry=self.registry).inc()
        self.instruments.gauge("low", lambda: -math.inf)
        text = self.text()
        self.assertIn("# TYPE requests_total counter\nrequests_total 1.0\n", text)
        self.assertIn("low -Inf\n", text)
        self.assertNotIn("created", text)

    def test_parses(self) -> None:
        """The text is what Prometheus reads."""
        self.instruments.summary("lat", journalIndex="0").success.record(1)
        self.instruments.histogram("size", (1,)).record(1)
        names = {family.name for family in text_string_to_metric_families(self.text())}
        self.assertEqual(names, {"lat", "size"})

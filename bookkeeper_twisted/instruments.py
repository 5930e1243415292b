"""Instruments that record metrics at low cost, and the collector that exports them to Prometheus.

To count, a caller only adds to an attribute.  The collector is registered with ``prometheus_client``.  The instruments
of this library are not used, because its summaries have no quantiles, and it changes the names of counters.
:func:`render` exports the names as declared, so that dashboards made for Apache BookKeeper work.
"""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Generic, TypeVar

import attrs
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

LATENCIES = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0, 30_000.0)
"""The bounds of latency histograms, in milliseconds; they cover syncs of fast disks as well as slow checkpoints."""

QUANTILES = (0.5, 0.75, 0.95, 0.99, 0.999, 0.9999, 1.0)
_WINDOW = 2048


T = TypeVar("T")


class Ring(Generic[T]):
    """A buffer with the newest records of one kind; the records are numbered from 1 on.

    :param size: maximum number of records in the buffer.
    :ivar count: number of records that were ever appended, which is also the number of the newest record.
    """

    __slots__ = ("count", "_records")

    def __init__(self, size: int) -> None:
        self.count = 0
        self._records: deque[T] = deque(maxlen=size)

    def append(self, record: T) -> None:
        """Append a ``record``; if the buffer is full, drop the oldest record.  This takes constant time."""
        self.count += 1
        self._records.append(record)

    def after(self, number: int) -> list[T]:
        """Return the kept records whose numbers are greater than ``number``, in ascending order."""
        wanted = min(max(self.count - number, 0), len(self._records))
        return list(islice(self._records, len(self._records) - wanted, None))


class Counter:
    """A number that its owner changes by assignment: ``counter.value += n``."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def samples(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        yield "", {}, self.value


class Gauge:
    """A number that a function returns when metrics are exported; None if it is not known, and then not exported."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], float | None]) -> None:
        self._read = read

    def samples(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        value = self._read()
        if value is not None:
            yield "", {}, value


class Series:
    """The values recorded for one outcome (success or failure) of an operation.

    It keeps the count and the sum of all values, and the newest values, for quantiles.
    """

    __slots__ = ("count", "sum", "_newest")

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0.0
        self._newest: deque[tuple[float, int]] = deque(maxlen=_WINDOW)

    def record(self, value: float, count: int = 1) -> None:
        """Record a ``value`` that occurred ``count`` times, in constant time."""
        self.count += count
        self.sum += value * count
        self._newest.append((value, count))

    def quantiles(self) -> list[float]:
        """Return the :data:`QUANTILES` of the newest values, in the same order; NaN if there are no values."""
        return _quantiles(self._newest, QUANTILES)

    def newest(self, count: int) -> list[tuple[float, int]]:
        """Return the newest ``count`` values, or fewer if fewer are stored, the newest first.

        :returns: pairs of a value and how often it was recorded by one call; equal values of several calls are several
            pairs.
        """
        found: list[tuple[float, int]] = []
        for value, number in reversed(self._newest):
            if count <= 0:
                break
            found.append((value, min(number, count)))
            count -= number
        return found


class BucketSeries(Series):
    """A series that also counts its values in ranges, for a histogram.

    A histogram of several bookies is the sum of their counts; quantiles of several bookies cannot be added.

    :param bounds: highest value of each range, ascending.  One more range contains all higher values.
    """

    __slots__ = ("_bounds", "_counts")

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__()
        self._bounds = (*bounds, math.inf)
        self._counts = [0] * len(self._bounds)

    def record(self, value: float, count: int = 1) -> None:
        # This repeats the code of Series.record() to save a call, because it runs for every batch of requests.
        self.count += count
        self.sum += value * count
        self._newest.append((value, count))
        self._counts[bisect_left(self._bounds, value)] += count

    def samples(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        yield from _bucket_samples(self._bounds, self._counts)
        yield "_count", {}, self.count
        yield "_sum", {}, self.sum


def _bucket_samples(
    bounds: Sequence[float], counts: Sequence[int]
) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the buckets of a histogram: for each bound, the number of values up to this bound.

    :param bounds: highest value of each range, ascending.
    :param counts: the number of values in each range.
    """
    for bound, total in zip(bounds, accumulate(counts), strict=True):
        yield "_bucket", {"le": _number(bound)}, total


def _quantiles(values: Iterable[tuple[float, int]], quantiles: Sequence[float]) -> list[float]:
    """Compute quantiles; without values, each is NaN.

    :param values: pairs of a value and its number of occurrences.
    :param quantiles: the quantiles to compute, from 0 to 1, ascending.
    """
    ordered = sorted(values)
    total = sum([count for _, count in ordered])
    if not total:
        return [math.nan] * len(quantiles)
    result = []
    position, seen = 0, ordered[0][1]
    for quantile in quantiles:
        while seen < quantile * total and position < len(ordered) - 1:
            position += 1
            seen += ordered[position][1]
        result.append(ordered[position][0])
    return result


class RecentQuantile:
    """A function that returns a quantile of the values that were recorded since its last call.

    :param quantile: the quantile, from 0 to 1.
    :param series: the series that record the values.  The quantile of each series is computed separately, so that many
        small values in one series do not hide large values in another.
    """

    def __init__(self, quantile: float, *series: Series) -> None:
        self._quantile = quantile
        self._series = series
        self._counts = [each.count for each in series]

    def __call__(self) -> float | None:
        """Compute the quantile of each series from its values since the last call; return the highest quantile.

        Return None if no series has got a value since the last call.
        """
        found = []
        for index, series in enumerate(self._series):
            recent, self._counts[index] = series.count - self._counts[index], series.count
            if recent:
                found += _quantiles(series.newest(recent), (self._quantile,))
        return max(found, default=None)


class Summary:
    """A metric of latencies in milliseconds, or of sizes, with separate values for successful and failed operations."""

    __slots__ = ("success", "failure")

    def __init__(self, success: Series) -> None:
        self.success = success
        self.failure = Series()

    def samples(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        for outcome, series in (("false", self.failure), ("true", self.success)):
            label = {"success": outcome}
            for quantile, value in zip(QUANTILES, series.quantiles(), strict=True):
                yield "", {**label, "quantile": str(quantile)}, value
            yield "_count", label, series.count
            yield "_sum", label, series.sum


class Histogram:
    """Counts values in ranges.

    :ivar sum: sum of all values.
    """

    __slots__ = ("sum", "_bounds", "_counts")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Make a histogram without values.

        :param bounds: highest value of each range, ascending.  One more range contains all higher values.
        """
        self.sum: float = 0
        self._bounds = (*bounds, math.inf)
        self._counts = [0] * len(self._bounds)

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self._counts)

    def record(self, value: float) -> None:
        """Count a ``value`` in the lowest range that contains it."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def samples(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        yield from _bucket_samples(self._bounds, self._counts)
        yield "_count", {}, self.count
        yield "_sum", {}, self.sum


_Instrument = Counter | Gauge | Summary | Histogram | BucketSeries


@attrs.define
class _Family:
    kind: str
    members: list[tuple[Mapping[str, str], _Instrument]] = attrs.field(factory=list)


class Instruments(Collector):
    """All instruments of one bookie or client, by the names under which they are exported."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def _add(self, name: str, kind: str, instrument: _Instrument, labels: Mapping[str, str]) -> None:
        self._families.setdefault(name, _Family(kind)).members.append((labels, instrument))

    def counter(self, name: str, **labels: str) -> Counter:
        """Add a counter.

        :param name: name of the exported metric; several counters may have the same name with different labels.
        """
        counter = Counter()
        self._add(name, "counter", counter, labels)
        return counter

    def gauge(self, name: str, read: Callable[[], float | None], kind: str = "gauge", **labels: str) -> None:
        """Add a gauge, whose number is read when metrics are exported.

        :param name: name of the exported metric.
        :param read: returns the number, or None while it is not known; called in the thread that exports metrics.
        :param kind: type of the exported metric.  As in Apache BookKeeper, it is ``counter`` for some numbers, such as
            lengths of queues, that can decrease.
        """
        self._add(name, kind, Gauge(read), labels)

    def summary(self, name: str, **labels: str) -> Summary:
        """Add a summary.

        :param name: name of the exported metric; ``_count`` and ``_sum`` are appended to it for the count and the sum.
        """
        return self._summary(name, Series(), labels)

    def latency(self, name: str, **labels: str) -> Summary:
        """Add a summary of latencies in milliseconds, and a histogram of the latencies of successful operations.

        :param name: name of the exported summary; the histogram has this name with the suffix ``_ms``.
        """
        series = BucketSeries(LATENCIES)
        self._add(name + "_ms", "histogram", series, labels)
        return self._summary(name, series, labels)

    def _summary(self, name: str, success: Series, labels: Mapping[str, str]) -> Summary:
        summary = Summary(success)
        self._add(name, "summary", summary, labels)
        return summary

    def share(self, name: str, summary: Summary, **labels: str) -> None:
        """Export an existing ``summary`` under an additional name, too.

        :param name: the additional name of the exported metric.
        """
        self._add(name, "summary", summary, labels)

    def histogram(self, name: str, bounds: Sequence[float], **labels: str) -> Histogram:
        """Add a histogram.

        :param name: name of the exported metric; ``_bucket``, ``_count`` and ``_sum`` are appended to it.
        :param bounds: highest value of each range, ascending.
        """
        histogram = Histogram(bounds)
        self._add(name, "histogram", histogram, labels)
        return histogram

    def collect(self) -> Iterator[Metric]:
        # Iterate over a copy, because other code may add instruments while this generator is suspended.
        for name, family in list(self._families.items()):
            metric = Metric(name, "", family.kind)
            for labels, instrument in family.members:
                for suffix, more, value in instrument.samples():
                    metric.add_sample(name + suffix, {**more, **labels}, value)
            yield metric


def new_registry(*collectors: Instruments) -> CollectorRegistry:
    """Make a registry of the instruments of bookies or clients, without metrics of the process."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return registry


def process_registry() -> CollectorRegistry:
    """Make a registry of CPU time, memory and file descriptors of this process (``process_*``).

    It is empty except on Linux.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def render(registry: CollectorRegistry) -> bytes:
    """Encode the metrics of a ``registry`` in Prometheus's text format; keep their names as declared."""
    return b"".join(pieces(registry))


def pieces(registry: CollectorRegistry) -> Iterator[bytes]:
    """Yield the text of :func:`render` metric by metric; read each metric of the ``registry`` when it is yielded."""
    for metric in registry.collect():
        yield "".join([f"{line}\n" for line in _text(metric)]).encode()


def _text(metric: Metric) -> Iterable[str]:
    samples = [s for s in metric.samples if not s.name.endswith("_created")]
    name = metric.name
    if metric.type == "counter" and samples and samples[0].name == name + "_total":
        name += "_total"  # prometheus_client strips this suffix from the names of its own counters
    yield f"# TYPE {name} {metric.type}"
    for sample in samples:
        yield f"{sample.name}{_labels(sample)} {_number(sample.value)}"


def _labels(sample: Sample) -> str:
    if not sample.labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in sample.labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)

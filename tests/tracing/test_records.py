"""Records of what was traced, of which spans are made together."""

from collections.abc import Iterable, Iterator

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.tracing import MemoryTracer
from bookkeeper_twisted.tracing.records import INTERVAL, MOST_RECORDS, TraceRecords
from bookkeeper_twisted.tracing.spans import Span, SpanKind
from bookkeeper_twisted.tracing.traceparent import SpanIds


class Record:
    """A record of one span."""

    def __init__(self, name: str) -> None:
        self._name = name

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span, with a new id."""
        return (Span(SpanIds(1, next(span_ids)), None, self._name, SpanKind.INTERNAL, 1.0, 2.0, {}),)


class Broken:
    """A record of which no spans can be made."""

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Fail."""
        raise ZeroDivisionError


class RecordsTests(SynchronousTestCase):
    """When the spans are made."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.tracer = MemoryTracer()
        self.records = TraceRecords(self.clock, self.tracer)

    def names(self) -> list[str]:
        """The names of the reported spans."""
        return [span.name for span in self.tracer.ended]

    def test_timer(self) -> None:
        """A record waits at most for the interval, and those that come meanwhile do not prolong it."""
        self.records.add(Record("a"))
        self.clock.advance(INTERVAL * 0.75)
        self.records.add(Record("b"))
        self.assertEqual(self.names(), [])
        self.clock.advance(INTERVAL * 0.25)
        self.assertEqual(self.names(), ["a", "b"])
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.records.add(Record("c"))
        self.clock.advance(INTERVAL)
        self.assertEqual(self.names(), ["a", "b", "c"])
        self.assertEqual(len({span.ids for span in self.tracer.ended}), 3)

    def test_many(self) -> None:
        """So many records that they would take memory do not wait for it."""
        for number in range(MOST_RECORDS + 1):
            self.records.add(Record(str(number)))
        self.assertEqual(self.names(), [str(number) for number in range(MOST_RECORDS)])
        self.clock.advance(INTERVAL)
        self.assertEqual(len(self.names()), MOST_RECORDS + 1)

    def test_flush(self) -> None:
        """What stops reports what it has, and leaves no timer."""
        self.records.add(Record("a"))
        self.records.flush()
        self.assertEqual((self.names(), self.clock.getDelayedCalls()), (["a"], []))
        self.records.flush()
        self.assertEqual(self.names(), ["a"])

    def test_broken(self) -> None:
        """A record of which no spans can be made is logged, and takes only itself along."""
        for record in (Record("a"), Broken(), Broken(), Record("b")):
            self.records.add(record)
        self.records.flush()
        self.assertEqual(self.names(), ["a", "b"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

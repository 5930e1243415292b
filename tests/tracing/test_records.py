"""Records of what was traced, of which spans are made together."""

from collections.abc import Iterable, Iterator

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.tracing import MemoryTracer, called_in
from bookkeeper_twisted.tracing.records import BURST, INTERVAL, MOST_RECORDS, TraceRecords
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

    def test_limit(self) -> None:
        """At most so many traces begin in a second, spread over it, however many are asked for."""
        records = TraceRecords(self.clock, self.tracer, 100)
        self.clock.advance(1000)
        begun = []
        for _ in range(2000):
            begun.append(records.admits())
            self.clock.advance(1 / 1024)
        self.assertEqual(sum(begun[:1024]), 110)
        self.assertLessEqual(sum(begun[1024:]), 100)
        self.assertGreaterEqual(sum(begun[1024:]), 90)
        self.assertTrue(any(begun[1500:1550]))

    def test_pause(self) -> None:
        """A pause permits no more at once than a tenth of a second."""
        records = TraceRecords(self.clock, self.tracer, 100)
        self.clock.advance(1000)
        self.assertEqual(sum(records.admits() for _ in range(50)), 1 + 100 * BURST)

    def test_no_limit(self) -> None:
        """Without a limit all are admitted."""
        self.assertTrue(all(self.records.admits() for _ in range(10_000)))

    def test_own_traces(self) -> None:
        """The limit holds for traces that the ratio begins, not for those of callers with a span."""
        records = TraceRecords(self.clock, self.tracer, 1)
        self.assertEqual([records.begin("a") is not None for _ in range(3)], [True, False, False])
        with called_in(SpanIds(5, 6)):
            self.assertIsNotNone(records.begin("a"))

    def test_broken(self) -> None:
        """A record of which no spans can be made is logged, and takes only itself along."""
        for record in (Record("a"), Broken(), Broken(), Record("b")):
            self.records.add(record)
        self.records.flush()
        self.assertEqual(self.names(), ["a", "b"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

"""Traces that go to the SDK of OpenTelemetry."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import Any

from bookkeeper_twisted.testing.contracts import tracer_contract
from bookkeeper_twisted.testing.contracts.tracer_contract import Reported
from bookkeeper_twisted.tracing.spans import Span, SpanKind
from bookkeeper_twisted.tracing.traceparent import SpanIds

try:
    from opentelemetry import context, trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, StaticSampler

    from bookkeeper_twisted.tracing.open_telemetry import SCOPE, OpenTelemetryTracer

    MISSING = ""
except ImportError as error:
    MISSING = f"needs the extra otel: {error}"


ENDED = Span(SpanIds(1, 2), None, "append", SpanKind.INTERNAL, 1.0, 2.0, {})


def _ids(found: Any) -> SpanIds:
    return SpanIds(found.trace_id, found.span_id, found.trace_flags.sampled)


class OpenTelemetryTests(tracer_contract.TracerContract):
    """The contract on it, and what the SDK decides."""

    if MISSING:
        skip = MISSING

    def setUp(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def make(self, ratio: float) -> Any:
        return OpenTelemetryTracer(self.provider, ratio)

    @contextmanager
    def calling(self, ids: SpanIds) -> Iterator[None]:
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if ids.is_sampled else trace.TraceFlags.DEFAULT)
        span = trace.NonRecordingSpan(trace.SpanContext(ids.trace_id, ids.span_id, True, flags))
        token = context.attach(trace.set_span_in_context(span))
        try:
            yield
        finally:
            context.detach(token)

    def reported(self) -> list[Reported]:
        return [self._reported(span) for span in self.exporter.get_finished_spans()]

    def _reported(self, span: Any) -> Reported:
        attributes = dict(span.attributes)
        attributes.pop("error.type", None)
        return Reported(
            span.name, _ids(span.context), None if span.parent is None else _ids(span.parent),
            SpanKind[span.kind.name], span.start_time / 1e9, span.end_time / 1e9, attributes,
            tuple((event.name, event.timestamp / 1e9) for event in span.events),
            tuple(_ids(link.context) for link in span.links), span.status.description or "",
        )  # fmt: skip

    def test_ratio(self) -> None:
        """One in a hundred is one in a hundred, each with the same chance: the gaps are not all alike."""
        numbers = Random(5)

        class Ids(RandomIdGenerator):
            def generate_span_id(self) -> int:
                return numbers.getrandbits(64)

        self.provider = TracerProvider(id_generator=Ids(), shutdown_on_exit=False)
        tracer = self.make(0.01)
        sampled = [number for number in range(100_000) if tracer_contract.begin(tracer) is not None]
        self.assertTrue(800 < len(sampled) < 1200, len(sampled))
        gaps = {after - before for before, after in pairwise(sampled)}
        self.assertGreater(len(gaps), 100)

    def test_cheap(self) -> None:
        """The context of the caller is looked up in the variable of OpenTelemetry, not by its slower function."""
        self.assertIsNot(self.make(1).caller, context.get_current)

        def broken(*arguments: object) -> None:
            raise AssertionError

        tracer = self.make(0)
        self.patch(tracer, "begin", broken)
        self.assertEqual([tracer_contract.begin(tracer) for _ in range(3)], [None] * 3)

    def test_without_variable(self) -> None:
        """A version of OpenTelemetry without that variable costs more, and that is all."""
        self.patch(context, "_RUNTIME_CONTEXT", object())
        current = self.make(1).caller
        self.assertIs(current, context.get_current)

    def test_other_context(self) -> None:
        """A caller whose context has no span, but something else, is one of the others."""
        token = context.attach(context.set_value("fact", 1))
        try:
            self.assertIsNone(tracer_contract.begin(self.make(0)))
            self.assertIsNotNone(tracer_contract.begin(self.make(1)))
        finally:
            context.detach(token)

    def test_turn_of_caller(self) -> None:
        """A turn that falls on a caller with a span is spent: it does not pass to the next operation."""
        tracer, gaps = self.make(0.5), iter([0, 5])
        self.patch(tracer, "_gap", lambda: next(gaps))
        with self.calling(tracer_contract.CALLER._replace(is_sampled=False)):
            self.assertIsNone(tracer_contract.begin(tracer))
        self.assertEqual([tracer_contract.begin(tracer) is None for _ in range(6)], [True] * 5 + [False])

    def test_smallest_ratio(self) -> None:
        """However small the share is, there is a gap."""
        for ratio in (5e-324, 1e-300, 1e-20, 1e-9):
            self.assertEqual([tracer_contract.begin(self.make(ratio)) for _ in range(3)], [None] * 3)

    def test_sampler(self) -> None:
        """What the share picks, the sampler of the provider may refuse."""
        self.provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
        self.assertIsNone(tracer_contract.begin(self.make(1)))

    def test_broken_sampler(self) -> None:
        """A sampler that fails is logged, and the operation is not traced."""

        class Broken(StaticSampler):
            def should_sample(self, *args: Any, **keys: Any) -> Any:
                raise ZeroDivisionError

        self.provider = TracerProvider(sampler=Broken(Decision.DROP), shutdown_on_exit=False)
        tracer = self.make(1)
        self.assertIsNone(tracer_contract.begin(tracer))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_of_process(self) -> None:
        """Spans have the resource of the provider and the scope of this package; the error's class is an attribute."""
        tracer = self.make(1)
        tracer.report([ENDED._replace(error=KeyError("x"))])
        (found,) = self.exporter.get_finished_spans()
        self.assertEqual((found.resource, found.instrumentation_scope.name), (self.provider.resource, SCOPE))
        self.assertEqual((found.attributes["error.type"], found.status.is_ok), ("KeyError", False))
        self.assertEqual(repr(tracer), "<OpenTelemetryTracer, 1 of operations without a span>")

    def test_broken_processor(self) -> None:
        """A processor that fails for some spans gets the others, and its failure is logged once for all of them."""
        tracer, got = self.make(1), list[str]()

        def on_end(processor: object, span: Any) -> None:
            got.append(span.name)
            assert span.name != "broken", "of the processor"

        self.patch(type(tracer._processor), "on_end", on_end)
        tracer.report([ENDED._replace(name=name) for name in ("broken", "broken", "sound")])
        self.assertEqual(got, ["broken", "broken", "sound"])
        self.assertEqual(len(self.flushLoggedErrors(AssertionError)), 1)

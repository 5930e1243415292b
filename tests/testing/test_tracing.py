"""The tracer of tests passes the contract of providers."""

from contextlib import AbstractContextManager

from bookkeeper_twisted.testing.contracts import tracer_contract
from bookkeeper_twisted.testing.contracts.tracer_contract import Reported
from bookkeeper_twisted.testing.tracing import MemoryTracer, called_in
from bookkeeper_twisted.tracing.traceparent import SpanIds


class MemoryTracerTests(tracer_contract.TracerContract):
    """The contract on it."""

    def make(self, ratio: float) -> MemoryTracer:
        self.tracer = MemoryTracer(self.clock.seconds, int(ratio))
        return self.tracer

    def calling(self, ids: SpanIds) -> AbstractContextManager[None]:
        return called_in(ids)

    def reported(self) -> list[Reported]:
        return [
            Reported(
                e.span.name, e.span.ids, e.span.parent, e.span.kind, e.span.began, e.ended,
                e.span.attributes,
                tuple(e.span.events), tuple(e.span.links),
                "" if e.error is None else f"{type(e.error).__name__}: {e.error}",
            )
            for e in self.tracer.ended
        ]  # fmt: skip

    def test_every(self) -> None:
        """It traces every so many operations, and shows what it has."""
        tracer = MemoryTracer(self.clock.seconds, 3)
        spans = [tracer.begin("append") for _ in range(6)]
        self.assertEqual([span is not None for span in spans], [False, False, True] * 2)
        assert spans[2] is not None
        tracer.end(spans[2])
        self.assertEqual(repr(tracer), "<MemoryTracer, 1 ended spans>")
        self.assertEqual(repr(tracer.ended), "[<EndedSpan append>]")

"""The tracer of tests passes the contract of providers."""

from contextlib import AbstractContextManager

from bookkeeper_twisted.testing.contracts import tracer_contract
from bookkeeper_twisted.testing.contracts.tracer_contract import Reported
from bookkeeper_twisted.testing.tracing import MemoryTracer, called_in
from bookkeeper_twisted.tracing.traceparent import SpanIds


class MemoryTracerTests(tracer_contract.TracerContract):
    """The contract on it."""

    def make(self, ratio: float) -> MemoryTracer:
        self.tracer = MemoryTracer(int(ratio))
        return self.tracer

    def calling(self, ids: SpanIds) -> AbstractContextManager[None]:
        return called_in(ids)

    def reported(self) -> list[Reported]:
        return [
            Reported(
                e.name, e.ids, e.parent, e.kind, e.began, e.ended, e.attributes, e.events, e.links,
                "" if e.error is None else f"{type(e.error).__name__}: {e.error}",
            )
            for e in self.tracer.ended
        ]  # fmt: skip

    def test_every(self) -> None:
        """It traces every so many operations, and shows what it has."""
        tracer = MemoryTracer(3)
        begun = [tracer_contract.begin(tracer) for _ in range(6)]
        self.assertEqual([each is not None for each in begun], [False, False, True] * 2)
        self.assertEqual(repr(tracer), "<MemoryTracer, 0 ended spans>")

"""A tracer that keeps the spans in memory, for tests without OpenTelemetry."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from zope.interface import implementer

from ..tracing.interfaces import ITracer
from ..tracing.spans import Begun, Span
from ..tracing.traceparent import PART_BITS, SpanIds

_caller: ContextVar[SpanIds | None] = ContextVar("caller", default=None)


@contextmanager
def called_in(ids: SpanIds) -> Iterator[None]:
    """Let the code of a ``with`` block call operations as a part of the span with these ids."""
    token = _caller.set(ids)
    try:
        yield
    finally:
        _caller.reset(token)


@implementer(ITracer)
class MemoryTracer:
    """A tracer whose spans stay in memory.

    :ivar every: every how many operations of callers without a span one is traced; 0 for none.
    :ivar ended: the reported spans, in order.
    """

    def __init__(self, every: int = 1) -> None:
        self.every = every
        self.ended: list[Span] = []
        self._last_id = self._calls = 0

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id << PART_BITS

    def begin(self, name: str) -> Begun | None:
        caller = _caller.get()
        if caller is not None:
            return Begun(SpanIds(caller.trace_id, self._next_id()), caller) if caller.is_sampled else None
        self._calls += 1
        if not self.every or self._calls % self.every:
            return None
        return Begun(SpanIds(self._next_id(), self._next_id()), None)

    def report(self, spans: Sequence[Span]) -> None:
        self.ended += spans

    def __repr__(self) -> str:
        return f"<MemoryTracer, {len(self.ended)} ended spans>"

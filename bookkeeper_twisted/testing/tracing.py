"""A tracer that keeps the spans in memory, for tests without OpenTelemetry."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count, repeat

from zope.interface import implementer

from ..tracing.interfaces import ITracer
from ..tracing.spans import Begun, Span
from ..tracing.traceparent import PART_BITS, SpanIds

_caller: ContextVar[SpanIds | None] = ContextVar("caller", default=None)


@contextmanager
def called_in(ids: SpanIds) -> Iterator[None]:
    """In a ``with`` block, make the span with these ``ids`` the current span: operations become its children."""
    token = _caller.set(ids)
    try:
        yield
    finally:
        _caller.reset(token)


@implementer(ITracer)
class MemoryTracer:
    """A tracer that keeps its spans in memory.

    :ivar every: 1 to trace each operation without a current span, n to trace each n-th one, 0 to trace none.
    :ivar ended: the reported spans, in order.
    """

    def __init__(self, every: int = 1) -> None:
        self.every = every
        self.ended: list[Span] = []
        # always true, so that begin() is called for each operation: it counts them, and a test may change ``every``
        self.turn = repeat(True).__next__
        self.caller = _caller.get
        self.span_ids = (number << PART_BITS for number in count(1))
        self._calls = 0

    def begin(self, name: str, is_turn: bool) -> Begun | None:
        caller = _caller.get()
        if caller is not None:
            return Begun(SpanIds(caller.trace_id, next(self.span_ids)), caller) if caller.is_sampled else None
        if not is_turn:
            return None
        self._calls += 1
        if not self.every or self._calls % self.every:
            return None
        return Begun(SpanIds(next(self.span_ids), next(self.span_ids)), None)

    def report(self, spans: Sequence[Span]) -> None:
        self.ended += spans

    def __repr__(self) -> str:
        return f"<MemoryTracer, {len(self.ended)} ended spans>"

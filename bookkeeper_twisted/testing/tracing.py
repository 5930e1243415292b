"""A tracer that keeps the spans in memory, for tests without OpenTelemetry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from zope.interface import implementer

from ..tracing.interfaces import ITracer
from ..tracing.spans import Span, SpanKind
from ..tracing.traceparent import SpanIds

_caller: ContextVar[SpanIds | None] = ContextVar("caller", default=None)


@contextmanager
def called_in(ids: SpanIds) -> Iterator[None]:
    """Let the code of a ``with`` block call operations as a part of the span with these ids."""
    token = _caller.set(ids)
    try:
        yield
    finally:
        _caller.reset(token)


class EndedSpan:
    """A span that has ended.

    :ivar span: the span.
    :ivar error: the error with which it ended, or None.
    :ivar ended: seconds since the epoch.
    """

    def __init__(self, span: Span, error: BaseException | None, ended: float) -> None:
        self.span = span
        self.error = error
        self.ended = ended

    def __repr__(self) -> str:
        return f"<EndedSpan {self.span.name}>"


@implementer(ITracer)
class MemoryTracer:
    """A tracer whose spans stay in memory.

    :param seconds: returns the time in seconds since the epoch.
    :ivar every: every how many operations of callers without a span one is traced; 0 for none.
    :ivar ended: the spans that have ended, in the order of their ends.
    """

    def __init__(self, seconds: Callable[[], float], every: int = 1) -> None:
        self.every = every
        self.ended: list[EndedSpan] = []
        self._seconds = seconds
        self._last_id = self._calls = 0

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def begin(self, name: str) -> Span | None:
        caller = _caller.get()
        if caller is not None:
            return self.child(caller, name, SpanKind.INTERNAL) if caller.is_sampled else None
        self._calls += 1
        if not self.every or self._calls % self.every:
            return None
        ids = SpanIds(self._next_id(), self._next_id())
        return Span(ids, None, name, SpanKind.INTERNAL, self._seconds())

    def child(self, parent: SpanIds, name: str, kind: SpanKind, began: float | None = None) -> Span:
        ids = SpanIds(parent.trace_id, self._next_id())
        return Span(ids, parent, name, kind, self._seconds() if began is None else began)

    def end(self, span: Span, error: BaseException | None = None, ended: float | None = None) -> None:
        self.ended.append(EndedSpan(span, error, self._seconds() if ended is None else ended))

    def __repr__(self) -> str:
        return f"<MemoryTracer, {len(self.ended)} ended spans>"

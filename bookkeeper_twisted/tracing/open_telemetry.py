"""The provider of traces that reports to the SDK of OpenTelemetry; needs the extra ``otel``.

The spans go to the processors of a ``TracerProvider`` of the SDK when they have ended, and only then become objects of
the SDK.  Its own spans do the same but cost three times as much, and an append that is traced has ten of them on a
client and three bookies.  Processors do not see the begin of a span.
"""

import math
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.sdk.trace import Event, ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags
from twisted.logger import Logger
from zope.interface import implementer

from .interfaces import ITracer
from .spans import Span, SpanKind
from .traceparent import SpanIds

SCOPE = "bookkeeper_twisted"
"""The name of the instrumentation scope of all spans."""

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_OK, _NANOS, _BITS = Status(StatusCode.UNSET), 1_000_000_000, 64
_KINDS = {
    SpanKind.INTERNAL: trace.SpanKind.INTERNAL, SpanKind.CLIENT: trace.SpanKind.CLIENT,
    SpanKind.SERVER: trace.SpanKind.SERVER,
}  # fmt: skip


@implementer(ITracer)
class OpenTelemetryTracer:
    """A tracer whose ended spans go to the processors of a ``TracerProvider``.

    :param provider: its sampler is asked about the operations that the ratio picks; its resource is that of the spans.
    :param ratio: share of the operations, of callers without a span, that the sampler is asked about; 0 to 1.
    :param seconds: returns the time in seconds since the epoch.
    """

    _log = Logger()

    def __init__(self, provider: TracerProvider, ratio: float, seconds: Callable[[], float]) -> None:
        tracer = provider.get_tracer(SCOPE)
        assert isinstance(tracer, Tracer)
        self._resource, self._processor, self._sampler = tracer.resource, tracer.span_processor, tracer.sampler
        self._takes_all = self._sampler in (ALWAYS_ON, DEFAULT_ON)  # not asked, because it costs as much as two spans
        self._ids = tracer.id_generator
        self._scope = InstrumentationScope(SCOPE)
        self._ratio = ratio
        self._seconds = seconds
        self._until_next = self._gap()

    def _gap(self) -> float:
        """Draw the number of operations between two that are sampled, so that each has the same chance."""
        if not 0 < self._ratio < 1:
            return 0 if self._ratio else math.inf
        chance = (self._ids.generate_span_id() + 1) / 2**_BITS
        return math.floor(math.log(chance) / math.log1p(-self._ratio))

    def begin(self, name: str) -> Span | None:
        context = get_current()
        if context:  # the usual empty context says that the caller has no span
            caller = trace.get_current_span(context).get_span_context()
            if caller.is_valid:
                if not caller.trace_flags.sampled:
                    return None
                return self.child(SpanIds(caller.trace_id, caller.span_id), name, SpanKind.INTERNAL)
        if self._until_next > 0:
            self._until_next -= 1
            return None
        self._until_next = self._gap()
        return self._first(context, name)

    def _first(self, context: Context, name: str) -> Span | None:
        """Begin the first span of a trace, if the sampler of the provider agrees."""
        trace_id = self._ids.generate_trace_id()
        if not self._takes_all and not self._takes(context, trace_id, name):
            return None
        return Span(SpanIds(trace_id, self._ids.generate_span_id()), None, name, SpanKind.INTERNAL, self._seconds())

    def _takes(self, context: Context, trace_id: int, name: str) -> bool:
        try:
            decided = self._sampler.should_sample(context, trace_id, name, trace.SpanKind.INTERNAL)
        except Exception:  # a sampler may be the program's own, and must not fail an append
            self._log.failure("the sampler of traces failed")
            return False
        return decided.decision is Decision.RECORD_AND_SAMPLE

    def child(self, parent: SpanIds, name: str, kind: SpanKind, began: float | None = None) -> Span:
        ids = SpanIds(parent.trace_id, self._ids.generate_span_id())
        return Span(ids, parent, name, kind, self._seconds() if began is None else began)

    def end(self, span: Span, error: BaseException | None = None, ended: float | None = None) -> None:
        status, ended = _OK, self._seconds() if ended is None else ended
        if error is not None:
            name = type(error).__name__
            span.attributes["error.type"] = name
            status = Status(StatusCode.ERROR, f"{name}: {error}")
        parent = None if span.parent is None else _context_of(span.parent, span.kind is SpanKind.SERVER)
        try:
            self._processor.on_end(ReadableSpan(
                span.name, context=_context_of(span.ids), parent=parent, resource=self._resource,
                attributes=span.attributes, links=[Link(_context_of(ids)) for ids in span.links],
                events=[Event(name, timestamp=int(at * _NANOS)) for name, at in span.events],
                kind=_KINDS[span.kind], status=status, instrumentation_scope=self._scope,
                start_time=int(span.began * _NANOS), end_time=int(ended * _NANOS),
            ))  # fmt: skip
        except Exception:
            self._log.failure("a span could not be reported")

    def __repr__(self) -> str:
        return f"<OpenTelemetryTracer, {self._ratio:g} of operations without a span>"


def _context_of(ids: SpanIds, is_remote: bool = False) -> SpanContext:
    return SpanContext(ids.trace_id, ids.span_id, is_remote, _SAMPLED)

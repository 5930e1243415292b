"""The tracer that reports spans to the SDK of OpenTelemetry; it needs the extra ``otel``.

A span becomes an object of the SDK only when it has ended and is reported.  So the span processors of the
``TracerProvider`` get calls of ``on_end()``, but none of ``on_start()``.
"""

import math
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import chain, repeat

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Event, ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags
from twisted.logger import Logger
from zope.interface import implementer

from .interfaces import ITracer
from .spans import Begun, Span, SpanKind
from .traceparent import SPAN_BITS, SpanIds, new_span_ids

SCOPE = "bookkeeper_twisted"
"""Name of OpenTelemetry's instrumentation scope in all spans."""

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_OK, _NANOS = Status(StatusCode.UNSET), 1_000_000_000
_KINDS = [trace.SpanKind[kind.name] for kind in SpanKind]


def _current_context() -> Callable[[], Context]:
    """Return a function that returns the current context of OpenTelemetry, which is empty if there is no current span.

    Each append calls the function.  If OpenTelemetry keeps the context in a context variable, the function is the
    ``get`` method of this variable, because ``opentelemetry.context.get_current`` takes four times as long.
    """
    variable = getattr(getattr(contexts, "_RUNTIME_CONTEXT", None), "_current_context", None)
    return variable.get if isinstance(variable, ContextVar) else contexts.get_current


@implementer(ITracer)
class OpenTelemetryTracer:
    """A tracer that passes ended spans to the span processors of a ``TracerProvider``.

    :param provider: the provider, whose sampler can reject an operation, and whose resource all spans have.
    :param ratio: probability, from 0 to 1, with which an operation without a current span is passed to the sampler; the
        other such operations are not traced.
    """

    _log = Logger()

    def __init__(self, provider: TracerProvider, ratio: float) -> None:
        tracer = provider.get_tracer(SCOPE)
        assert isinstance(tracer, Tracer)
        self._resource, self._processor, self._sampler = tracer.resource, tracer.span_processor, tracer.sampler
        # do not call a sampler that accepts every operation: one call takes as much time as to make two spans
        self._takes_all = self._sampler in (ALWAYS_ON, DEFAULT_ON)
        self._ids = tracer.id_generator
        self.span_ids = new_span_ids(self._ids.generate_span_id)
        self._scope = InstrumentationScope(SCOPE)
        self._ratio = ratio
        self.caller = _current_context()
        turns = chain.from_iterable(chain(repeat(False, self._gap()), (True,)) for _ in repeat(None))
        self.turn: Callable[[], bool] = turns.__next__

    def _gap(self) -> int:
        """Draw the number of operations to skip before the next sampled one; each is sampled with the same chance."""
        if not 0 < self._ratio < 1:
            return 0 if self._ratio else sys.maxsize
        chance = (self._ids.generate_span_id() + 1) / 2**SPAN_BITS
        return math.floor(min(math.log(chance) / math.log1p(-self._ratio), sys.maxsize))

    def begin(self, name: str, is_turn: bool) -> Begun | None:
        context = self.caller()
        if context:
            caller = trace.get_current_span(context).get_span_context()
            if caller.is_valid:
                if not caller.trace_flags.sampled:
                    return None
                parent = SpanIds(caller.trace_id, caller.span_id)
                return Begun(SpanIds(caller.trace_id, next(self.span_ids)), parent)
        if not is_turn:
            return None
        trace_id = self._ids.generate_trace_id()
        if not self._takes_all and not self._takes(context, trace_id, name):
            return None
        return Begun(SpanIds(trace_id, next(self.span_ids)), None)

    def _takes(self, context: Context, trace_id: int, name: str) -> bool:
        """Ask the sampler of the provider whether to sample an operation."""
        try:
            decided = self._sampler.should_sample(context, trace_id, name, trace.SpanKind.INTERNAL)
        except Exception:  # an error in a sampler that the user wrote must not fail an append
            self._log.failure("the sampler of traces failed")
            return False
        return decided.decision is Decision.RECORD_AND_SAMPLE

    def report(self, spans: Sequence[Span]) -> None:
        failed = False
        for span in spans:
            try:
                self._processor.on_end(self._readable(span))
            except Exception:
                if not failed:
                    self._log.failure("some of {count} spans could not be reported", count=len(spans))
                failed = True

    def _readable(self, span: Span) -> ReadableSpan:
        """Convert a span to the SDK's class."""
        ids, parent, name, kind, began, ended, attributes, error, events, links = span
        status = _OK
        if error is not None:
            error_type = type(error).__name__
            attributes = {**attributes, "error.type": error_type}
            status = Status(StatusCode.ERROR, f"{error_type}: {error}")
        return ReadableSpan(
            name, SpanContext(ids[0], ids[1], False, _SAMPLED),
            None if parent is None else SpanContext(parent[0], parent[1], kind is SpanKind.SERVER, _SAMPLED),
            self._resource, attributes,
            [Event(text, timestamp=int(at * _NANOS)) for text, at in events] if events else (),
            [Link(SpanContext(*link[:2], False, _SAMPLED)) for link in links] if links else (),
            _KINDS[kind], None, status, int(began * _NANOS), int(ended * _NANOS), self._scope,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<OpenTelemetryTracer, {self._ratio:g} of operations without a span>"

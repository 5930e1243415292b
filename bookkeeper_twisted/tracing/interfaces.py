"""The interfaces of tracing: the tracer of a client or a bookie, and the plugin that makes the tracer."""

from collections.abc import Callable, Iterator, Sequence

from zope.interface import Attribute, Interface

from ..config.tracing import TracingConfig
from .spans import Begun, Span


class ITracer(Interface):
    """Decides which operations are traced, and reports their spans.

    All methods are called on the reactor thread.  They log errors and do not raise them, because an error of the
    tracer must not fail an append or a reply.
    """

    turn: Callable[[], bool] = Attribute("Returns whether it is an operation's turn; called once for each operation.")
    caller: Callable[[], object] = Attribute("Returns something true if the caller may have a span.")
    span_ids: Iterator[int] = Attribute("New ids of spans, whose last bits are 0 (traceparent.PART_BITS).")

    def begin(name: str, is_turn: bool) -> Begun | None:
        """Decide whether an operation that the program calls is traced; if so, make the ids of its span.

        First call :attr:`turn`, which is true if the sampling ratio selects this operation, and :attr:`caller`, which
        is true if the program may have a current span.  Call this method only if one of them is true.  Both are
        functions written in C, so that an append that is not traced calls no Python function for tracing.

        If the program has a current span, this span decides: its children are traced if it is sampled.  Without a
        current span, the sampler decides.

        :param name: name of the operation.
        :param is_turn: the result of :attr:`turn`.
        :returns: the ids of the new span and of its parent; None if the operation is not traced.  The last
            :data:`~.traceparent.PART_BITS` bits of the new span id are 0.
        """

    def report(spans: Sequence[Span]) -> None:
        """Report ``spans``, all of which have ended."""


class ITracerPlugin(Interface):
    """A plugin that makes tracers."""

    names: frozenset[str] = Attribute("Values of ``tracer`` it answers to.")

    def make(config: TracingConfig) -> ITracer | None:
        """Make the tracer of a client or a bookie; return None if nothing must be traced.

        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration, or a library that it
            needs is not installed.
        """

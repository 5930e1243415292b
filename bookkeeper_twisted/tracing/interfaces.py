"""The interfaces of tracing: what a provider of traces does, and the plugin that makes it."""

from collections.abc import Callable, Iterator, Sequence

from zope.interface import Attribute, Interface

from ..config.tracing import TracingConfig
from .spans import Begun, Span


class ITracer(Interface):
    """A provider of traces.  A process without one has None instead.

    Called on the thread of the reactor.  No method raises, because appends and replies would fail: what goes wrong is
    logged.
    """

    turn: Callable[[], bool] = Attribute("Returns whether it is an operation's turn; called once for each operation.")
    caller: Callable[[], object] = Attribute("Returns something true if the caller may have a span.")
    span_ids: Iterator[int] = Attribute("New ids of spans, whose last bits are 0 (traceparent.PART_BITS).")

    def begin(name: str, is_turn: bool) -> Begun | None:
        """Decide whether an operation that the program calls is traced, and make its ids if it is.

        Called only if :attr:`turn` or :attr:`caller` has returned something true: both are functions in C, because a
        call of one in Python would cost each append more than all of this.  The context of the caller
        (:mod:`contextvars`) decides if it has a span; else the sampler does.  The last
        :data:`~.traceparent.PART_BITS` bits of the id of the span are 0.

        :param name: name of the operation.
        :param is_turn: the result of :attr:`turn`.
        :returns: None if the operation is not traced.
        """

    def report(spans: Sequence[Span]) -> None:
        """Report ``spans`` that have ended, many at once."""


class ITracerPlugin(Interface):
    """A plugin that makes tracers."""

    names: frozenset[str] = Attribute("Values of ``tracer`` it answers to.")

    def make(config: TracingConfig) -> ITracer | None:
        """Return the tracer of a client or a bookie; None for no traces.

        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration, or lacks a library.
        """

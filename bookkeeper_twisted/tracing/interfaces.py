"""The interfaces of tracing: what a provider of traces does, and the plugin that makes it."""

from collections.abc import Callable

from zope.interface import Attribute, Interface

from ..config.tracing import TracingConfig
from .spans import Span, SpanKind
from .traceparent import SpanIds


class ITracer(Interface):
    """A provider of traces.  A process without one has None instead.

    Called on the thread of the reactor.  No method raises, because appends and replies would fail: what goes wrong is
    logged.
    """

    def begin(name: str) -> Span | None:
        """Begin the first span of an operation that the program calls, if the operation is to be traced.

        The context of the caller (:mod:`contextvars`) decides if it has a span; else the sampler does.

        :param name: name of the operation.
        :returns: the span; None if the operation is not traced, which is the usual case and costs little.
        """

    def child(parent: SpanIds, name: str, kind: SpanKind, began: float | None = None) -> Span:
        """Begin a span that is a part of another one.

        :param parent: ids of the other span, perhaps of another process; it is sampled.
        :param name: name of the part.
        :param began: seconds since the epoch; None for now.
        """

    def end(span: Span, error: BaseException | None = None, ended: float | None = None) -> None:
        """Report a span that has ended.

        :param error: the error with which it ended; its class becomes ``error.type``.
        :param ended: seconds since the epoch; None for now.
        """


class ITracerPlugin(Interface):
    """A plugin that makes tracers."""

    names: frozenset[str] = Attribute("Values of ``tracer`` it answers to.")

    def make(config: TracingConfig, seconds: Callable[[], float]) -> ITracer | None:
        """Return the tracer of a client or a bookie; None for no traces.

        :param seconds: returns the time in seconds since the epoch.
        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration, or lacks a library.
        """

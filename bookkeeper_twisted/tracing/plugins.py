"""The plugins that make tracers, and how they are found by name."""

from collections.abc import Iterable

from twisted.plugin import IPlugin, getPlugins
from zope.interface import implementer

from ..config.tracing import TracingConfig
from .interfaces import ITracer, ITracerPlugin


@implementer(IPlugin, ITracerPlugin)
class UntracedPlugin:
    """The plugin that traces nothing."""

    names = frozenset({"", "none"})

    def make(self, config: TracingConfig) -> ITracer | None:
        """Return None, which means no traces."""
        return None


@implementer(IPlugin, ITracerPlugin)
class OpenTelemetryPlugin:
    """The plugin that reports to the ``TracerProvider`` that the program has set as the global one of OpenTelemetry."""

    names = frozenset({"opentelemetry"})

    def make(self, config: TracingConfig) -> ITracer | None:
        """Make a tracer for the global provider; :meth:`.ITracerPlugin.make` describes the errors."""
        try:
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.trace import get_tracer_provider

            from .open_telemetry import OpenTelemetryTracer
        except ImportError as error:
            raise _missing(config, "otel", error) from None
        provider = get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            raise config.error("tracer", "call opentelemetry.trace.set_tracer_provider with one of the SDK first")
        return OpenTelemetryTracer(provider, config.trace_sample_ratio)


@implementer(IPlugin, ITracerPlugin)
class OtlpPlugin:
    """The plugin that exports spans over OTLP; the environment variables ``OTEL_*`` configure the export.

    It is made for bookies: in the process of a bookie, there is no code of the user that could set a
    ``TracerProvider``.  The variable ``OTEL_SERVICE_NAME`` sets the service name in the spans.
    """

    names = frozenset({"otlp"})

    def make(self, config: TracingConfig) -> ITracer | None:
        """Make a tracer with its own provider and exporter; :meth:`.ITracerPlugin.make` describes the errors."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            from .open_telemetry import OpenTelemetryTracer
        except ImportError as error:
            raise _missing(config, "otel and the package opentelemetry-exporter-otlp-proto-http", error) from None
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return OpenTelemetryTracer(provider, config.trace_sample_ratio)


def _missing(config: TracingConfig, needs: str, error: ImportError) -> Exception:
    return config.error("tracer", f"needs the extra {needs}: {error}")


def tracer_of(config: TracingConfig) -> ITracer | None:
    """Make the tracer that the setting ``tracer`` selects; return None if nothing is traced.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has this name, or the plugin cannot use the configuration.
    """
    plugins: Iterable[ITracerPlugin] = getPlugins(ITracerPlugin)
    return config.chosen("tracer", plugins, "tracer").make(config)

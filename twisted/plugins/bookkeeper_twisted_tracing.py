"""The plugins for traces: none, OpenTelemetry's global provider, and an exporter of one's own."""

from bookkeeper_twisted.tracing.plugins import OpenTelemetryPlugin, OtlpPlugin, UntracedPlugin

untraced = UntracedPlugin()
opentelemetry = OpenTelemetryPlugin()
otlp = OtlpPlugin()

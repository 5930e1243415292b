"""Tracers by the names in configurations."""

import sys
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.tracing.plugins import tracer_of


class PluginTests(SynchronousTestCase):
    """The three plugins."""

    def tracer(self, **keys: Any) -> Any:
        """The tracer of a client with these keys."""
        return tracer_of(ClientConfig(**keys))

    def test_none(self) -> None:
        """By default, and by name, nothing is traced."""
        self.assertIsNone(self.tracer())
        self.assertIsNone(self.tracer(tracer="none"))
        self.assertIsNone(tracer_of(BookieConfig()))

    def test_unknown(self) -> None:
        """Another name is refused with those that there are."""
        error = self.assertRaises(ConfigError, self.tracer, tracer="jaeger")
        self.assertIn("known are none, opentelemetry, otlp", str(error))

    def test_without_library(self) -> None:
        """Without its library a plugin says which extra it needs."""
        gone = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
        before = {name: module for name, module in sys.modules.items() if name in gone}
        self.addCleanup(sys.modules.update, before)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in gone])
        sys.modules.update(dict.fromkeys(gone))  # type: ignore[arg-type]  # so Python is told that there is none
        for name in ("opentelemetry", "otlp"):
            error = self.assertRaises(ConfigError, self.tracer, tracer=name)
            self.assertIn("needs the extra otel", str(error))

    def test_no_provider(self) -> None:
        """The global provider must have been set, to one of the SDK."""
        try:
            from opentelemetry import trace
            from opentelemetry.sdk.trace import TracerProvider
        except ImportError as missing:
            raise SkipTest(f"needs the extra otel: {missing}") from None
        self.patch(trace, "_TRACER_PROVIDER", None)
        error = self.assertRaises(ConfigError, self.tracer, tracer="opentelemetry")
        self.assertIn("set_tracer_provider", str(error))
        self.patch(trace, "_TRACER_PROVIDER", TracerProvider(shutdown_on_exit=False))
        self.assertEqual(
            repr(self.tracer(tracer="opentelemetry", trace_sample_ratio=0.5)),
            "<OpenTelemetryTracer, 0.5 of operations without a span>",
        )

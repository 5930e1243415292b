"""The configuration of tracing, and of the log context that clients send with requests; all processes have it."""

import attrs

from ..errors import ConfigError
from .fields import BOOLEAN, WORD, decimal, integer, setting
from .settings import Config


@attrs.frozen(kw_only=True)
class TracingConfig(Config):
    """The settings of tracing, and of the log context that clients send with requests."""

    tracer: str = setting(
        "tracer", "", WORD,
        "plugin that traces requests: opentelemetry, otlp, your own; empty: none (docs/tracing.rst)", java="none",
    )  # fmt: skip
    trace_sample_ratio: float = setting(
        "traceSampleRatio", 0.01, decimal(0, 1),
        "share of a client's appends and reads that are traced, of callers without a span of their own", java="none",
    )  # fmt: skip
    trace_max_per_second: int = setting(
        "traceMaxPerSecond", 100, integer(0),
        "traces a second that a client begins because of traceSampleRatio, at most; 0: no limit", java="none",
    )  # fmt: skip
    traced_requests_max_per_second: int = setting(
        "tracedRequestsMaxPerSecond", 1000, integer(0),
        "requests a second for which a bookie makes spans, at most, whoever asks; 0: no limit", java="none",
    )  # fmt: skip
    preserve_mdc_for_task_execution: bool = setting(
        "preserveMdcForTaskExecution", False, BOOLEAN,
        "a bookie's lines about a request have the pairs of its requestContext as the field request_context",
    )  # fmt: skip

    def error(self, name: str, reason: str) -> ConfigError:
        """Return the error for a configuration value that a plugin cannot use; the caller raises it.

        :param name: name of the attribute with this value.
        :param reason: why the plugin cannot use the value.
        """
        return self._error(name, reason)

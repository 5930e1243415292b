"""The example of ``docs/tracing.rst``."""

from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.testing import blocking_cluster

from ..first_hour.documents import blocks
from ..integration.test_traces import provider_of

PAGE = Path(__file__).parents[2] / "docs" / "tracing.rst"


class PageTests(SynchronousTestCase):
    """The page is followed to the letter."""

    def test_example(self) -> None:
        """The append of the example is a part of the program's span."""
        exporter = provider_of(self)
        from opentelemetry import trace

        self.patch(trace, "set_tracer_provider", lambda provider: None)  # the test has set it
        (example,) = [block.text for block in blocks(PAGE.read_text()) if block.language == "python"]
        with blocking_cluster() as cluster:
            names: dict[str, Any] = {
                "cluster": cluster, "trace": trace, "provider": trace.get_tracer_provider(),
                "ClientConfig": ClientConfig,
            }  # fmt: skip
            exec(compile(example, str(PAGE), "exec"), names)
        spans = {span.name: span for span in exporter.get_finished_spans()}
        parent = spans["bookkeeper.append"].parent
        self.assertEqual(parent.span_id, spans["checkout"].context.span_id)

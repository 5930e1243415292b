"""The test suite for providers of traces.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...errors import LedgerFencedError
from ...tracing.interfaces import ITracer
from ...tracing.spans import SpanKind
from ...tracing.traceparent import SpanIds

CALLER = SpanIds((1 << 128) - 1, (1 << 64) - 1)
"""The largest ids of a span."""


@attrs.frozen
class Reported:
    """A span as a provider has reported it."""

    name: str
    ids: SpanIds
    parent: SpanIds | None
    kind: SpanKind
    began: float
    ended: float
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, float], ...]
    links: tuple[SpanIds, ...]
    error: str


class TracerContract(SynchronousTestCase):
    """The tests that each provider passes; a subclass makes the provider."""

    def make(self, ratio: float) -> Any:
        """Return a provider that traces this share of operations, 0 or 1, with the time of ``self.clock``."""
        raise NotImplementedError

    def calling(self, ids: SpanIds) -> AbstractContextManager[None]:
        """Return a context in which the caller has a span with these ids."""
        raise NotImplementedError

    def reported(self) -> list[Reported]:
        """Return the spans that the provider has reported, in order."""
        raise NotImplementedError

    def setUp(self) -> None:
        """Begin at a time that floating point numbers have exactly."""
        self.clock = Clock()
        self.clock.advance(1_000_000.5)

    def test_interface(self) -> None:
        """The provider has all methods."""
        verifyObject(ITracer, self.make(1))

    def test_first(self) -> None:
        """An operation of a caller without a span begins a trace, and the next one another."""
        tracer = self.make(1)
        span, other = tracer.begin("append"), tracer.begin("append")
        self.assertEqual((span.name, span.parent, span.began), ("append", None, 1_000_000.5))
        self.assertTrue(span.ids.trace_id and span.ids.span_id and span.ids.is_sampled)
        self.assertNotEqual(span.ids.trace_id, other.ids.trace_id)

    def test_not_sampled(self) -> None:
        """An operation that is not sampled has no span."""
        tracer = self.make(0)
        self.assertEqual([tracer.begin("append") for _ in range(3)], [None] * 3)

    def test_of_caller(self) -> None:
        """The span of the caller decides, whatever the share: one that is sampled becomes the parent."""
        tracer = self.make(0)
        with self.calling(CALLER):
            span = tracer.begin("append")
        self.assertEqual((span.parent, span.ids.trace_id), (CALLER, CALLER.trace_id))
        self.assertIsNone(tracer.begin("append"))
        tracer = self.make(1)
        with self.calling(CALLER._replace(is_sampled=False)):
            self.assertIsNone(tracer.begin("append"))

    def test_child(self) -> None:
        """A part has an id of its own in the same trace, and begins now or when it is said to have begun."""
        tracer = self.make(1)
        now, earlier = tracer.child(CALLER, "add", SpanKind.CLIENT), tracer.child(CALLER, "add", SpanKind.SERVER, 7.25)
        self.assertEqual((now.began, now.parent, now.kind), (1_000_000.5, CALLER, SpanKind.CLIENT))
        self.assertEqual((earlier.began, earlier.parent, earlier.kind), (7.25, CALLER, SpanKind.SERVER))
        self.assertEqual({now.ids.trace_id, earlier.ids.trace_id}, {CALLER.trace_id})
        self.assertEqual(len({now.ids.span_id, earlier.ids.span_id, CALLER.span_id}), 3)

    def test_end(self) -> None:
        """A span is reported when it ends, with all that it has by then."""
        tracer = self.make(1)
        span = tracer.child(CALLER, "add", SpanKind.SERVER)
        other = tracer.begin("append")
        span.attributes.update({"text": "a", "number": 3, "fact": True})
        span.events.append(("half", 1_000_000.625))
        span.links.append(other.ids)
        self.assertEqual(self.reported(), [])
        self.clock.advance(0.25)
        tracer.end(span)
        tracer.end(other, ended=1_000_001.0)
        first, second = self.reported()
        attributes, events = {"text": "a", "number": 3, "fact": True}, (("half", 1_000_000.625),)
        times = 1_000_000.5, 1_000_000.75
        expected = Reported("add", span.ids, CALLER, SpanKind.SERVER, *times, attributes, events, (other.ids,), "")
        self.assertEqual(first, expected)
        self.assertEqual((second.parent, second.ended, second.kind), (None, 1_000_001.0, SpanKind.INTERNAL))

    def test_error(self) -> None:
        """A span that ends with an error has its name and text."""
        tracer = self.make(1)
        tracer.end(tracer.begin("append"), LedgerFencedError(7, 3))
        (found,) = self.reported()
        self.assertEqual(found.error, f"LedgerFencedError: {LedgerFencedError(7, 3)}")

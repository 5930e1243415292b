"""The test suite for tracers, which make trace spans for operations.

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
from ...tracing.records import TraceRecords
from ...tracing.spans import Span, SpanKind
from ...tracing.traceparent import PART_BITS, SpanIds

CALLER = SpanIds((1 << 128) - 1, (1 << 64) - 1)
"""The largest trace id and span id."""


def begin(tracer: ITracer) -> Any:
    """Begin the operation "append" as a client does; return its ids, or None if the tracer does not trace it."""
    return TraceRecords(Clock(), tracer).begin("append")


@attrs.frozen
class Reported:
    """A span that a tracer has reported."""

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
    """The tests of a tracer; a subclass makes the tracer."""

    def make(self, ratio: float) -> Any:
        """Return a tracer that traces this share of operations, 0 or 1."""
        raise NotImplementedError

    def calling(self, ids: SpanIds) -> AbstractContextManager[None]:
        """Return a context manager that makes the span with these ids the current span.

        Operations that are called in its ``with`` block become children of this span.
        """
        raise NotImplementedError

    def reported(self) -> list[Reported]:
        """Return the spans that the tracer has reported, in order."""
        raise NotImplementedError

    def test_interface(self) -> None:
        """The tracer has all methods of its interface."""
        verifyObject(ITracer, self.make(1))

    def test_first(self) -> None:
        """An operation that is called outside any span begins a trace; the next such operation begins another trace."""
        tracer = self.make(1)
        begun, other = begin(tracer), begin(tracer)
        self.assertIsNone(begun.parent)
        self.assertTrue(begun.ids.trace_id and begun.ids.span_id and begun.ids.is_sampled)
        self.assertNotEqual(begun.ids.trace_id, other.ids.trace_id)
        self.assertNotEqual(begun.ids.span_id, other.ids.span_id)

    def test_not_sampled(self) -> None:
        """An operation that is not sampled has no span."""
        tracer = self.make(0)
        self.assertEqual([begin(tracer) for _ in range(3)], [None] * 3)

    def test_of_caller(self) -> None:
        """Within another span, the ratio is ignored: an operation is traced if that span is sampled."""
        tracer = self.make(0)
        with self.calling(CALLER):
            begun = begin(tracer)
        self.assertEqual((begun.parent, begun.ids.trace_id), (CALLER, CALLER.trace_id))
        self.assertIsNone(begin(tracer))
        tracer = self.make(1)
        with self.calling(CALLER._replace(is_sampled=False)):
            self.assertIsNone(begin(tracer))

    def test_parts(self) -> None:
        """The last bits of an operation's span id are 0, so that the ids of its child spans can be derived from it."""
        tracer = self.make(1)
        with self.calling(CALLER):
            of_caller = begin(tracer)
        for begun in (begin(tracer), of_caller):
            self.assertEqual(begun.ids.span_id % (1 << PART_BITS), 0)

    def test_report(self) -> None:
        """A span is reported with its times, attributes, events and links."""
        tracer = self.make(1)
        begun = begin(tracer)
        attributes: dict[str, str | int | bool] = {"text": "a", "number": 3, "fact": True}
        events = (("half", 1_000_000.625),)
        times, links = (1_000_000.5, 1_000_000.75), (begun.ids,)
        ids = SpanIds(CALLER.trace_id, 7)
        self.assertEqual(self.reported(), [])
        tracer.report([
            Span(ids, CALLER, "add", SpanKind.SERVER, *times, attributes, None, events, links),
            Span(begun.ids, None, "append", SpanKind.INTERNAL, 1_000_000.5, 1_000_001.0, {}),
        ])  # fmt: skip
        first, second = self.reported()
        self.assertEqual(
            first, Reported("add", ids, CALLER, SpanKind.SERVER, *times, attributes, events, links, "")
        )  # fmt: skip
        self.assertEqual((second.parent, second.ended, second.kind), (None, 1_000_001.0, SpanKind.INTERNAL))

    def test_error(self) -> None:
        """A span that ends with an error contains the name and the text of the error."""
        tracer, error = self.make(1), LedgerFencedError(7, 3)
        tracer.report([Span(CALLER, None, "append", SpanKind.INTERNAL, 1.0, 2.0, {}, error)])
        (found,) = self.reported()
        self.assertEqual(found.error, f"LedgerFencedError: {error}")

"""The arguments and results of tracers: the ids of begun operations, and spans that have ended."""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple, Protocol

from .traceparent import SpanIds


class SpanKind(IntEnum):
    """The kind of a span: work inside a process, or a request as its client or its server sees it."""

    INTERNAL = 0
    CLIENT = 1
    SERVER = 2


class Begun(NamedTuple):
    """The ids of a traced operation that has begun.

    :ivar ids: the ids of its span.
    :ivar parent: the ids of the program's current span at the call; None if the operation begins a new trace.
    """

    ids: SpanIds
    parent: SpanIds | None


class Span(NamedTuple):
    """A span that has ended, in the sense of OpenTelemetry.

    :ivar ids: the ids of this span.
    :ivar parent: the ids of the parent span; None if this span is the first of its trace.
    :ivar began, ended: seconds since the epoch.
    :ivar attributes: the values of the span's attributes by name.
    :ivar error: the error with which the operation or request failed; None if it succeeded.
    :ivar events: the name and the time, in seconds since the epoch, of each event in the span.
    :ivar links: the ids of related spans other than the parent.
    """

    ids: SpanIds
    parent: SpanIds | None
    name: str
    kind: SpanKind
    began: float
    ended: float
    attributes: Mapping[str, str | int | bool]
    error: BaseException | None = None
    events: tuple[tuple[str, float], ...] = ()
    links: tuple[SpanIds, ...] = ()


class IRecord(Protocol):
    """The record of a traced operation or request that has ended, from which its spans are made."""

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the spans of this record.

        :param span_ids: yields new ids for spans that have none yet.
        """

"""The values that a provider of traces takes and returns: begun operations, and spans that have ended."""

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
    """The begin of an operation that is traced.

    :ivar ids: the ids of its span.
    :ivar parent: the ids of the caller's span; None if the operation is the first of its trace.
    """

    ids: SpanIds
    parent: SpanIds | None


class Span(NamedTuple):
    """A part of a traced operation that has ended.

    :ivar ids: its own ids.
    :ivar parent: the ids of the span that it is a part of; None if it is the first of its trace.
    :ivar began, ended: seconds since the epoch.
    :ivar attributes: facts about it by name.
    :ivar error: the error with which it ended, or None.
    :ivar events: moments in it, each a name and the seconds since the epoch.
    :ivar links: ids of spans of which it is no part, but that have to do with it.
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
    """The record of a traced operation or request, kept until its spans are made."""

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the spans of what has ended since the last call.

        :param span_ids: new ids of spans.
        """

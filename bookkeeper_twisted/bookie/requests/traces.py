"""The spans of a bookie, for requests that carry the ids of a sampled span.

They are made when a request is answered, from times that are known by then, and end when the replies have been written
to the transport of the connection.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from ...codec.runs import AddRun
from ...entries.interfaces import Entries
from ...tracing.interfaces import ITracer
from ...tracing.spans import Span, SpanKind
from ...tracing.traceparent import TRACEPARENT, SpanIds, decode_traceparent

JOURNAL_GROUP, SERVED = "bookie.journal_group", "bookie."
"""The names of spans; the last is the begin of the name of a request's span, before that of its operation."""

ANSWERED = "answered"
"""The name of the event that the reply is made; the span ends when it has been written."""


class WrittenGroup(Protocol):
    """A group of journal records whose entries are being acknowledged.

    :ivar began, ended: the seconds since the epoch at which it was taken from the queue, and complete.
    :ivar span: the ids of its span; None until one is made.
    """

    began: float
    ended: float
    span: SpanIds | None

    @property
    def n_entries(self) -> int: ...


class RequestTraces:
    """The spans of the requests of one bookie.

    :param seconds: returns the time in seconds since the epoch.
    :param group_of: returns the journal group whose entries are being acknowledged now, if it is one of the journal of
        a ledger.
    :param after_flush: registers a function to be called once, when the replies have been written.
    """

    def __init__(
        self, tracer: ITracer, seconds: Callable[[], float], group_of: Callable[[int], WrittenGroup | None],
        after_flush: Callable[[Callable[[], None]], None],
    ) -> None:  # fmt: skip
        self._tracer = tracer
        self._seconds = seconds
        self._group_of = group_of
        self._after_flush = after_flush
        self._unwritten: list[tuple[Span, BaseException | None]] = []

    def added(self, run: AddRun, part: Entries, peer: str, began: float, error: Exception | None) -> None:
        """Make the spans of those adds of a ``run`` that are traced and are answered now.

        :param part: the entries of the answered adds.
        :param peer: the client's address.
        :param began: seconds since the epoch at which the run began.
        """
        contexts = run.contexts or {}
        for ids in contexts if part is run.entries else contexts.keys() & set(part.ids()):
            span = self._begin("add", contexts[ids], peer, ids, began)
            if span is not None:
                group = None if error is not None else self._group_of(ids[0])
                if group is not None:
                    span.links.append(group.span or self._of_group(group, span))
                self._end_later(span, error)

    def answered(
        self, operation: str, context: Mapping[str, str] | None, peer: str, ids: tuple[int, int], began: float,
        error: BaseException | None = None,
    ) -> None:  # fmt: skip
        """Make the span of a request that is answered now, unless it is an add, if it is traced.

        :param operation: name of the operation.
        :param context: the pairs that the request carries.
        :param peer: the client's address.
        :param ids: ledger id and entry id.
        :param began: seconds since the epoch at which the request began.
        """
        span = self._begin(operation, context, peer, ids, began) if context else None
        if span is not None:
            self._end_later(span, error)

    def _begin(
        self, operation: str, context: Mapping[str, str] | None, peer: str, ids: tuple[int, int], began: float
    ) -> Span | None:
        parent = decode_traceparent(context.get(TRACEPARENT, "")) if context else None
        if parent is None or not parent.is_sampled:
            return None
        span = self._tracer.child(parent, SERVED + operation, SpanKind.SERVER, began)
        span.attributes.update({"bookkeeper.ledger.id": ids[0], "bookkeeper.entry.id": ids[1], "network.peer": peer})
        return span

    def _of_group(self, group: WrittenGroup, add: Span) -> SpanIds:
        """Make the span of a journal group, as a part of the first traced add in it."""
        span = self._tracer.child(add.ids, JOURNAL_GROUP, SpanKind.INTERNAL, group.began)
        span.attributes["bookkeeper.entries"] = group.n_entries
        self._tracer.end(span, ended=group.ended)
        group.span = span.ids
        return span.ids

    def _end_later(self, span: Span, error: BaseException | None) -> None:
        if not self._unwritten:
            self._after_flush(self._flushed)
        span.events.append((ANSWERED, self._seconds()))
        self._unwritten.append((span, error))

    def _flushed(self) -> None:
        unwritten, self._unwritten = self._unwritten, []
        for span, error in unwritten:
            self._tracer.end(span, error)

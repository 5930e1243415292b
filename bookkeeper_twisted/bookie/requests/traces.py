"""The trace spans of a bookie, for requests whose ``traceparent`` has the ids of a sampled span.

When a request is answered, its times and ids are recorded, and later the time at which its reply was written to the
transport.  The spans are made afterwards, many at a time (:class:`.TraceRecords`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import attrs

from ...codec.runs import AddRun
from ...entries.interfaces import Entries
from ...tracing.records import TraceRecords
from ...tracing.spans import Span, SpanKind
from ...tracing.traceparent import TRACEPARENT, SpanIds, decode_traceparent
from ..traced_group import TracedGroup

SERVED = "bookie."
"""The prefix of a span's name; the name of the operation follows it."""

ANSWERED = "answered"
"""The name of the span event for the moment when the reply was made; the span ends when the reply was written."""


class WrittenGroup(Protocol):
    """Journal records that were written together (a group), and whose entries are being acknowledged.

    :ivar began, ended: as in :class:`TracedGroup`.
    :ivar traced: the data for the span of this write; None if no add in it is traced.
    """

    began: float
    ended: float
    traced: TracedGroup | None

    @property
    def n_entries(self) -> int: ...


@attrs.define(eq=False)
class AnsweredRequest:
    """The times and ids of an answered request, from which its spans are made.

    :ivar traceparent: the ``traceparent`` text in the request: the ids of the client's span.
    :ivar ids: ledger id and entry id.
    :ivar began, answered, written: when the request arrived, its reply was made, and its reply was written; each in
        seconds since the epoch.
    :ivar group: for an add, the journal write that contains it.
    """

    operation: str
    traceparent: str
    peer: str
    ids: tuple[int, int]
    began: float
    answered: float
    error: BaseException | None
    group: TracedGroup | None = None
    written: float = 0.0

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span of the request; for the first traced add of a journal write, also the span of the write.

        :param span_ids: an iterator of new span ids.
        :returns: the spans; empty if the client's span is not sampled.
        """
        parent, group = decode_traceparent(self.traceparent), self.group
        if parent is None or not parent.is_sampled:
            return ()
        ids = SpanIds(parent.trace_id, next(span_ids))
        of_group = () if group is None or group.ids is not None else (group.span(ids, next(span_ids)),)
        attributes: dict[str, str | int | bool] = {
            "bookkeeper.ledger.id": self.ids[0], "bookkeeper.entry.id": self.ids[1], "network.peer": self.peer
        }  # fmt: skip
        links = () if group is None or group.ids is None else (group.ids,)
        return (*of_group, Span(
            ids, parent, SERVED + self.operation, SpanKind.SERVER, self.began, self.written, attributes, self.error,
            ((ANSWERED, self.answered),), links,
        ))  # fmt: skip


class RequestTraces:
    """The trace spans of the requests of one bookie.

    :param group_of: called with a ledger id; returns the journal write whose entries are being acknowledged now, or
        None if it is not of this ledger's journal.
    :param after_flush: registers a function to be called once, when the replies have been written.
    """

    def __init__(
        self, records: TraceRecords, group_of: Callable[[int], WrittenGroup | None],
        after_flush: Callable[[Callable[[], None]], None],
    ) -> None:  # fmt: skip
        self._records = records
        self._group_of = group_of
        self._after_flush = after_flush
        self._unwritten: list[AnsweredRequest] = []

    def added(self, run: AddRun, part: Entries, peer: str, began: float, error: Exception | None) -> None:
        """Record the traced adds of a ``run`` that are answered now.

        :param part: the entries of the answered adds.
        :param peer: the client's address.
        :param began: seconds since the epoch at which the run began.
        """
        contexts = run.contexts or {}
        for ids in contexts if part is run.entries else contexts.keys() & set(part.ids()):
            group = None if error is not None else self._group_of(ids[0])
            if group is not None and group.traced is None:
                group.traced = TracedGroup(group.began, group.ended, group.n_entries)
            self._note("add", contexts[ids], peer, ids, began, error, None if group is None else group.traced)

    def answered(
        self, operation: str, context: Mapping[str, str] | None, peer: str, ids: tuple[int, int], began: float,
        error: BaseException | None = None,
    ) -> None:  # fmt: skip
        """Record a request other than an add that is answered now, if it has a ``traceparent``.

        :param operation: name of the operation.
        :param context: the pairs of text (``requestContext``) in the request.
        :param peer: the client's address.
        :param ids: ledger id and entry id.
        :param began: seconds since the epoch at which the request began.
        """
        if context:
            self._note(operation, context, peer, ids, began, error, None)

    def _note(
        self, operation: str, context: Mapping[str, str], peer: str, ids: tuple[int, int], began: float,
        error: BaseException | None, group: TracedGroup | None,
    ) -> None:  # fmt: skip
        text = context.get(TRACEPARENT)
        if text is not None:
            if not self._unwritten:
                self._after_flush(self._flushed)
            now = self._records.seconds()
            self._unwritten.append(AnsweredRequest(operation, text, peer, ids, began, now, error, group))

    def _flushed(self) -> None:
        unwritten, self._unwritten = self._unwritten, []
        written = self._records.seconds()
        for request in unwritten:
            request.written = written
            self._records.add(request)

    def flush(self) -> None:
        """Make the spans of all recorded requests; called when the bookie stops."""
        self._records.flush()

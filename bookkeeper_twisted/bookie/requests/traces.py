"""The trace spans of a bookie, for requests whose ``traceparent`` has the ids of a sampled span.

For each traced request, an :class:`AnsweredRequest` is made when the request is answered.  It is complete when the
reply has been written to the transport of the connection.  :class:`.TraceRecords` decodes the ids and makes the spans
later.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import attrs

from ...codec.runs import AddRun
from ...entries.interfaces import Entries
from ...tracing.records import TraceRecords
from ...tracing.spans import Span, SpanKind
from ...tracing.traceparent import TRACEPARENT, SpanIds, decode_traceparent, may_be_sampled
from ..traced_group import TracedGroup

SERVED = "bookie."
"""The prefix of the name of a request's span; the name of the operation follows."""

ANSWERED = "answered"
"""The name of the event in a request's span for the moment at which the reply was made.

The span ends later, when the reply has been written.
"""


class WrittenGroup(Protocol):
    """A group of journal records that were written and synced together, and whose adds are being acknowledged.

    :ivar began, ended: seconds since the epoch at which the journal thread began to write, and at which it ended.
    :ivar traced: the object from which the group's span is made; None until a traced add in the group is acknowledged.
    """

    began: float
    ended: float
    traced: TracedGroup | None

    @property
    def n_entries(self) -> int: ...


@attrs.define(eq=False)
class AnsweredRequest:
    """An answered request, with the data from which its span is made.

    :ivar traceparent: the text ``traceparent`` in the request.
    :ivar ids: ledger id and entry id.
    :ivar began: seconds since the epoch at which the request arrived.
    :ivar answered, written: seconds since the epoch at which the reply was made, and at which it was written.
    :ivar group: the journal group that contains the entry of an add; None for failed adds and for other requests.
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
        """Make the span of the request; for the first traced add of a journal group, also the span of the group.

        Return no spans if ``traceparent`` is malformed.

        :param span_ids: yields new ids for the spans.
        """
        parent, group = decode_traceparent(self.traceparent), self.group
        if parent is None:
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
    """Collects the data of the traced requests of one bookie, from which their spans are made.

    :param group_of: called with a ledger id; returns the group of journal records that is being acknowledged at the
        moment in the journal of this ledger, or None.
    :param after_flush: registers a function to be called once, when all replies made so far have been written.
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
        """Store the data for the spans of the traced adds that are answered now.

        :param run: adds that arrived together.
        :param part: the entries of the adds that are answered now.
        :param peer: the client's address.
        :param began: seconds since the epoch at which the bookie began to execute ``run``.
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
        """Store the data for the span of a request that is answered now and is not an add, if the request is traced.

        :param operation: name of the operation.
        :param context: the key-value pairs (``requestContext``) that the client sent with the request.
        :param peer: the client's address.
        :param ids: ledger id and entry id.
        :param began: seconds since the epoch at which the bookie began to execute the request.
        """
        if context:
            self._note(operation, context, peer, ids, began, error, None)

    def _note(
        self, operation: str, context: Mapping[str, str], peer: str, ids: tuple[int, int], began: float,
        error: BaseException | None, group: TracedGroup | None,
    ) -> None:  # fmt: skip
        text = context.get(TRACEPARENT)
        if text is not None and may_be_sampled(text) and self._records.admits():
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
        """Make and report the spans of all answered requests now; called when the bookie stops."""
        self._records.flush()

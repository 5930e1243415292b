"""The traces of a client: the spans of its sampled appends and reads, and of the requests to bookies for them.

An append that is sampled is known by ledger and entry id until its batch is sent.  Then each bookie that is to keep it
is one more span, whose ids the request carries (:mod:`~bookkeeper_twisted.tracing`).  The span of the append ends with
the Deferred of its caller, those of the requests with the answers, which may come later.  Meanwhile there are only the
numbers of which :class:`.TraceRecords` makes spans afterwards.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ..codec.adds import Adds
from ..tracing.records import TraceRecords
from ..tracing.spans import Begun, Span, SpanKind
from ..tracing.traceparent import TRACEPARENT, part_text
from .interfaces import IBookieClient

if TYPE_CHECKING:
    from ..protocol.client.sent_adds import AddsDone

T = TypeVar("T")

APPEND, READ, READ_BATCH = "bookkeeper.append", "bookkeeper.read", "bookkeeper.read_batch"
ADD_REQUEST, READ_REQUEST = "bookkeeper.add_request", "bookkeeper.read_request"
"""The names of spans."""

LEDGER, ENTRY = "bookkeeper.ledger.id", "bookkeeper.entry.id"
ENTRIES, BOOKIE = "bookkeeper.entries", "bookkeeper.bookie.id"
REACHES_BOOKIES = "bookkeeper.reaches_bookies"
"""The names of attributes; the last is false if requests go over V2, which cannot carry the ids of spans."""

CONTEXT_ROOM = 256
"""Bytes below the limit of a frame that an add leaves free if it carries the ids of its span."""

_Key = tuple[int, int]


class TracedOperation:
    """An append or a read that is traced; when it has ended it is the record of its span.

    :param records: gets the record.
    :param begun: the ids of the span.
    :param name: the name of the span.
    :ivar ids: the ids of the span.
    :ivar text: the same as ``traceparent``.
    :ivar attributes: the attributes of the span, a ledger id among them.
    :ivar n_requests: how many requests have been made for it.
    """

    __slots__ = ("ids", "text", "attributes", "n_requests", "records", "_parent", "_name", "_began", "_ended", "_error")

    def __init__(self, records: TraceRecords, begun: Begun, name: str, attributes: dict[str, str | int | bool]) -> None:
        self.ids, self._parent = begun
        self.text = self.ids.text
        self.attributes = attributes
        self.n_requests = 0
        self.records = records
        self._name = name
        self._began = records.seconds()
        self._ended = 0.0
        self._error: BaseException | None = None

    def end(self, error: BaseException | None) -> None:
        """End the span.

        :param error: the error that the caller gets; None if the operation has succeeded.
        """
        self._ended = self.records.seconds()
        self._error = error
        self.records.add(self)

    def end_with(self, result: T) -> T:
        """End the span with the ``result`` of a Deferred, with the error if it is a failure; return the result."""
        self.end(result.value if isinstance(result, Failure) else None)
        return result

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span.

        See :meth:`.IRecord.spans` for the parameter.
        """
        times = self._began, self._ended
        return (Span(self.ids, self._parent, self._name, SpanKind.INTERNAL, *times, self.attributes, self._error),)


class TracedRequest:
    """A request to one bookie for a traced operation; when it was answered it is the record of its span."""

    __slots__ = ("_operation", "_number", "_name", "_bookie_id", "_entry_id", "_began", "_ended", "_error")

    def __init__(self, operation: TracedOperation, name: str, bookie_id: str, entry_id: int) -> None:
        operation.n_requests += 1
        self._operation = operation
        self._number = operation.n_requests
        self._name = name
        self._bookie_id = bookie_id
        self._entry_id = entry_id
        self._began = operation.records.seconds()
        self._ended = 0.0
        self._error: BaseException | None = None

    @property
    def context(self) -> Mapping[str, str]:
        """The pairs that the request carries, so that spans of the bookie become parts of this span."""
        return {TRACEPARENT: part_text(self._operation.text, self._number)}

    def end(self, error: BaseException | None) -> None:
        """End the span.

        :param error: the error of the request; None if it has succeeded.
        """
        records = self._operation.records
        self._ended = records.seconds()
        self._error = error
        records.add(self)

    def end_with(self, result: T) -> T:
        """End the span with the ``result`` of a Deferred, with the error if it is a failure; return the result."""
        self.end(result.value if isinstance(result, Failure) else None)
        return result

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span.

        See :meth:`.IRecord.spans` for the parameter.
        """
        operation = self._operation
        ids, times = operation.ids, (self._began, self._ended)
        attributes = {LEDGER: operation.attributes[LEDGER], ENTRY: self._entry_id, BOOKIE: self._bookie_id}
        part = ids.part(self._number)
        return (Span(part, ids, self._name, SpanKind.CLIENT, *times, attributes, self._error),)


class AppendTraces:
    """The sampled appends of a client that have joined no sent batch yet.

    :param largest: most bytes of an add's frame that can carry the ids of a span as well.
    :ivar begin: decides which appends are sampled, see :meth:`.TraceRecords.begin`.
    :ivar tracer: decides that, too, in the same way for those who do it themselves.
    :ivar waiting: traced appends that were not sent yet, by ledger id and entry id.
    """

    def __init__(self, records: TraceRecords, largest: int) -> None:
        self.begin = records.begin
        self.tracer = records.tracer
        self.waiting: dict[_Key, TracedOperation] = {}
        self._records = records
        self._largest = largest

    def follow(self, begun: Begun, ledger_id: int, entry_id: int, count: int, waiter: "Deferred[int]") -> None:
        """Follow a sampled append.

        :param begun: the ids of its span.
        :param entry_id: id of the last of its entries, whose request stands for all.
        :param count: number of its entries.
        :param waiter: fires when the append has ended; called back, failed or cancelled, it ends the span.
        """
        attributes: dict[str, str | int | bool] = {LEDGER: ledger_id, ENTRY: entry_id, ENTRIES: count}
        append = TracedOperation(self._records, begun, APPEND, attributes)
        self.waiting[ledger_id, entry_id] = append
        waiter.addBoth(partial(self._ended, append, (ledger_id, entry_id)))

    def _ended(self, append: TracedOperation, key: _Key, result: T) -> T:
        if isinstance(result, Failure) and self.waiting.get(key) is append:
            del self.waiting[key]  # if it is sent at all, nobody waits for it
        return append.end_with(result)

    def refused(self, ledger_id: int, error: Exception) -> None:
        """Report an append that was refused, if it is sampled.

        :param error: the error that the caller gets.
        """
        begun = self.begin(APPEND)
        if begun is not None:
            TracedOperation(self._records, begun, APPEND, {LEDGER: ledger_id}).end(error)

    def through(
        self, bookies: "IBookieClient | TracedAdds", ledger_ids: Sequence[int], entry_ids: Sequence[int],
        reaches_bookies: bool,
    ) -> "TracedAdds | None":  # fmt: skip
        """Trace the sampled appends of a batch that is about to be sent.

        :param bookies: sends the requests.
        :param ledger_ids: the ledger of each of ``entry_ids``.
        :param reaches_bookies: whether the requests can carry the ids of spans.
        :returns: sends and traces the requests; None if no append of the batch is sampled.
        """
        found = [key for key in self.waiting if _place(ledger_ids, entry_ids, key) is not None]
        appends = {key: self.waiting.pop(key) for key in found}
        for append in appends.values():
            append.attributes[REACHES_BOOKIES] = reaches_bookies
        return TracedAdds(bookies, appends, self._largest) if appends else None


def _place(ledger_ids: Sequence[int], entry_ids: Sequence[int], key: _Key) -> int | None:
    """Return the index of an entry among others; None if it is not there."""
    ledger_id, entry_id = key
    if isinstance(entry_ids, range):  # all are of one ledger
        return entry_ids.index(entry_id) if entry_id in entry_ids and ledger_ids[0] == ledger_id else None
    place = -1
    while True:
        try:
            place = entry_ids.index(entry_id, place + 1)
        except ValueError:
            return None
        if ledger_ids[place] == ledger_id:
            return place


class TracedAdds:
    """Sends the adds of a batch with sampled appends: their requests are spans, and carry the ids of these spans."""

    __slots__ = ("_bookies", "_appends", "_largest")

    def __init__(
        self, bookies: "IBookieClient | TracedAdds", appends: Mapping[_Key, TracedOperation], largest: int
    ) -> None:
        self._bookies = bookies
        self._appends = appends
        self._largest = largest

    def add(self, bookie_id: str, adds: Adds, done: "AddsDone", fresh: bool) -> None:
        """Send adds to a bookie.

        See :meth:`.IBookieClient.add` for parameters.
        """
        requests = dict[int, TracedRequest]()
        for key, append in self._appends.items():
            index = _place(adds.ledger_ids, adds.entry_ids, key)
            if index is not None:
                requests[index] = TracedRequest(append, ADD_REQUEST, bookie_id, key[1])
        if requests:
            contexts = {
                index: request.context for index, request in requests.items()
                if adds.sizes((index,))[0] <= self._largest
            }  # fmt: skip
            adds, done = adds.carrying(contexts), partial(_answered, requests, done)
        self._bookies.add(bookie_id, adds, done, fresh)


def _answered(
    requests: dict[int, TracedRequest], done: "AddsDone", bookie_id: str, places: Sequence[int],
    error: Exception | None,
) -> None:  # fmt: skip
    """End the spans of answered requests, then tell the batch."""
    for index in [index for index in requests if index in places]:
        requests.pop(index).end(error)
    done(bookie_id, places, error)


class TracedReads:
    """The requests of one traced read; each is a span, and carries the ids of that span if it goes over V3.

    :param read: the read.
    """

    def __init__(self, bookies: IBookieClient, read: TracedOperation) -> None:
        self._bookies = bookies
        self._read = read

    def read_many(self, bookie_id: str, ledger_id: int, entry_ids: Sequence[int]) -> "Deferred[Any]":
        """Read several entries from a bookie.

        See :meth:`.IBookieClient.read_many` for parameters and errors.
        """
        return self._asked(bookie_id, ledger_id, entry_ids[0], self._bookies.read_many, entry_ids)

    def read_batch(self, bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int) -> "Deferred[Any]":
        """Read consecutive entries from a bookie.

        See :meth:`.IBookieClient.read_batch` for parameters and errors.
        """
        return self._asked(bookie_id, ledger_id, first, self._bookies.read_batch, first, max_count, max_size)

    def _asked(
        self, bookie_id: str, ledger_id: int, entry_id: int, ask: "Callable[..., Deferred[T]]", *arguments: Any
    ) -> "Deferred[T]":  # fmt: skip
        request = TracedRequest(self._read, READ_REQUEST, bookie_id, entry_id)
        return ask(bookie_id, ledger_id, *arguments, context=request.context).addBoth(request.end_with)

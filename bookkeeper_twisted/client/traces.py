"""The traces of a client: the spans of its sampled appends and reads, and of their requests to bookies.

When a batch of entries is sent, each add request of a sampled append gets the ids of a new span.  Over V3, the request
carries these ids to the bookie (:mod:`~bookkeeper_twisted.tracing`).  The span of the append ends when the Deferred of
the append fires.  The span of a request ends with its reply, which may come later.  When a span has ended,
:class:`.TraceRecords` stores its times, and reports the span to the tracer later.
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
"""The names of the spans of operations, and of the spans of their requests to bookies."""

LEDGER, ENTRY = "bookkeeper.ledger.id", "bookkeeper.entry.id"
ENTRIES, BOOKIE = "bookkeeper.entries", "bookkeeper.bookie.id"
REACHES_BOOKIES = "bookkeeper.reaches_bookies"
"""The names of attributes of spans.

``bookkeeper.reaches_bookies`` is false if the requests use V2, which cannot carry the ids of spans.
"""

CONTEXT_ROOM = 256
"""The ids of a span are added only to add requests that are at least this many bytes smaller than the largest frame."""

_Key = tuple[int, int]


class _Timed:
    """The times and the error of one operation or request, from which a span is made after the end of the operation.

    :ivar records: stores this object from the end of the operation until the span is made.
    """

    __slots__ = ("records", "_began", "_ended", "_error")

    def __init__(self, records: TraceRecords) -> None:
        self.records = records
        self._began = records.seconds()
        self._ended = 0.0
        self._error: BaseException | None = None

    def end(self, error: BaseException | None) -> None:
        """End the span now, and let :attr:`records` make and report it later.

        :param error: the error of the operation or request; None if it succeeded.
        """
        self._ended = self.records.seconds()
        self._error = error
        self.records.add(self)

    def end_with(self, result: T) -> T:
        """End the span, as a callback and errback of the Deferred of the operation or request; return ``result``."""
        self.end(result.value if isinstance(result, Failure) else None)
        return result

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span.

        :param span_ids: not used.
        """
        raise NotImplementedError


class TracedOperation(_Timed):
    """A traced append or read.

    :param records: stores this object from the end of the operation until the span is made.
    :param begun: the ids of the span and of its parent.
    :param name: the name of the span.
    :ivar ids: the ids of the span.
    :ivar text: these ids as ``traceparent``.
    :ivar attributes: the attributes of the span, among them the ledger id.
    :ivar n_requests: number of requests made for the operation so far.
    """

    __slots__ = ("ids", "text", "attributes", "n_requests", "_parent", "_name")

    def __init__(self, records: TraceRecords, begun: Begun, name: str, attributes: dict[str, str | int | bool]) -> None:
        super().__init__(records)
        self.ids, self._parent = begun
        self.text = self.ids.text
        self.attributes = attributes
        self.n_requests = 0
        self._name = name

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span of the operation.

        :param span_ids: not used.
        """
        times = self._began, self._ended
        return (Span(self.ids, self._parent, self._name, SpanKind.INTERNAL, *times, self.attributes, self._error),)


class TracedRequest(_Timed):
    """A request to one bookie for a traced operation; it ends with the reply."""

    __slots__ = ("_operation", "_number", "_name", "_bookie_id", "_entry_id")

    def __init__(self, operation: TracedOperation, name: str, bookie_id: str, entry_id: int) -> None:
        super().__init__(operation.records)
        operation.n_requests += 1
        self._operation = operation
        self._number = operation.n_requests
        self._name = name
        self._bookie_id = bookie_id
        self._entry_id = entry_id

    @property
    def context(self) -> Mapping[str, str]:
        """The ``requestContext`` to send in the request, so that the bookie makes its spans children of this span."""
        return {TRACEPARENT: part_text(self._operation.text, self._number)}

    def spans(self, span_ids: Iterator[int]) -> Iterable[Span]:
        """Make the span of the request.

        :param span_ids: not used.
        """
        operation = self._operation
        ids, times = operation.ids, (self._began, self._ended)
        attributes = {LEDGER: operation.attributes[LEDGER], ENTRY: self._entry_id, BOOKIE: self._bookie_id}
        part = ids.part(self._number)
        return (Span(part, ids, self._name, SpanKind.CLIENT, *times, attributes, self._error),)


class AppendTraces:
    """The sampled appends of a client that are not sent yet.

    :param largest: size in bytes of the largest add request to which the ids of a span can be added.
    :ivar begin: the method :meth:`.TraceRecords.begin`, which returns ids for a span if the append is sampled.
    :ivar decide: the method :meth:`.TraceRecords.decide`.
    :ivar tracer: the tracer of the client, which decides whether an append is sampled.
    :ivar waiting: sampled appends that are not sent yet, by ledger id and entry id.
    """

    def __init__(self, records: TraceRecords, largest: int) -> None:
        self.begin = records.begin
        self.decide = records.decide
        self.tracer = records.tracer
        self.waiting: dict[_Key, TracedOperation] = {}
        self._records = records
        self._largest = largest

    def follow(self, begun: Begun, ledger_id: int, entry_id: int, count: int, waiter: "Deferred[int]") -> None:
        """Trace a sampled append of one or several entries, until its batch is sent and its Deferred has fired.

        :param begun: the ids of the append's span and of the parent span.
        :param ledger_id: id of the ledger.
        :param entry_id: id of the last entry of the append.  Only the add requests for this entry get spans, not those
            for the other entries of the append.
        :param count: number of entries.
        :param waiter: the Deferred of the append; the span ends when it fires, fails or is cancelled.
        """
        attributes: dict[str, str | int | bool] = {LEDGER: ledger_id, ENTRY: entry_id, ENTRIES: count}
        append = TracedOperation(self._records, begun, APPEND, attributes)
        self.waiting[ledger_id, entry_id] = append
        waiter.addBoth(partial(self._ended, append, (ledger_id, entry_id)))

    def _ended(self, append: TracedOperation, key: _Key, result: T) -> T:
        if isinstance(result, Failure) and self.waiting.get(key) is append:
            del self.waiting[key]  # the append failed or was cancelled before it was sent
        return append.end_with(result)

    def refused(self, ledger_id: int, error: Exception) -> None:
        """Decide whether an append that was refused is sampled; if so, report its span, with the error.

        :param error: the error with which the append fails.
        """
        begun = self.begin(APPEND)
        if begun is not None:
            TracedOperation(self._records, begun, APPEND, {LEDGER: ledger_id}).end(error)

    def through(
        self, bookies: "IBookieClient | TracedAdds", ledger_ids: Sequence[int], entry_ids: Sequence[int],
        reaches_bookies: bool,
    ) -> "TracedAdds | None":  # fmt: skip
        """Trace the sampled appends in a batch that is about to be sent, and remove the appends from :attr:`waiting`.

        :param bookies: the object that sends the add requests.
        :param ledger_ids: the ledger id of each entry in the batch.
        :param entry_ids: the entry id of each entry in the batch.
        :param reaches_bookies: whether the protocol of the requests can send the ids of spans to the bookies.
        :returns: an object that sends and traces the requests; None if no append in the batch is sampled.
        """
        found = [key for key in self.waiting if _index_of(ledger_ids, entry_ids, key) is not None]
        appends = {key: self.waiting.pop(key) for key in found}
        for append in appends.values():
            append.attributes[REACHES_BOOKIES] = reaches_bookies
        return TracedAdds(bookies, appends, self._largest) if appends else None


def _index_of(ledger_ids: Sequence[int], entry_ids: Sequence[int], key: _Key) -> int | None:
    """Return the index of the entry with the ledger id and entry id ``key`` in a batch; None if it is not in it."""
    ledger_id, entry_id = key
    if isinstance(entry_ids, range):  # the ids are a range only if all entries are of one ledger: compare its id once
        return entry_ids.index(entry_id) if entry_id in entry_ids and ledger_ids[0] == ledger_id else None
    index = -1
    while True:
        try:
            index = entry_ids.index(entry_id, index + 1)
        except ValueError:
            return None
        if ledger_ids[index] == ledger_id:
            return index


class TracedAdds:
    """Sends the add requests of a batch, and traces the requests for sampled appends.

    Each traced request gets a span, and carries the ids of this span to the bookie if the protocol is V3.
    """

    __slots__ = ("_bookies", "_appends", "_largest")

    def __init__(
        self, bookies: "IBookieClient | TracedAdds", appends: Mapping[_Key, TracedOperation], largest: int
    ) -> None:
        self._bookies = bookies
        self._appends = appends
        self._largest = largest

    def add(self, bookie_id: str, adds: Adds, done: "AddsDone", fresh: bool) -> None:
        """Send adds to a bookie, and begin the spans of those that are traced.

        See :meth:`.IBookieClient.add` for parameters.
        """
        requests = dict[int, TracedRequest]()
        for key, append in self._appends.items():
            index = _index_of(adds.ledger_ids, adds.entry_ids, key)
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
    requests: dict[int, TracedRequest], done: "AddsDone", bookie_id: str, indexes: Sequence[int],
    error: Exception | None,
) -> None:  # fmt: skip
    """End the spans of the answered add requests, then call ``done`` of the batch.

    :param requests: the traced requests that are not answered yet, by the index of the entry in the batch.
    :param indexes: the indexes of the entries whose adds were answered.
    """
    for index in [index for index in requests if index in indexes]:
        requests.pop(index).end(error)
    done(bookie_id, indexes, error)


class TracedReads:
    """Sends the requests of one traced read.

    Each request gets a span, and carries the ids of this span to the bookie if the protocol is V3.
    """

    def __init__(self, bookies: IBookieClient, read: TracedOperation) -> None:
        self._bookies = bookies
        self._read = read

    def read_many(self, bookie_id: str, ledger_id: int, entry_ids: Sequence[int]) -> "Deferred[Any]":
        """Read several entries from a bookie, and trace the request.

        See :meth:`.IBookieClient.read_many` for parameters and errors.
        """
        return self._asked(bookie_id, ledger_id, entry_ids[0], self._bookies.read_many, entry_ids)

    def read_batch(self, bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int) -> "Deferred[Any]":
        """Read consecutive entries from a bookie, and trace the request.

        See :meth:`.IBookieClient.read_batch` for parameters and errors.
        """
        return self._asked(bookie_id, ledger_id, first, self._bookies.read_batch, first, max_count, max_size)

    def _asked(
        self, bookie_id: str, ledger_id: int, entry_id: int, ask: "Callable[..., Deferred[T]]", *arguments: Any
    ) -> "Deferred[T]":  # fmt: skip
        request = TracedRequest(self._read, READ_REQUEST, bookie_id, entry_id)
        return ask(bookie_id, ledger_id, *arguments, context=request.context).addBoth(request.end_with)

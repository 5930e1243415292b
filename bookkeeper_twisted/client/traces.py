"""The traces of a client: the spans of its sampled appends and reads, and of the requests to bookies for them.

An append that is sampled is known by ledger and entry id until its batch is sent.  Then each bookie that is to keep it
is one more span, whose ids the request carries (:mod:`~bookkeeper_twisted.tracing`).  The span of the append ends with
the Deferred of its caller, those of the requests with the answers, which may come later.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ..codec.adds import Adds
from ..tracing.interfaces import ITracer
from ..tracing.spans import Span, SpanKind
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


def end_with(tracer: ITracer, span: Span, result: T) -> T:
    """End a span with the result of a Deferred: with the error, if it is a failure; return the result.

    :param tracer: the tracer that began the span.
    """
    tracer.end(span, result.value if isinstance(result, Failure) else None)
    return result


class AppendTraces:
    """The spans of the sampled appends of a client that have joined no sent batch yet.

    :param largest: most bytes of an add's frame that can carry the ids of a span as well.
    :ivar tracer: decides which appends are sampled.
    :ivar waiting: spans of appends that were not sent yet, by ledger id and entry id.
    """

    def __init__(self, tracer: ITracer, largest: int) -> None:
        self.tracer = tracer
        self.waiting: dict[_Key, Span] = {}
        self._largest = largest

    def begun(self, span: Span, ledger_id: int, entry_id: int, count: int, waiter: "Deferred[int]") -> None:
        """Follow a sampled append.

        :param span: its span, which has begun.
        :param entry_id: id of the last of its entries, whose request stands for all.
        :param count: number of its entries.
        :param waiter: fires when the append has ended; called back, failed or cancelled, it ends the span.
        """
        span.attributes.update({LEDGER: ledger_id, ENTRY: entry_id, ENTRIES: count})
        self.waiting[ledger_id, entry_id] = span
        waiter.addBoth(partial(self._ended, span, (ledger_id, entry_id)))

    def _ended(self, span: Span, key: _Key, result: T) -> T:
        if isinstance(result, Failure) and self.waiting.get(key) is span:
            del self.waiting[key]  # if it is sent at all, nobody waits for it
        return end_with(self.tracer, span, result)

    def refused(self, ledger_id: int, error: Exception) -> None:
        """Report an append that was refused, if it is sampled.

        :param error: the error that the caller gets.
        """
        span = self.tracer.begin(APPEND)
        if span is not None:
            span.attributes[LEDGER] = ledger_id
            self.tracer.end(span, error)

    def take(self, ledger_ids: Sequence[int], entry_ids: Sequence[int], reaches_bookies: bool) -> "BatchTraces | None":
        """Remove the spans of the appends of a batch that is about to be sent.

        :param ledger_ids: the ledger of each of ``entry_ids``.
        :param reaches_bookies: whether the requests can carry the ids of spans.
        :returns: None if no append of the batch is sampled.
        """
        found: dict[int, Span] = {}
        for key, span in list(self.waiting.items()):
            place = _place(ledger_ids, entry_ids, key)
            if place is not None:
                span.attributes[REACHES_BOOKIES] = reaches_bookies
                found[place] = self.waiting.pop(key)
        return BatchTraces(self.tracer, found, self._largest) if found else None


def _place(ledger_ids: Sequence[int], entry_ids: Sequence[int], key: _Key) -> int | None:
    """Return the index of an entry in a batch; None if it is not there."""
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


@attrs.frozen(eq=False)
class BatchTraces:
    """The spans of the sampled appends of one batch, by index in the batch."""

    _tracer: ITracer
    _spans: Mapping[int, Span]
    _largest: int

    def send(
        self, bookies: IBookieClient, bookie_id: str, adds: Adds, places: Sequence[int], done: "AddsDone", fresh: bool
    ) -> None:  # fmt: skip
        """Send adds to a bookie, with a span for each that is sampled.

        :param adds: the add requests of the entries at ``places`` of the batch.
        :param done, fresh: see :meth:`.IBookieClient.add`.
        """
        spans = dict[int, Span]()
        for place, append in self._spans.items():
            if place in places:
                index = places.index(place)
                spans[index] = span = self._tracer.child(append.ids, ADD_REQUEST, SpanKind.CLIENT)
                ids = {LEDGER: adds.ledger_ids[index], ENTRY: adds.entry_ids[index]}
                span.attributes.update({**ids, BOOKIE: bookie_id})
        if spans:
            short = [index for index in spans if adds.sizes((index,))[0] <= self._largest]
            contexts = {index: spans[index].context for index in short}
            adds, done = adds.carrying(contexts), partial(self._answered, spans, done)
        bookies.add(bookie_id, adds, done, fresh)

    def _answered(
        self, spans: dict[int, Span], done: "AddsDone", bookie_id: str, places: Sequence[int], error: Exception | None
    ) -> None:  # fmt: skip
        """End the spans of answered requests, then tell the batch."""
        for index in [index for index in spans if index in places]:
            self._tracer.end(spans.pop(index), error)
        done(bookie_id, places, error)


class TracedReads:
    """The requests of one traced read; each is a span, and carries the ids of that span if it goes over V3.

    :param span: the span of the read.
    """

    def __init__(self, bookies: IBookieClient, tracer: ITracer, span: Span) -> None:
        self._bookies = bookies
        self._tracer = tracer
        self._span = span

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
        span = self._tracer.child(self._span.ids, READ_REQUEST, SpanKind.CLIENT)
        span.attributes.update({LEDGER: ledger_id, ENTRY: entry_id, BOOKIE: bookie_id})
        asked = ask(bookie_id, ledger_id, *arguments, context=span.context)
        return asked.addBoth(partial(end_with, self._tracer, span))

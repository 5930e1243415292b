"""The spans of appends and reads: a client, its connections and its bookies, without threads and sockets."""

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import IncorrectParameterError, LedgerClosedError, TooManyRequestsError
from bookkeeper_twisted.model import WriteFlag
from bookkeeper_twisted.testing.tracing import MemoryTracer, called_in
from bookkeeper_twisted.tracing.spans import Span, SpanKind
from bookkeeper_twisted.tracing.traceparent import SpanIds

from .cluster_case import ClusterCase, RealClusterCase

APPEND, REQUEST, ADD = "bookkeeper.append", "bookkeeper.add_request", "bookie.add"
GROUP = "bookie.journal_group"
CALLER = SpanIds(77, 78)


class Spans:
    """The spans of all that has ended.

    :param flush: reports what was not reported yet.
    """

    def __init__(self, tracer: MemoryTracer, flush: Callable[[], None]) -> None:
        self._tracer = tracer
        self._flush = flush

    @property
    def ended(self) -> list[Span]:
        """All of them, in the order of the reports."""
        self._flush()
        return self._tracer.ended

    def named(self, name: str) -> list[Span]:
        """Those with a name."""
        return [each for each in self.ended if each.name == name]

    def below(self, parent: Span, name: str) -> list[Span]:
        """Those that are parts of another one."""
        return [each for each in self.named(name) if each.parent == parent.ids]


class TracedCase(RealClusterCase):
    """A client of bookies on simulated disks; all of them have one tracer."""

    wire_protocol = "v3"

    def setUp(self) -> None:
        self.tracer = MemoryTracer()
        self.bookie_options = EngineOptions(tracer=self.tracer)
        super().setUp()
        self.spans = Spans(self.tracer, self.flush)

    def flush(self) -> None:
        """Report what has ended at the client and at the bookies."""
        for each in (self.bk.context.records, *[rig.engine.context.traces for rig in self.rigs.values()]):
            if each is not None:
                each.flush()

    def client(self, bookies: Any = None, **config: Any) -> BookKeeper:
        driver = self.store.driver(self.clock)
        self.do(driver.open())
        config = {"wire_protocol": self.wire_protocol, "trace_max_per_second": 0, **config}
        return BookKeeper(
            self.clock, driver, bookies or self.bookies, Random(3), ClientConfig(**config), tracer=self.tracer
        )

    def create(self, *sizes: int, **more: Any) -> Any:
        """A new writer."""
        ensemble, write_quorum, ack_quorum = sizes or (3, 3, 3)
        return self.do(self.bk.create_ledger(ensemble, write_quorum, ack_quorum, **more))


class AppendTests(TracedCase):
    """Appends over V3."""

    def test_limit(self) -> None:
        """However many appends there are, the client begins few traces a second by itself."""
        client = self.client(trace_max_per_second=1)
        writer = self.do(client.create_ledger(3, 3, 2))
        for _ in range(5):
            self.do(writer.append(b"x"))
        self.do(writer.append_many([b"x", b"y"]))
        assert client.context.records is not None
        client.context.records.flush()
        self.assertEqual(len(self.spans.named(APPEND)), 1)

    def test_one_trace(self) -> None:
        """An append is one trace: the append, a request to each bookie, and there the add, which ends with its
        reply, and its journal group, to which it has a link."""
        writer = self.create()
        self.do(writer.append(b"x"))
        (append,) = self.spans.named(APPEND)
        self.assertIsNone(append.parent)
        self.assertEqual(
            append.attributes,
            {
                "bookkeeper.ledger.id": writer.ledger_id, "bookkeeper.entry.id": 0, "bookkeeper.entries": 1,
                "bookkeeper.reaches_bookies": True,
            },
        )  # fmt: skip
        requests = self.spans.below(append, REQUEST)
        asked = {each.attributes["bookkeeper.bookie.id"] for each in requests}
        self.assertEqual(asked, set(writer.metadata.segments[0].bookies))
        for request in requests:
            self.assertEqual(request.kind, SpanKind.CLIENT)
            (add,) = self.spans.below(request, ADD)
            self.assertEqual((add.kind, add.error), (SpanKind.SERVER, None))
            (group,) = self.spans.below(add, GROUP)
            self.assertEqual(add.links, (group.ids,))
            self.assertEqual((group.attributes["bookkeeper.entries"], group.error), (1, None))
            self.assertEqual([name for name, _ in add.events], ["answered"])
        self.assertEqual(len(self.spans.ended), 1 + 3 * 3)
        self.assertEqual({each.ids.trace_id for each in self.spans.ended}, {append.ids.trace_id})

    def test_among_others(self) -> None:
        """A sampled append keeps its place among the others of the turn: one batch, one run, one journal group."""
        writer = self.create()
        self.tracer.every = 10
        appends = [writer.append(b"x%d" % number) for number in range(30)]
        self.settle()
        self.assertEqual([self.successResultOf(each) for each in appends], list(range(30)))
        self.assertEqual([a.attributes["bookkeeper.entry.id"] for a in self.spans.named(APPEND)], [9, 19, 29])
        adds, groups = self.spans.named(ADD), self.spans.named(GROUP)
        self.assertEqual((len(adds), len(groups)), (9, 3))
        self.assertEqual({group.attributes["bookkeeper.entries"] for group in groups}, {30})
        for group in groups:  # of each bookie: all of its traced adds have a link to it, and it is a part of the first
            linked = [add for add in adds if add.links == (group.ids,)]
            self.assertEqual(sorted(int(add.attributes["bookkeeper.entry.id"]) for add in linked), [9, 19, 29])
            self.assertEqual(linked[0].ids, group.parent)
        self.do(writer.close())
        reader = self.do(self.bk.open_ledger(writer.ledger_id))
        self.assertEqual([each.data for each in self.do(reader.read(0, 29))], [b"x%d" % n for n in range(30)])

    def test_ledgers_together(self) -> None:
        """Appends to several ledgers that share a batch have the spans of their own entries."""
        writers = [self.create() for _ in range(3)]
        for _ in range(2):
            for writer in writers:
                writer.append(b"x").addErrback(lambda _: None)
        self.settle()
        expected = sorted((w.ledger_id, entry_id) for w in writers for entry_id in range(2))
        for name, times in ((APPEND, 1), (REQUEST, 3), (ADD, 3)):
            ids = [each.attributes for each in self.spans.named(name)]
            found = sorted((int(a["bookkeeper.ledger.id"]), int(a["bookkeeper.entry.id"])) for a in ids)
            self.assertEqual(found, sorted(expected * times), name)
        for add in self.spans.named(ADD):
            (request,) = [each for each in self.spans.named(REQUEST) if each.ids == add.parent]
            for name in ("bookkeeper.ledger.id", "bookkeeper.entry.id"):
                self.assertEqual(add.attributes[name], request.attributes[name])

    def test_striped(self) -> None:
        """Only the bookies that keep an entry have a span of it."""
        writer = self.create(4, 2, 2)
        for _ in range(4):
            self.do(writer.append(b"x"))
        for append in self.spans.named(APPEND):
            asked = [each.attributes["bookkeeper.bookie.id"] for each in self.spans.below(append, REQUEST)]
            at = int(append.attributes["bookkeeper.entry.id"])
            ensemble = writer.metadata.segments[0].bookies
            self.assertEqual(set(asked), {ensemble[at % 4], ensemble[(at + 1) % 4]})
        self.assertEqual(len(self.spans.named(ADD)), 8)

    def test_many(self) -> None:
        """``append_many`` is one span with the number of entries; the request of the last entry stands for all."""
        writer = self.create()
        self.do(writer.append_many([b"x"] * 1500))
        (append,) = self.spans.named(APPEND)
        self.assertEqual(append.attributes["bookkeeper.entries"], 1500)
        self.assertEqual({add.attributes["bookkeeper.entry.id"] for add in self.spans.named(ADD)}, {1499})

    def test_ids_of_caller(self) -> None:
        """An entry that waits for a lower id is traced when it is sent."""
        writer = self.do(self.bk.create_ledger_adv(None, 3, 3, 3))
        later = writer.write(1, b"b")
        self.settle()
        self.assertEqual(self.spans.ended, [])
        self.do(writer.write(0, b"a"))
        self.successResultOf(later)
        self.assertEqual(len(self.spans.named(APPEND)), 2)
        self.assertEqual(len(self.spans.named(ADD)), 6)

    def test_caller(self) -> None:
        """The span of the caller is the parent, wherever the entry is sent from."""
        writer = self.create()
        self.tracer.every = 0
        with called_in(CALLER):
            appended = writer.append(b"x")
        self.settle()
        self.successResultOf(appended)
        (append,) = self.spans.named(APPEND)
        self.assertEqual(append.parent, CALLER)
        self.assertEqual({each.ids.trace_id for each in self.spans.ended}, {CALLER.trace_id})
        self.assertEqual(len(self.spans.named(ADD)), 3)

    def test_closed(self) -> None:
        """A client that closes reports the spans of the last moment."""
        writer = self.create()
        self.do(writer.append(b"x"))
        self.do(self.bk.close())
        self.assertIn(APPEND, {span.name for span in self.tracer.ended})

    def test_untraced(self) -> None:
        """What is not sampled leaves nothing, at the client or at the bookies."""
        self.tracer.every = 0
        writer = self.create()
        self.do(writer.append(b"x"))
        self.do(writer.append_many([b"x"]))
        self.assertEqual(self.spans.ended, [])

    def test_largest(self) -> None:
        """The largest entry is sent, although there is no room for the ids of its span in its frame."""
        self.bk = self.client(netty_max_frame_size_bytes=5 << 20)
        writer = self.create()
        self.do(writer.append(bytes(writer._largest)))
        self.assertEqual((len(self.spans.named(REQUEST)), self.spans.named(ADD)), (3, []))

    def test_deferred_sync(self) -> None:
        """Entries that are acknowledged before the sync have a journal group, too: that which wrote them."""
        writer = self.create(write_flags=WriteFlag.DEFERRED_SYNC)
        self.do(writer.append(b"x"))
        self.assertEqual((len(self.spans.named(ADD)), len(self.spans.named(GROUP))), (3, 3))


class FailureTests(TracedCase):
    """Appends that fail."""

    def test_refused(self) -> None:
        """A refused append is a span with its error."""
        writer = self.create()
        self.error(writer.append(bytes(6 << 20)), IncorrectParameterError)
        self.do(writer.close())
        self.error(writer.append(b"x"), LedgerClosedError)
        self.error(writer.append_many([b"x"]), LedgerClosedError)
        errors = [type(each.error) for each in self.spans.named(APPEND)]
        self.assertEqual(errors, [IncorrectParameterError, LedgerClosedError, LedgerClosedError])

    def test_replaced(self) -> None:
        """The request to a bookie that is lost ends with its error; that to its substitute is one more."""
        writer = self.create()
        self.do(writer.append(b"x"))
        self.spans.ended.clear()
        gone = writer.metadata.segments[0].bookies[0]
        del self.network.listeners[gone.split(":")[0], 1]
        self.network.break_connections((gone.split(":")[0], 1))
        self.do(writer.append(b"y"))
        (append,) = self.spans.named(APPEND)
        requests = self.spans.below(append, REQUEST)
        self.assertEqual(len(requests), 4)
        (failed,) = [each for each in requests if each.error is not None]
        self.assertEqual(failed.attributes["bookkeeper.bookie.id"], gone)
        self.assertEqual((append.error, len(self.spans.named(ADD))), (None, 3))

    def test_cancelled(self) -> None:
        """A caller that does not wait any more ends its span; the requests end when they are answered."""
        writer = self.create()
        appended = writer.append(b"x")
        self.clock.advance(0)
        appended.cancel()
        self.failureResultOf(appended, CancelledError)
        (append,) = self.spans.ended
        self.assertIsInstance(append.error, CancelledError)
        self.settle()
        self.assertEqual([each.error for each in self.spans.below(append, REQUEST)], [None] * 3)

    def test_cancelled_early(self) -> None:
        """So does one whose entry is not sent yet, of which nothing is kept."""
        writer = self.create()
        appended = writer.append(b"x")
        appended.cancel()
        self.failureResultOf(appended, CancelledError)
        self.assertEqual(self.bk.context.traces.waiting, {})  # type: ignore[union-attr]
        self.settle()
        self.assertEqual(len(self.spans.ended), 1)

    def test_held_back(self) -> None:
        """An append that waits for room is followed, too; when there is too much it is refused."""
        self.bk = self.client(max_in_flight_bytes=200)
        writer = self.create()
        appends = [writer.append(bytes(100)) for _ in range(3)]
        self.error(writer.append(bytes(100)), TooManyRequestsError)
        for each in appends:
            self.do(each)
        self.assertEqual(len(self.spans.named(APPEND)), 4)
        self.assertEqual(len(self.spans.named(ADD)), 9)

    def test_journal(self) -> None:
        """An add that the journal of a bookie fails ends with that error, without a group."""
        writer = self.create()
        self.do(writer.append(b"x"))
        self.spans.ended.clear()
        for rig in self.rigs.values():
            rig.fail("fdatasync", "/journal0")
            rig.fail("sync", "/journal0")
            rig.fail("write", "/journal0")
        writer.append(b"y").addErrback(lambda _: None)
        with capturedLogs() as events:
            self.settle()
        failed = [each for each in self.spans.named(ADD) if each.error is not None]
        self.assertTrue(failed)
        self.assertEqual({tuple(each.links) for each in failed}, {()})
        self.assertTrue([event for event in events if "nothing more is acknowledged" in formatEvent(event)])


class V2Tests(TracedCase):
    """Appends over V2, which cannot carry ids."""

    wire_protocol = "auto"

    def test_append(self) -> None:
        """The spans of the client are there, and say that those of the bookies are missing."""
        writer = self.create()
        self.do(writer.append(b"x"))
        (append,) = self.spans.named(APPEND)
        self.assertIs(append.attributes["bookkeeper.reaches_bookies"], False)
        self.assertEqual((len(self.spans.below(append, REQUEST)), self.spans.named(ADD)), (3, []))


class ReadTests(TracedCase):
    """Reads over V3."""

    def setUp(self) -> None:
        super().setUp()
        self.tracer.every = 0
        writer = self.create()
        self.do(writer.append_many([b"%d" % number for number in range(10)]))
        self.do(writer.close())
        self.reader = self.do(self.bk.open_ledger(writer.ledger_id))
        self.tracer.every = 1

    def chain(self, read: str, served: str) -> list[Span]:
        """The requests of the only read, each with what a bookie did for it."""
        (first,) = self.spans.named(read)
        self.assertEqual(first.attributes, {"bookkeeper.ledger.id": self.reader.ledger_id})
        requests = self.spans.below(first, "bookkeeper.read_request")
        for request in requests:
            (found,) = self.spans.below(request, served)
            self.assertEqual((found.kind, found.error), (SpanKind.SERVER, None))
            self.assertEqual([name for name, _ in found.events], ["answered"])
        return requests

    def test_batch(self) -> None:
        """A batch read is a trace through the bookie that answers."""
        self.assertEqual(len(self.do(self.reader.read_batch(0))), 10)
        self.assertEqual(len(self.chain("bookkeeper.read_batch", "bookie.batch_read")), 1)

    def test_single(self) -> None:
        """So are reads of single entries, of which the first carries the ids."""
        self.bk = self.client(batch_read_enabled=False)
        self.tracer.every = 0
        self.reader = self.do(self.bk.open_ledger(self.reader.ledger_id))
        self.tracer.every = 1
        self.assertEqual(self.do(self.reader.read_entry(3)).data, b"3")
        (request,) = self.chain("bookkeeper.read", "bookie.read")
        self.assertEqual(request.attributes["bookkeeper.entry.id"], 3)

    def test_failed(self) -> None:
        """A read that fails ends its spans with the error, at the bookie, too."""
        error = self.error(self.reader.read_unconfirmed(50, 50), Exception)
        (read,) = self.spans.named("bookkeeper.read")
        self.assertIs(read.error, error)
        served = self.spans.named("bookie.batch_read") + self.spans.named("bookie.read")
        self.assertTrue(served)
        self.assertTrue(all(each.error is not None for each in served))

    def test_bad_argument(self) -> None:
        """So does one that is refused."""
        self.error(self.reader.read(3, 2), IncorrectParameterError)
        self.assertIsInstance(self.spans.ended[0].error, IncorrectParameterError)

    def test_cancelled(self) -> None:
        """A read that is cancelled ends its spans."""
        reading = self.reader.read(0, 9)
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        errors = {each.name: type(each.error) for each in self.spans.ended}
        self.assertEqual(errors, {"bookkeeper.read_request": CancelledError, "bookkeeper.read": CancelledError})


class MemoryBookieTests(ClusterCase):
    """A client of bookies that know nothing of traces."""

    def test_append(self) -> None:
        """Spans of the client end with the errors of the bookies."""
        tracer = MemoryTracer()
        driver = self.store.driver(self.clock)
        self.do(driver.open())
        client = BookKeeper(self.clock, driver, self.bookies, Random(3), tracer=tracer)
        writer = self.do(client.create_ledger(4, 4, 4))
        for bookie_id in writer.metadata.segments[0].bookies:
            self.bookies[bookie_id].up = False
        appended: Deferred[int] = writer.append(b"x")
        self.clock.pump([0.1] * 20)
        self.failureResultOf(appended)
        self.do(client.close())
        errors = [each.error for each in tracer.ended]
        self.assertEqual(len(errors), 5)
        self.assertNotIn(None, errors)

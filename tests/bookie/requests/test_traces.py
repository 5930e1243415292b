"""The spans of a bookie, and the request context (string keys and values) in the log lines about a request."""

import json
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.codec.adds import stored_adds
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import ForceLedgerRequest, Header, ReadRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.runs import AddReplies
from bookkeeper_twisted.codec.varints import bytes_field
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import LedgerFencedError, NoSuchEntryError, Status
from bookkeeper_twisted.logs.json_lines import json_line
from bookkeeper_twisted.testing.tracing import MemoryTracer
from bookkeeper_twisted.tracing.spans import Span
from bookkeeper_twisted.tracing.traceparent import SpanIds

from ..rig import KEY, Peer, Rig, run

CALLER = SpanIds(5, 6)
TRACED = {"traceparent": CALLER.text, "tenant": "acme"}


def with_pairs(*pairs: tuple[bytes, bytes]) -> bytes:
    """The encoded pairs of a request, whatever their bytes are."""
    fields = [bytes_field(b"\x0a", name) + bytes_field(b"\x12", value) for name, value in pairs]
    return b"".join([bytes_field(b"\xc2\x0c", each) for each in fields])


class TracedBookieCase(SynchronousTestCase):
    """A bookie with a tracer, and a client at 10.0.0.7."""

    options: dict[str, Any] = {}

    def setUp(self) -> None:
        self.tracer = MemoryTracer(0)
        self.rig = Rig(options=EngineOptions(tracer=self.tracer, **self.options))
        self.rig.engine.context.slow.limit(100)
        self.peer = Peer(self.rig.engine.factory.buildProtocol(IPv4Address("TCP", "10.0.0.7", 5)))

    def add(self, first: int, count: int, *carrying: int, pairs: dict[str, str] = TRACED, key: bytes = KEY) -> None:
        """Sends adds to ledger 1, some of which carry pairs."""
        adds = stored_adds(key, run(1, first, count))
        self.peer.send(V3.encode_adds(adds.carrying(dict.fromkeys(carrying, pairs)), 1)[0])

    def ended(self) -> list[Span]:
        """All spans, after what was not reported yet has been."""
        assert self.rig.engine.context.traces is not None
        self.rig.engine.context.traces.flush()
        return self.tracer.ended

    def named(self, name: str) -> list[Span]:
        """The spans with a name."""
        return [each for each in self.ended() if each.name == name]


class LimitTests(TracedBookieCase):
    """How many requests are traced at most."""

    options = {"max_traced": 1}

    def test_flood(self) -> None:
        """A client that marks all its requests as sampled gets spans of one a second."""
        for second in range(3):
            self.add(20 * second, 20, *range(20))
            self.rig.drain()
            self.rig.clock.advance(1)
        self.assertEqual([each.began for each in self.named("bookie.add")], [0.0, 1.0, 2.0])

    def test_not_sampled(self) -> None:
        """Requests of traces that are not sampled take nothing of it."""
        self.add(0, 20, *range(19), pairs={"traceparent": CALLER._replace(is_sampled=False).text})
        self.add(20, 1, 0)
        self.rig.drain()
        self.assertEqual(len(self.named("bookie.add")), 1)


class SpanTests(TracedBookieCase):
    """The spans of requests."""

    def test_times(self) -> None:
        """An add lasts from its arrival to the write of its reply, its group from the queue to the sync."""
        self.add(0, 20, 3, 17)
        self.rig.clock.advance(0.25)
        self.assertEqual(self.ended(), [])
        self.rig.drain()
        first, second = self.named("bookie.add")
        self.assertEqual([each.attributes for each in (first, second)], [
            {"bookkeeper.ledger.id": 1, "bookkeeper.entry.id": entry_id, "network.peer": "10.0.0.7:5"}
            for entry_id in (3, 17)
        ])  # fmt: skip
        self.assertEqual((first.parent, first.began, first.ended), (CALLER, 0.0, 0.25))
        self.assertEqual(first.events, (("answered", 0.25),))
        (group,) = self.named("bookie.journal_group")
        self.assertEqual((group.began, group.ended, group.parent), (0.25, 0.25, first.ids))
        self.assertEqual((first.links, second.links), ((group.ids,),) * 2)
        self.assertTrue(self.peer.replies())

    def test_refused(self) -> None:
        """An add that is refused ends with the error, and with no group."""
        self.add(0, 1)
        self.rig.drain()
        self.rig.bookie.fence(1, KEY)
        self.rig.drain()
        self.add(1, 2, 1)
        (refused,) = self.named("bookie.add")
        self.assertIsInstance(refused.error, LedgerFencedError)
        self.assertEqual(refused.links, ())

    def test_not_sampled(self) -> None:
        """A trace that is not sampled, or no valid one, has no spans, and is no error."""
        for text in (CALLER._replace(is_sampled=False).text, CALLER.text + "0", "", "\N{SNOWMAN}" * 55):
            self.add(0, 10, 5, pairs={"traceparent": text})
        self.add(0, 10, 5, pairs={"tenant": "acme"})
        self.rig.drain()
        self.assertEqual((self.ended(), self.peer.ended), ([], False))

    def test_stopped(self) -> None:
        """A bookie that stops reports all spans first, and leaves no timer."""
        self.add(0, 1, 0)
        self.rig.drain()
        stopped = Deferred.fromCoroutine(self.rig.engine.stop())
        self.peer.leave()
        self.rig.drain()
        self.successResultOf(stopped)
        self.assertEqual([each.name for each in self.tracer.ended], ["bookie.journal_group", "bookie.add"])
        self.assertEqual(self.rig.clock.getDelayedCalls(), [])

    def test_gone_peer(self) -> None:
        """The adds of a peer that is gone are done, and so are their spans."""
        self.add(0, 1, 0)
        self.peer.leave()
        self.rig.drain()
        self.assertEqual(len(self.named("bookie.add")), 1)

    def test_rare(self) -> None:
        """Any other request of V3 that carries a traceparent has a span, too, with the error that it ends with."""
        self.add(0, 1)
        self.rig.drain()
        force = ForceLedgerRequest(Header(V3, 3, Operation.FORCE_LEDGER, 7, 0, TRACED), 1)
        fencing = ReadRequest(Header(V3, 3, Operation.READ, 8, 0, TRACED), 1, 99, True, master_key=KEY)
        self.peer.send(V3.encode_request(force) + V3.encode_request(fencing))
        self.rig.drain()
        (forced,), (read,) = self.named("bookie.force_ledger"), self.named("bookie.read_entry")
        self.assertEqual((forced.error, forced.parent), (None, CALLER))
        self.assertIsInstance(read.error, NoSuchEntryError)

    def test_reads(self) -> None:
        """Reads of one chunk have the spans of those that are traced: from memory, of a missing entry, of the last."""
        self.add(0, 10)
        self.rig.drain()
        for number, entry_id in enumerate((3, 50, -1)):
            self.peer.send(V3.encode_reads(1, [entry_id, 4], 10 * number, TRACED))
        self.rig.drain()
        found = {each.attributes["bookkeeper.entry.id"]: type(each.error) for each in self.named("bookie.read")}
        self.assertEqual(found, {3: type(None), 50: NoSuchEntryError, -1: type(None)})


class UnjournaledTests(TracedBookieCase):
    """A bookie that does not write entries to a journal."""

    options = {"bookie": BookieOptions(write_data=False)}

    def test_add(self) -> None:
        """An add has a span, and there is no group."""
        self.add(0, 1, 0)
        (add,) = self.ended()
        self.assertEqual((add.name, add.links), ("bookie.add", ()))


class LogCase(TracedBookieCase):
    """Lines about requests."""

    def slow(self, data: bytes) -> list[Any]:
        """The fields of the lines about requests that take long, as a collector of logs gets them."""
        with capturedLogs() as events:
            self.peer.send(data)
            self.rig.clock.advance(0.25)
            self.rig.drain()
        lines = [json_line(event) for event in events if "requests" in event["log_namespace"]]
        return [json.loads(line)["fields"] for line in lines if line]


class LogTests(LogCase):
    """Those of a bookie with ``preserveMdcForTaskExecution``."""

    options = {"keeps_context": True}

    def test_slow(self) -> None:
        """A slow request has the pairs as one field; one without pairs has no such field."""
        adds = stored_adds(KEY, run(1, 0, 20))
        (fields,) = self.slow(V3.encode_adds(adds.carrying({7: TRACED}), 1)[0])
        self.assertEqual(fields["request_context"], TRACED)
        force = ForceLedgerRequest(Header(V3, 3, Operation.FORCE_LEDGER, 7, 0, TRACED), 1)
        (fields,) = self.slow(V3.encode_request(force))
        self.assertEqual((fields["operation"], fields["request_context"]), ("FORCE_LEDGER", TRACED))

    def test_forged(self) -> None:
        """A stranger's pairs stay one field of one line, which cannot replace another field."""
        forged = {"ledger_id": "9\n2026-11-26 all is well", "log_level": "\x1b[2J", "x" * 600: "y"}
        adds = stored_adds(KEY, run(1, 0, 1))
        (fields,) = self.slow(V3.encode_adds(adds.carrying({0: forged}), 1)[0])
        expected = {"ledger_id": "9?2026-11-26 all is well", "log_level": "?[2J"}
        self.assertEqual((fields["ledger_id"], fields["request_context"]), (1, expected))

    def test_unforeseen(self) -> None:
        """So does a line about an unforeseen error."""

        def broken(*args: object) -> None:
            raise RuntimeError("broken")

        self.patch(self.rig.bookie, "force", broken)
        force = ForceLedgerRequest(Header(V3, 3, Operation.FORCE_LEDGER, 7, 0, TRACED), 1)
        (fields,) = [f for f in self.slow(V3.encode_request(force)) if "error" in f]
        self.assertEqual(fields["request_context"], TRACED)


class NonsenseTests(TracedBookieCase):
    """A peer whose pairs make no sense: a bookie that traces, and logs the pairs, takes the requests and no more."""

    options = {"keeps_context": True}

    NONSENSE = {
        "fields": with_pairs(*[(b"n%d" % number, b"v") for number in range(100_000)]),
        "same": with_pairs(*[(b"traceparent", b"x")] * 1000, (b"traceparent", CALLER.text.encode())),
        "long": with_pairs((b"traceparent", b"v" * (1 << 20))),
        "long name": with_pairs((b"n" * (1 << 20), b"v")),
        "bytes": with_pairs((b"traceparent", b"\xff" * 55), (b"\xc3\x28", b"\xed\xa0\x80")),
        "form": with_pairs((b"traceparent", CALLER.text.replace("-", "_").encode())),
        "zeros": with_pairs((b"traceparent", b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01")),
        "version": with_pairs((b"traceparent", b"ff" + CALLER.text.encode()[2:])),
        "case": with_pairs((b"traceparent", SpanIds(0xABC, 0xDEF).text.upper().encode())),
        "empty": with_pairs((b"", b""), (b"traceparent", b"")),
    }

    def test_ignored(self) -> None:
        """Each add is acknowledged, alone and among others; there are no spans, and no line of the log."""
        entry_id = 0
        with capturedLogs() as events:
            for name, pairs in self.NONSENSE.items():
                for before, after in ((0, 0), (20, 20)):
                    frames = [V3.encode_adds(stored_adds(KEY, run(1, entry_id + at, 1)), at)[0] for at in range(41)]
                    message = frames[before][4:] + pairs
                    frames[before] = len(message).to_bytes(4, "big") + message
                    count = before + 1 + after
                    self.peer.send(b"".join(frames[:count]))
                    self.rig.drain()
                    decoder, answered = ClientDecoder(V3), list[int]()
                    for reply in decoder.receive(self.peer.replies()):
                        assert isinstance(reply, AddReplies)
                        self.assertEqual(reply.status, Status.EOK)
                        answered += reply.entry_ids
                    self.assertEqual(answered, list(range(entry_id, entry_id + count)), name)
                    entry_id += count
        self.assertEqual((self.ended(), [event["log_format"] for event in events]), ([], []))
        self.assertFalse(self.peer.ended)

    def test_slow(self) -> None:
        """The line about a slow request has few of them, and few characters."""
        for pairs in self.NONSENSE.values():
            with capturedLogs() as events:
                message = V3.encode_adds(stored_adds(KEY, run(1, 0, 1)), 1)[0][4:] + pairs
                self.peer.send(len(message).to_bytes(4, "big") + message)
                self.rig.clock.advance(100)  # the lines of an operation come at most once a minute
                self.rig.drain()
            (line,) = [str(json_line(event)) for event in events if "slow_requests" in event["log_namespace"]]
            self.assertLess(len(line), 2000)


class PlainLogTests(LogCase):
    """Those of a bookie without that key, as by default."""

    def test_slow(self) -> None:
        """There are no pairs in the line about a slow request."""
        adds = stored_adds(KEY, run(1, 0, 20))
        (fields,) = self.slow(V3.encode_adds(adds.carrying({7: TRACED}), 1)[0])
        self.assertNotIn("request_context", fields)

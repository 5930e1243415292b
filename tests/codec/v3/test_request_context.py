"""The request context of V3 requests: string keys and values after the fields of the operation."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.adds import Adds, stored_adds
from bookkeeper_twisted.codec.connection import ClientDecoder, ServerDecoder
from bookkeeper_twisted.codec.messages import ForceLedgerRequest, Header, ReadRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.protobuf import wire_pb
from bookkeeper_twisted.codec.runs import AddRun, BatchRead, ReadRun
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.v3.columns import add_columns, traced_add_columns
from bookkeeper_twisted.codec.v3.request_context import (
    MOST_CHARACTERS,
    MOST_PAIRS,
    TRACE_SIZE,
    decode_context,
    with_context,
)
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.tracing.traceparent import SpanIds

from ...bookie.rig import KEY, run

PAIRS = {"traceparent": "00-1-2-01", "request": "\N{SNOWMAN} 7"}


def _received(frames: bytes) -> list[Any]:
    decoder = ServerDecoder()
    items = list(decoder.receive_all(frames))
    assert decoder.error is None and not decoder.incomplete
    return items


def _context(*pairs: tuple[str, str]) -> Any:
    """The field with these pairs, as a bookie receives it."""
    request = wire_pb.Request()
    for name, value in pairs:
        request.requestContext.add(key=name, value=value)
    return request.requestContext


class FrameTests(SynchronousTestCase):
    """What the client sends."""

    @settings(max_examples=40)
    @given(st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=3))
    def test_protobuf(self, pairs: dict[str, str]) -> None:
        """The library decodes the pairs and the request as they were, whatever the sizes."""
        plain = requests_out.encode_reads(7, [3], 0, 1)
        frame = with_context(plain, pairs)
        self.assertEqual(int.from_bytes(frame[:4], "big"), len(frame) - 4)
        request = wire_pb.Request.FromString(frame[4:])
        self.assertEqual({pair.key: pair.value for pair in request.requestContext}, pairs)
        request.ClearField("requestContext")
        self.assertEqual(request, wire_pb.Request.FromString(plain[4:]))

    def test_none(self) -> None:
        """Without pairs a frame is as ever."""
        self.assertIs(with_context(frame := b"\0\0\0\0", None), frame)
        self.assertIs(with_context(frame, {}), frame)


    def test_other_traceparents(self) -> None:
        """A text named ``traceparent`` that has not the usual form is a pair like any other."""
        for value in ("", "x", "x" * 54, "x" * 56, "x" * 54 + "\N{SNOWMAN}", "\N{SNOWMAN}" * 55):
            pairs = {"traceparent": value}
            (found,) = _received(with_context(requests_out.encode_reads(5, [1], 0, 1), pairs))
            self.assertEqual(found.contexts, {(5, 1): pairs})


class RunTests(SynchronousTestCase):
    """Requests with pairs among others without."""

    def adds(self, count: int, *carrying: int, pairs: dict[str, str] | None = None, data: bytes = b"payload") -> Adds:
        """Adds of ledger 5 from entry 1000 on, whose ids have one size; some carry pairs."""
        adds = stored_adds(KEY, run(5, 1000, count, data))
        return adds.carrying(dict.fromkeys(carrying, pairs or PAIRS)) if carrying else adds

    def test_adds(self) -> None:
        """They are one run with the others, which knows who carries what; the entries are the same bytes."""
        trace = {"traceparent": SpanIds(7, 9).text}
        for indexes in ((0,), (59,), (7, 8, 40), (1, 2, 3, 4, 5), (30, 58, 59), tuple(range(60))):
            for pairs in (PAIRS, trace):
                (found,) = _received(V3.encode_adds(self.adds(60, *indexes, pairs=pairs), 9000)[0])
                (plain,) = _received(V3.encode_adds(self.adds(60), 9000)[0])
                self.assertIsInstance(found, AddRun)
                self.assertEqual(found.contexts, {(5, 1000 + index): pairs for index in indexes})
                self.assertEqual(found.entries.data, plain.entries.data)
                self.assertEqual(list(found.txn_ids), list(plain.txn_ids))
                self.assertIsNone(plain.contexts)

    def test_together(self) -> None:
        """Adds that carry nothing but a traceparent are decoded together with the others, by columns."""
        trace = {"traceparent": SpanIds(7, 9).text}
        frames = V3.encode_adds(self.adds(60, 7, 8, 40, pairs=trace), 9000)[0]
        found = add_columns(frames, 0, 4 + int.from_bytes(frames[:4], "big"))
        assert found is not None
        self.assertEqual((list(found.contexts), len(found.bodies)), ([7, 8, 40], 60))
        self.assertEqual(found.context_size, len(frames) - len(V3.encode_adds(self.adds(60), 9000)[0]))

    def test_all_together(self) -> None:
        """So are adds of which all carry one, or the first and others do, up to the first with another master key."""
        trace = {"traceparent": SpanIds(7, 9).text}
        for indexes in (tuple(range(60)), (0, 1, 30), (0, 1, 59)):
            frames = V3.encode_adds(self.adds(60, *indexes, pairs=trace), 9000)[0]
            others = V3.encode_adds(stored_adds(b"\x01" * len(KEY), run(5, 1060, 9)).carrying({0: trace}), 9060)[0]
            for data in (frames, frames + others):
                found = traced_add_columns(data, 0, 4 + int.from_bytes(frames[:4], "big"))
                assert found is not None
                self.assertEqual((list(found.contexts), len(found.bodies)), (list(indexes), 60))
                self.assertEqual(found.context_size, len(indexes) * TRACE_SIZE)
                received = _received(data)
                self.assertEqual(received[0].contexts, {(5, 1000 + index): trace for index in indexes})
                self.assertEqual(received[0].entries.data, run(5, 1000, 60).data)
                self.assertEqual([len(each.txn_ids) for each in received[1:]], [] if data is frames else [9])

    def test_longer_ids(self) -> None:
        """Where ids become longer within a series they are decoded one by one, with what they carry."""
        trace = {"traceparent": SpanIds(7, 9).text}
        adds = stored_adds(KEY, run(5, 16370, 60)).carrying(dict.fromkeys(range(60), trace))
        (found,) = _received(V3.encode_adds(adds, 9000)[0])
        self.assertEqual(found.contexts, {(5, 16370 + index): trace for index in range(60)})

    def test_two(self) -> None:
        """Of two traceparents in each frame of a series the last counts."""
        one, two = ({"traceparent": SpanIds(7, number).text} for number in (8, 9))
        frames = [with_context(V3.encode_adds(self.adds(60).some((n,)), n)[0], one) for n in range(60)]
        (found,) = _received(b"".join([with_context(frame, two) for frame in frames]))
        self.assertEqual(found.contexts, {(5, 1000 + index): two for index in range(60)})

    def test_pieces(self) -> None:
        """Wherever the received bytes are cut, the same adds carry the same."""
        frames = V3.encode_adds(self.adds(40, 9, 20, 39, pairs={"traceparent": SpanIds(7, 9).text}), 9000)[0]
        for cut in range(1, len(frames), 7):
            decoder = ServerDecoder()
            runs = [*decoder.receive_all(frames[:cut]), *decoder.receive_all(frames[cut:])]
            carried = [ids for each in runs for ids in each.contexts or ()]  # type: ignore[attr-defined]
            self.assertEqual(carried, [(5, 1009), (5, 1020), (5, 1039)])
            entries = b"".join([each.entries.data for each in runs])  # type: ignore[attr-defined]
            self.assertEqual(entries, run(5, 1000, 40).data)

    def test_alike(self) -> None:
        """An entry that looks like a traceparent is an entry."""
        head = with_context(b"\0\0\0\0", {"traceparent": SpanIds(7, 9).text})[4:]
        for data in (head, b"x" * 20 + head, head[:20], head * 3):
            (found,) = _received(V3.encode_adds(self.adds(60, data=data), 9000)[0])
            self.assertEqual((found.contexts, found.entries.data), (None, run(5, 1000, 60, data).data))
            (found,) = _received(V3.encode_adds(self.adds(60, 30, data=data), 9000)[0])
            self.assertEqual((list(found.contexts), found.entries.data), ([(5, 1030)], run(5, 1000, 60, data).data))

    def test_v2(self) -> None:
        """V2 cannot carry them: it sends the same bytes as without, encoded once for all bookies."""
        adds = self.adds(3)
        first = V2.encode_adds(adds, 0)
        self.assertEqual(V2.encode_adds(adds.carrying({1: PAIRS}), 0), first)
        adds.encodings[V2] = first
        self.assertIs(adds.carrying({1: PAIRS}).encodings, adds.encodings)

    def test_some(self) -> None:
        """A part of the adds, for another bookie, carries nothing: the pairs belong to one request."""
        self.assertIsNone(self.adds(3, 1).some((0, 1)).contexts)

    def test_refused(self) -> None:
        """An add that is refused when it is decoded leaves nothing for the next run."""
        bad = with_context(requests_out.encode_adds(KEY, 9, 0, [b"short"], 0, False, 1), PAIRS)
        rejected, found = _received(bad + V3.encode_adds(self.adds(1), 2)[0])
        self.assertEqual((rejected.header.txn_id, found.contexts), (1, None))

    def test_reads(self) -> None:
        """The first of the reads that were sent together carries the pairs, within one run."""
        (found,) = _received(V3.encode_reads(5, range(40), 1, PAIRS))
        self.assertIsInstance(found, ReadRun)
        self.assertEqual((found.contexts, list(found.entry_ids)), ({(5, 0): PAIRS}, list(range(40))))
        self.assertEqual(V2.encode_reads(5, range(2), 0, PAIRS), V2.encode_reads(5, range(2), 0))

    def test_batch_read(self) -> None:
        """So does a batch read; V2 leaves them out."""
        read = V3.batch_read(5, 0, 9, 10, 1000)
        plain = V3.encode_batch_read(read)
        read.carry(PAIRS)
        (found,) = _received(V3.encode_batch_read(read))
        self.assertIsInstance(found, BatchRead)
        self.assertEqual((found.ledger_id, found.context), (5, PAIRS))
        (found,) = _received(plain)
        self.assertFalse(found.context)
        other = V2.batch_read(5, 0, 9, 10, 1000)
        other.carry(PAIRS)
        self.assertEqual(_received(V2.encode_batch_read(other))[0].context, None)

    def test_rare(self) -> None:
        """Any other request has them in its header, which is equal to one without: replies are matched by the rest."""
        header = Header(V3, 3, Operation.FORCE_LEDGER, 7, 0, PAIRS)
        (found,) = _received(V3.encode_request(ForceLedgerRequest(header, 5)))
        self.assertEqual((found, found.header.context), (ForceLedgerRequest(header, 5), PAIRS))
        self.assertEqual(header, Header(V3, 3, Operation.FORCE_LEDGER, 7))
        fencing = ReadRequest(Header(V3, 3, Operation.READ, 7, 0, PAIRS), 5, -1, True, master_key=KEY)
        (found,) = _received(V3.encode_request(fencing))
        self.assertEqual((found.fence, found.header.context), (True, PAIRS))


class StrangerTests(SynchronousTestCase):
    """What a bookie keeps of pairs from whoever can send a request."""

    def test_number(self) -> None:
        """Only the first few pairs."""
        kept = decode_context(_context(*[(f"n{i}", "v") for i in range(1000)]))
        self.assertEqual(list(kept), [f"n{i}" for i in range(MOST_PAIRS)])

    def test_size(self) -> None:
        """Only as many characters; the pair that has more is left out with all behind it."""
        most = MOST_CHARACTERS - 5
        self.assertEqual(len(decode_context(_context(("abc", "v" * most), ("d", "v")))), 2)
        self.assertEqual(list(decode_context(_context(("a", "bc"), ("abc", "v" * most), ("d", "v")))), ["a"])
        self.assertEqual(decode_context(_context(("n" * (1 << 20), "v"))), {})

    def test_characters(self) -> None:
        """No control characters: neither a new line nor a sequence of the terminal gets into a log."""
        good = ("ok", "caf\u00e9 \N{SNOWMAN}")
        kept = decode_context(_context(("a\nb", "x\r\n2026 error\x1b[31m\0\u2028\u202e"), good))
        self.assertEqual(kept, {"a?b": "x??2026 error?[31m???", "ok": "caf\u00e9 \N{SNOWMAN}"})

    def test_bytes(self) -> None:
        """Bytes that are no text are replaced, as Java does."""
        frame = with_context(requests_out.encode_reads(5, [1], 0, 1), {"a": "ZZ"}).replace(b"ZZ", b"\xff\xfe")
        (found,) = _received(frame)
        self.assertEqual(list(found.contexts), [(5, 1)])
        self.assertTrue(found.contexts[5, 1]["a"].isprintable())

    def test_replies(self) -> None:
        """A client ignores such pairs in replies, which have none in the protocol."""
        plain = _received(V3.encode_adds(stored_adds(KEY, run(5, 0, 1)), 1)[0])[0].replies(Status.EOK)
        junk = with_context(plain, {**{f"n{number}": "v" for number in range(1000)}, "traceparent": "x" * (1 << 20)})
        for data in (junk, plain * 20 + junk + plain * 20):
            decoder = ClientDecoder(V3)
            found = [entry_id for reply in decoder.receive(data) for entry_id in reply.entry_ids]  # type: ignore[attr-defined]
            self.assertEqual(set(found), {0})
            self.assertIsNone(decoder.error)

    def test_twice(self) -> None:
        """The last of two pairs with one name counts, as in a map of Java's."""
        self.assertEqual(decode_context(_context(("a", "1"), ("a", "2"))), {"a": "2"})

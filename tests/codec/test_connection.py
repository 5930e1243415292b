"""Streams cut anywhere, limits, the choice between V2 and V3, and bytes that are no requests (safety, "Wire")."""

import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ClientDecoder, ServerDecoder
from bookkeeper_twisted.codec.messages import RejectedRequest
from bookkeeper_twisted.codec.runs import AddReplies, AddRun, BatchRead, ReadRun
from bookkeeper_twisted.codec.v2 import layout as v2_layout
from bookkeeper_twisted.codec.v2 import replies_out as v2_replies_out
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import replies_out as v3_replies_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun
from bookkeeper_twisted.errors import CodecError, Status

from .flatten import flat
from .wire_examples import KEY, entry, pieces, quick, run, v2_requests, v3_adds, v3_requests

IN_TURNS = [(ledger, first) for first in range(12) for ledger in (7, 8, 9)]
TURNS = b"".join(
    [v2_requests_out.encode_adds(KEY, run(ledger, first, [24 + first // 8])) for ledger, first in IN_TURNS]
)
V2_STREAM, V3_STREAM = v2_requests() + TURNS, v3_requests()
MIXED_STREAM = V3_STREAM + V2_STREAM


def received(decoder: ServerDecoder | ClientDecoder, chunks: list[bytes]) -> list[object]:
    """Everything the chunks gave, comparable."""
    receive = decoder.receive_all if isinstance(decoder, ServerDecoder) else decoder.receive
    return flat(item for chunk in chunks for item in receive(chunk))


def replies(wire: IWireProtocol) -> bytes:
    """Replies of every hot kind."""
    adds = AddRun(wire, 2, 0, False, KEY, run(7, 100, [30] * 50), range(100, 150))
    more = AddRun(wire, 2, 0, False, KEY, run(7, 3, [30] * 2), range(3, 5))
    reads = ReadRun(wire, 2, 0, [7] * 3, [1, 2, -1], [300, 301, 302])
    batch = BatchRead(wire, 2, 0, 7, 1, 99, 10, 4096)
    return b"".join([
        adds.replies(Status.EOK), more.replies(Status.EFENCED),
        reads.replies(0, [entry(7, 1), entry(7, 2, 5000)], [5, 5]), reads.reply(2, Status.ENOENTRY),
        *batch.success([run(7, 1, [50, 50]), run(7, 3, [60])], 9), batch.failure(Status.ENOLEDGER),
    ])  # fmt: skip


class SplitTests(SynchronousTestCase):
    """Any split of a stream gives the same values."""

    def check_byte_by_byte(self, make: type[ServerDecoder] | type[ClientDecoder], stream: bytes, *args: Any) -> None:
        whole, cut = make(*args), make(*args)
        expected = received(whole, [stream])
        self.assertIsNone(whole.error)
        self.assertEqual(received(cut, [stream[i : i + 1] for i in range(len(stream))]), expected)
        self.assertIs(getattr(cut, "wire", None), getattr(whole, "wire", None))

    def test_requests_byte_by_byte(self) -> None:
        """Requests of both protocols, one byte at a time."""
        for stream in (V2_STREAM, V3_STREAM, MIXED_STREAM):
            self.check_byte_by_byte(ServerDecoder, stream)

    def test_replies_byte_by_byte(self) -> None:
        """Replies of both protocols, one byte at a time."""
        for wire in (V2, V3):
            self.check_byte_by_byte(ClientDecoder, replies(wire), wire)

    def test_keeps(self) -> None:
        """A decoder of replies says whether it keeps the beginning of one; else chunks are returned as they are."""
        for wire in (V2, V3):
            decoder, stream = ClientDecoder(wire), replies(wire)
            for byte in stream:
                before = decoder.keeps
                chunk = bytes((byte,))
                data = decoder.add(chunk)
                self.assertTrue(before or data is chunk)
                decoder.scan(data, 0)
            self.assertFalse(decoder.keeps)
            decoder.receive(stream[:3])
            self.assertEqual((decoder.keeps, decoder.receive(b""), decoder.keeps), (True, [], True))
            decoder.receive(b"\xff" * 64 * 64)
            self.assertIsNotNone(decoder.error)
            self.assertFalse(decoder.keeps)

    @quick
    @given(st.lists(st.integers(min_value=0, max_value=len(MIXED_STREAM)), max_size=12))
    def test_requests_cut_anywhere(self, cuts: list[int]) -> None:
        """Requests of both protocols, in random pieces."""
        expected = received(ServerDecoder(), [MIXED_STREAM])
        self.assertEqual(received(ServerDecoder(), pieces(MIXED_STREAM, cuts)), expected)

    @quick
    @given(st.sampled_from([V2, V3]), st.lists(st.integers(min_value=0, max_value=20_000), max_size=12))
    def test_replies_cut_anywhere(self, wire: IWireProtocol, cuts: list[int]) -> None:
        """Replies, in random pieces."""
        stream = replies(wire)
        expected = received(ClientDecoder(wire), [stream])
        self.assertEqual(received(ClientDecoder(wire), pieces(stream, cuts)), expected)

    @quick
    @given(
        st.integers(min_value=0, max_value=len(MIXED_STREAM) - 1),
        st.binary(min_size=1, max_size=8),
        st.lists(st.integers(min_value=0, max_value=len(MIXED_STREAM)), max_size=6),
    )
    def test_damage_cut_anywhere(self, at: int, damage: bytes, cuts: list[int]) -> None:
        """A damaged stream gives the same requests and the same end, however it is cut, and only CodecError."""
        stream = MIXED_STREAM[:at] + damage + MIXED_STREAM[at + len(damage) :]
        whole, cut = ServerDecoder(), ServerDecoder()
        expected = received(whole, [stream])
        self.assertEqual(received(cut, pieces(stream, cuts)), expected)
        self.assertEqual(str(cut.error), str(whole.error))

    def test_great_frame_in_chunks(self) -> None:
        """The greatest frame, in chunks of a socket, is one entry; requests behind it are read too."""
        size = 5 * 1024 * 1024 - 4 - v2_layout.ADD_OVERHEAD
        stream = v2_requests_out.encode_adds(KEY, run(7, 0, [size])) + v2_requests_out.encode_reads(7, [0])
        decoder = ServerDecoder()
        items = [item for i in range(0, len(stream), 65536) for item in decoder.receive(stream[i : i + 65536])]
        self.assertEqual([type(item) for item in items], [AddRun, ReadRun])
        self.assertIsNone(decoder.error)


    @quick
    @given(st.lists(st.integers(min_value=0, max_value=3 * 110_000), max_size=12))
    def test_large_requests_cut_anywhere(self, cuts: list[int]) -> None:
        """Large adds among small requests, of both protocols, in random pieces."""
        v2 = v2_requests_out.encode_adds(KEY, run(7, 0, [10_000] * 5)) + v2_requests_out.encode_reads(7, [0, 1])
        stream = v3_adds(KEY, run(7, 0, [9000] * 10)) + v2 * 4
        expected = received(ServerDecoder(), [stream])
        self.assertEqual(received(ServerDecoder(), pieces(stream, cuts)), expected)

    def test_cut_frame_apart(self) -> None:
        """A large add that was cut is a run of its own; those behind it are decoded where they are."""
        stream = v2_requests_out.encode_adds(KEY, run(7, 0, [10_000] * 8))
        decoder = ServerDecoder()
        items: list[Any] = [*decoder.receive(stream[:15_000]), *decoder.receive(stream[15_000:])]
        self.assertEqual([(item.entries.first, item.entries.count) for item in items], [(0, 1), (1, 1), (2, 6)])


class RunTests(SynchronousTestCase):
    """How much of a chunk becomes one object."""

    def test_equal_v2_adds(self) -> None:
        """Consecutive V2 adds of one size in a chunk are one run over their bytes."""
        wanted = run(7, 1000, [132] * 400)
        (item,) = ServerDecoder().receive(v2_requests_out.encode_adds(KEY, wanted, 2))
        assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
        self.assertEqual((item.flags, item.master_key, item.entries.first, item.entries.count), (2, KEY, 1000, 400))
        self.assertEqual((item.entries.data, item.entries.stride), (wanted.data, 136))

    def test_unequal_adds(self) -> None:
        """Consecutive adds of different sizes are one run too, in both protocols."""
        wanted = run(7, 0, [100] * 20 + [101, 3000, 24] + [100] * 20)
        for data in (v2_requests_out.encode_adds(KEY, wanted), v3_adds(KEY, wanted, 0, False, 1)):
            (item,) = ServerDecoder().receive(data)
            assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
            self.assertEqual(item.entries.data, wanted.data)

    def test_ledgers_in_turn(self) -> None:
        """V2 adds of ledgers that take turns are one object, whatever their sizes, answered by one."""
        (item,) = ServerDecoder().receive(TURNS)
        assert isinstance(item, AddRun) and isinstance(item.entries, MixedRun)
        self.assertEqual(list(zip(item.entries.ledger_ids, item.entries.entry_ids, strict=True)), IN_TURNS)
        self.assertEqual(item.entries.data, b"".join([run(i, e, [24 + e // 8]).data for i, e in IN_TURNS]))
        replies = [v2_replies_out.ids_reply(2, 1, Status.EUA, *ids) for ids in IN_TURNS]
        self.assertEqual(item.replies(Status.EUA), b"".join(replies))

    def test_v3_adds_across_varint_sizes(self) -> None:
        """V3 adds whose ids and txnIds grow by a byte on the way are one run."""
        wanted = run(7, 16000, [100] * 600)
        (item,) = ServerDecoder().receive(v3_adds(KEY, wanted, 0, False, 100))
        assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
        self.assertEqual((item.entries.data, list(item.txn_ids)), (wanted.data, list(range(100, 700))))

    def test_plain_reads(self) -> None:
        """Plain reads that follow each other are one run, in both protocols."""
        for data in (v2_requests_out.encode_reads(7, range(200)), v3_requests_out.encode_reads(7, range(200), 0, 5)):
            (item,) = ServerDecoder().receive(data)
            assert isinstance(item, ReadRun)
            self.assertEqual((list(item.entry_ids), set(item.ledger_ids)), (list(range(200)), {7}))

    def test_add_replies(self) -> None:
        """Replies to adds are one object for the client, in both protocols."""
        for wire in (V2, V3):
            for count in (3, 300):
                adds = AddRun(wire, 2, 0, False, KEY, run(7, 100, [30] * count), range(5, 5 + count))
                (item,) = ClientDecoder(wire).receive(adds.replies(Status.EOK))
                assert isinstance(item, AddReplies)
                self.assertEqual((item.entry_ids, item.status), (list(range(100, 100 + count)), Status.EOK))
                self.assertEqual(item.txn_ids, list(range(5, 5 + count)) if wire is V3 else [])


class LimitTests(SynchronousTestCase):
    """Frame lengths: judged when their four bytes are in, before anything is kept."""

    def test_bad_lengths(self) -> None:
        """Lengths 0 to 3, one over the limit and those with the top bit set end the connection at once."""
        for length in (0, 1, 2, 3, 1000 - 3, 0x80000010, 0xFFFFFFFF):
            for decoder in (ServerDecoder(1000), ClientDecoder(V2, 1000), ClientDecoder(V3, 1000)):
                self.assertEqual(decoder.receive(struct.pack(">I", length)), [])
                self.assertIsInstance(decoder.error, CodecError, str(length))

    def test_greatest_length(self) -> None:
        """The greatest length that fits the limit with its own four bytes is waited for, and read."""
        data = v2_requests_out.encode_adds(KEY, run(7, 0, [1000 - 28]))
        self.assertEqual(len(data), 1000)
        decoder = ServerDecoder(1000)
        self.assertEqual(decoder.receive(data[:4]), [])
        self.assertIsNone(decoder.error)
        self.assertEqual(len(decoder.receive(data[4:])), 1)

    def test_long_frame_in_a_row(self) -> None:
        """A frame over the limit that is complete in its chunk is not read, whatever stands before it."""
        for encode in (v2_requests_out.encode_adds, v3_adds):
            decoder = ServerDecoder(300)
            items = flat(decoder.receive(encode(KEY, run(7, 0, [50, 50, 400]))))
            self.assertEqual(len(items), 2)
            self.assertIsInstance(decoder.error, CodecError)

    def test_after_an_error(self) -> None:
        """What came before a broken frame is returned; what comes after it never is."""
        decoder = ServerDecoder()
        items = decoder.receive(v2_requests_out.encode_reads(7, [1]) + bytes(4) + v2_requests_out.encode_reads(7, [2]))
        self.assertEqual(len(items), 1)
        self.assertIsNotNone(decoder.error)
        self.assertEqual(decoder.receive(v2_requests_out.encode_reads(7, [3])), [])


class DetectionTests(SynchronousTestCase):
    """V3 is tried first, and the first frame that is no V3 makes the connection V2 for good."""

    def test_v3_before_v2(self) -> None:
        """V3 requests may come first; in one chunk and in two."""
        for chunks in ([MIXED_STREAM], [V3_STREAM, V2_STREAM]):
            decoder = ServerDecoder()
            found = received(decoder, chunks)
            self.assertIs(decoder.wire, V2)
            self.assertEqual(found, received(ServerDecoder(), [V3_STREAM]) + received(ServerDecoder(), [V2_STREAM]))

    def test_v3_after_v2(self) -> None:
        """V3 after V2 is read as V2, which ends the connection."""
        decoder = ServerDecoder()
        self.assertEqual(
            len(decoder.receive(v2_requests_out.encode_reads(7, [1]) + v3_requests_out.encode_reads(7, [1]))), 1
        )
        self.assertIsNotNone(decoder.error)

    def test_v3_that_reads_as_a_batch_read(self) -> None:
        """A V3 add after V2 whose txnId takes two bytes looks like a batch read of version 10: EBADVERSION."""
        decoder = ServerDecoder()
        _, refusal = decoder.receive(
            v2_requests_out.encode_reads(7, [1]) + v3_adds(KEY, run(7, 1, [41]), 0, False, 200)
        )
        assert isinstance(refusal, RejectedRequest)
        self.assertEqual((refusal.status, refusal.reply[4:6]), (Status.EBADVERSION, b"\x0a\x07"))

    def test_not_v3(self) -> None:
        """Unknown operation, unknown version, a missing field and truncation are no V3, so V2, so the end."""
        for text in (
            "0a060803100d1801",
            "0a060804100118 01a20604080110 00",
            "0a0408031001",
            "0a06080310011801a206040805",
        ):
            packet = bytes.fromhex(text)
            decoder = ServerDecoder()
            self.assertEqual(decoder.receive(struct.pack(">I", len(packet)) + packet), [], text)
            self.assertIs(decoder.wire, V2)
            self.assertIsNotNone(decoder.error)

    def test_tls_hello(self) -> None:
        """A TLS hello on a plain port is a frame over the limit."""
        decoder = ServerDecoder()
        decoder.receive(bytes.fromhex("160301059d010005990303"))
        self.assertIsNotNone(decoder.error)


class FuzzTests(SynchronousTestCase):
    """Arbitrary bytes raise nothing; an error is a CodecError."""

    @quick
    @given(st.lists(st.binary(min_size=4, max_size=120), min_size=1, max_size=4), st.binary(max_size=4))
    def test_frames_of_noise(self, packets: list[bytes], prefix: bytes) -> None:
        """Frames of the right length with random content, whole and with a plausible beginning."""
        for decoder in (ServerDecoder(), ClientDecoder(V2), ClientDecoder(V3)):
            for packet in packets:
                decoder.receive(struct.pack(">I", len(prefix + packet)) + prefix + packet)
            self.assertTrue(decoder.error is None or type(decoder.error) is CodecError)

    @quick
    @given(st.sampled_from([V2, V3]), st.integers(min_value=0, max_value=3000), st.binary(min_size=1, max_size=6))
    def test_damaged_replies(self, wire: IWireProtocol, at: int, damage: bytes) -> None:
        """Replies with some bytes overwritten."""
        stream = replies(wire)
        at %= len(stream)
        decoder = ClientDecoder(wire)
        decoder.receive(stream[:at] + damage + stream[at + len(damage) :])
        self.assertTrue(decoder.error is None or type(decoder.error) is CodecError)

    def test_wrong_protocol(self) -> None:
        """A client that asked in one protocol takes no replies of the other."""
        wrong: tuple[tuple[IWireProtocol, bytes], ...] = (
            (V2, v3_replies_out.add_reply(1, Status.EOK, 7, 0)), (V3, v2_replies_out.ids_reply(2, 1, Status.EOK, 7, 0)),
        )  # fmt: skip
        for wire, data in wrong:
            decoder = ClientDecoder(wire)
            self.assertEqual(decoder.receive(data), [])
            self.assertIsNotNone(decoder.error)

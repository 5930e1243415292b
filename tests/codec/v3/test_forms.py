"""Frames of different sizes that are read together give what protobuf gives."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.framing import MOST_ITEMS
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.codec.protobuf import parse, wire_pb
from bookkeeper_twisted.codec.runs import AddRun, ReadReply, ReadRun
from bookkeeper_twisted.codec.v3 import replies_out, requests_in, requests_out
from bookkeeper_twisted.codec.v3.forms import MOST_FRAMES, read_replies, unlike_adds, unlike_reads
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import Status

from ..wire_examples import KEY, LIMIT, OTHER_KEY, entry, quick, run, v3_adds

any_id = st.integers(0, 62).flatmap(lambda bits: st.integers(0, 1 << bits))
three_ids = st.tuples(any_id, any_id, any_id)
sizes = st.one_of(st.integers(24, 300), st.integers(16300, 16500))
lac = st.one_of(st.none(), st.integers(-1, 200), any_id)


def cut(frames: bytes) -> list[bytes]:
    """The frames without their length words."""
    found, at = [], 0
    while at < len(frames):
        end = at + 4 + int.from_bytes(frames[at : at + 4], "big")
        found.append(frames[at + 4 : end])
        at = end
    return found


def reads_of(ids: Sequence[tuple[int, int, int]]) -> list[bytes]:
    """A read of each ledger and entry, with its number."""
    return [requests_out.encode_reads(ledger, [first], 0, txn) for ledger, first, txn in ids]


def adds_of(ids: Sequence[tuple[int, int, int]], lengths: Sequence[int], key: bytes = KEY) -> list[bytes]:
    """An add of each ledger and entry, with its number and its bytes."""
    return [
        v3_adds(key, run(ledger, first, [size]), 0, False, txn)
        for (ledger, first, txn), size in zip(ids, lengths, strict=True)
    ]


def reply(ids: tuple[int, int, int], body: bytes, known: int | None) -> bytes:
    """The reply to a read."""
    ledger_id, entry_id, txn_id = ids
    return replies_out.read_reply(1, txn_id, Status.EOK, ledger_id, entry_id, body, known)


def decoded(reply: bytes) -> ReadReply:
    """What protobuf reads in a reply."""
    message: Any = parse(wire_pb.Response, reply)
    assert message is not None
    sub = message.readResponse
    assert (message.header.operation, message.status, sub.status, sub.HasField("body")) == (1, 0, 0, True)
    lac = sub.maxLAC if sub.HasField("maxLAC") else None
    return ReadReply(Status.EOK, sub.ledgerId, sub.entryId, message.header.txnId, sub.body, lac)


def of_columns(columns: Any) -> list[ReadReply]:
    """The replies in columns."""
    return [ReadReply(Status.EOK, *row) for row in zip(*columns, strict=True)]


class ReadTests(SynchronousTestCase):
    """Plain reads."""

    @quick
    @given(st.lists(three_ids, min_size=1, max_size=40))
    def test_reads(self, ids: list[tuple[int, int, int]]) -> None:
        """All of them are read together, whatever sizes their ids have; an incomplete frame is left."""
        frames = reads_of(ids)
        data = b"".join(frames)
        for rest in (b"", frames[0][:-1], b"\0\0\0\x09other bytes"):
            found = unlike_reads(b"begin" + data + rest, 5)
            assert found is not None
            columns, end = found
            self.assertEqual(end, 5 + len(data))
            self.assertEqual(list(zip(columns.ledger_ids, columns.entry_ids, columns.txn_ids, strict=True)), ids)

    def test_a_damaged_byte(self) -> None:
        """Whatever byte is changed, what is read is what protobuf reads, and later frames do not take its place."""
        frames = reads_of([(7, 5, 1), (700, 50, 2), (7, 500_000, 300), (1 << 40, 5, 1 << 20)])
        for number, frame in enumerate(frames):
            for at in range(len(frame)):
                for bits in (1, 2, 0x80, 0xFF):
                    damaged = bytearray(frame)
                    damaged[at] ^= bits
                    data = b"".join([*frames[:number], damaged, *frames[number + 1 :]])
                    found = unlike_reads(data, 0)
                    columns, end = found if found is not None else (None, 0)
                    self.assertGreaterEqual(end, sum(map(len, frames[:number])))
                    requests: list[Any] = [parse(wire_pb.Request, packet) for packet in cut(data[:end])]
                    rows = [] if columns is None else list(
                        zip(columns.txn_ids, columns.ledger_ids, columns.entry_ids, strict=True)
                    )  # fmt: skip
                    expected = [
                        (each.header.txnId, each.readRequest.ledgerId, each.readRequest.entryId) for each in requests
                    ]
                    self.assertEqual(rows, expected)
                    self.assertEqual({each.header.version for each in requests} - {3}, set())
                    self.assertFalse([each for each in requests if len(each.readRequest.ListFields()) != 2])

    def test_other_reads(self) -> None:
        """Reads with more than ids, with a priority or of the last entry are not among them."""
        good = reads_of([(7, 5, 1)])
        for other in (
            requests_out.encode_reads(7, [5], HIGH_PRIORITY, 1), requests_out.encode_reads(7, [-1], 0, 1),
            requests_out.encode_reads(-7, [5], 0, 1),
        ):  # fmt: skip
            self.assertIsNone(unlike_reads(other, 0))
            found = unlike_reads(b"".join([*good, other, *good]), 0)
            assert found is not None
            self.assertEqual(found[1], len(good[0]))

    def test_one_turn(self) -> None:
        """A chunk of many reads of different sizes is one run, not several turns of single requests."""
        ids = [(7 * 300 ** (i % 3), 300 ** (i % 4), 300 ** (i % 5)) for i in range(10 * MOST_ITEMS)]
        items: list[object] = []
        data = b"".join(reads_of(ids))
        self.assertEqual(requests_in.scan(V3, data, 0, LIMIT, items), (len(data), True))
        (reads,) = items
        assert isinstance(reads, ReadRun)
        self.assertEqual(list(zip(reads.ledger_ids, reads.entry_ids, reads.txn_ids, strict=True)), ids)


class AddTests(SynchronousTestCase):
    """Adds."""

    @quick
    @given(st.lists(st.tuples(three_ids, sizes), min_size=1, max_size=30), st.sampled_from([0, RECOVERY_ADD]))
    def test_adds(self, adds: list[tuple[tuple[int, int, int], int]], flags: int) -> None:
        """All of them are read together, whatever sizes ids and bodies have; an incomplete frame is left."""
        frames = [v3_adds(KEY, run(ledger, first, [size]), flags, False, txn) for (ledger, first, txn), size in adds]
        data = b"".join(frames)
        found = unlike_adds(b"begin" + data + frames[0][:-1], 5, LIMIT)
        assert found is not None
        columns, end = found
        self.assertEqual((end, columns.flags, columns.master_key), (5 + len(data), flags, KEY))
        ids = list(zip(columns.ledger_ids, columns.entry_ids, columns.txn_ids, strict=True))
        self.assertEqual(ids, [each for each, _ in adds])
        self.assertEqual(list(columns.bodies), [entry(ids[0], ids[1], size) for ids, size in adds])

    def test_a_damaged_byte(self) -> None:
        """Whatever byte in front of the bodies is changed, what is read is what protobuf reads."""
        frames = adds_of([(7, 5, 1), (700, 50, 2), (7, 500_000, 300)], [41, 200, 24])
        for number, frame in enumerate(frames):
            for at in range(len(frame) - 20):
                for bits in (1, 2, 0x80, 0xFF):
                    damaged = bytearray(frame)
                    damaged[at] ^= bits
                    self._check(b"".join([*frames[:number], damaged, *frames[number + 1 :]]))

    def _check(self, data: bytes) -> None:
        found = unlike_adds(data, 0, LIMIT)
        if found is None:
            return
        columns, end = found
        rows = zip(columns.txn_ids, columns.ledger_ids, columns.entry_ids, columns.bodies, strict=True)
        requests: list[Any] = [parse(wire_pb.Request, packet) for packet in cut(data[:end])]
        self.assertEqual(list(rows), [
            (each.header.txnId, each.addRequest.ledgerId, each.addRequest.entryId, each.addRequest.body)
            for each in requests
        ])  # fmt: skip
        for each in requests:
            self.assertEqual((each.header.version, each.addRequest.masterKey), (3, columns.master_key))
            self.assertEqual(each.addRequest.HasField("flag"), bool(columns.flags))
            self.assertFalse(each.addRequest.HasField("writeFlags"))

    def test_limits(self) -> None:
        """Another key, another flag, a deferred sync or a frame over the limit ends the series, and so do very many."""
        ids = [(7, i, i) for i in range(4)]
        good, size = adds_of(ids, [41, 50, 60, 70]), 24
        for other in (
            adds_of(ids[:1], [size], OTHER_KEY)[0], v3_adds(KEY, run(7, 9, [size]), RECOVERY_ADD, False, 9),
            v3_adds(KEY, run(7, 9, [size]), 0, True, 9), v3_adds(KEY, run(7, 9, [LIMIT]), 0, False, 9),
            reads_of(ids[:1])[0],
        ):  # fmt: skip
            found = unlike_adds(b"".join([*good, other, *good]), 0, LIMIT)
            assert found is not None
            self.assertEqual(found[1], sum(map(len, good)))
        many = b"".join(adds_of(ids[:1], [41]) * (MOST_FRAMES + 9))
        found = unlike_adds(many, 0, LIMIT)
        assert found is not None
        self.assertEqual(len(found[0].txn_ids), MOST_FRAMES)

    def test_one_run(self) -> None:
        """Consecutive entries of different sizes are one run; one whose body is of another entry is refused alone."""
        data = b"".join(adds_of([(7, 100 + i, 1 + i) for i in range(200)], [24 + i % 150 for i in range(200)]))
        items: list[object] = []
        self.assertEqual(requests_in.scan(V3, data, 0, LIMIT, items), (len(data), True))
        (adds,) = items
        assert isinstance(adds, AddRun)
        self.assertEqual((adds.entries.count, list(adds.txn_ids)), (200, list(range(1, 201))))
        wrong = v3_adds(KEY, run(8, 150, [40]), 0, False, 51).replace((8).to_bytes(8, "big"), (9).to_bytes(8, "big"))
        frames = adds_of([(8, 100 + i, 1 + i) for i in range(100)], [24 + i % 90 for i in range(100)])
        frames[50], items = wrong, []
        requests_in.scan(V3, b"".join(frames), 0, LIMIT, items)
        self.assertEqual([type(item).__name__ for item in items], ["AddRun", "RejectedRequest", "AddRun"])


class ReadReplyTests(SynchronousTestCase):
    """Successful replies to reads, at the client."""

    @quick
    @given(st.lists(st.tuples(three_ids, st.one_of(st.just(0), sizes), lac), min_size=1, max_size=30))
    def test_replies(self, reads: list[tuple[tuple[int, int, int], int, int | None]]) -> None:
        """All of them are read together, whatever sizes ids, entries and LACs have."""
        frames = [reply(ids, bytes([i]) * size, known) for i, (ids, size, known) in enumerate(reads)]
        data = b"".join(frames)
        found = read_replies(b"begin" + data + frames[0][:-1], 5, LIMIT)
        assert found is not None
        self.assertEqual(found[1], 5 + len(data))
        self.assertEqual(of_columns(found[0]), list(map(decoded, cut(data))))

    def test_a_damaged_byte(self) -> None:
        """Whatever byte of one reply is changed, what is read is what protobuf reads, of one layout or of several."""
        unlike = [reply((7, 5, 1), bytes(9), 4), reply((700, 5, 2), bytes(200), -1), reply((7, 500, 3), b"", None)]
        like = [reply((7, 200 + i, 300 + i), bytes([i] * 9), 500) for i in range(12)]
        for frames, number in ((unlike, 0), (unlike, 1), (unlike, 2), (like, 0), (like, 6)):
            for at in range(len(frames[number])):
                for bits in (1, 2, 0x80, 0xFF):
                    damaged = bytearray(frames[number])
                    damaged[at] ^= bits
                    data = b"".join([*frames[:number], damaged, *frames[number + 1 :]])
                    found = read_replies(data, 0, LIMIT)
                    if found is not None:
                        self.assertEqual(of_columns(found[0]), list(map(decoded, cut(data[: found[1]]))))

    def test_a_damaged_byte_at_the_client(self) -> None:
        """A client that gets such bytes finds in them what it finds in each frame by itself."""
        frames = [reply((7, 200 + i, 300 + i), bytes([i] * 9), 500) for i in range(24)]
        for at in range(4, len(frames[12])):
            for bits in (1, 0x80, 0xFF):
                damaged = bytearray(frames[12])
                damaged[at] ^= bits
                each = [*frames[:12], bytes(damaged), *frames[13:]]
                together, alone = ClientDecoder(V3), ClientDecoder(V3)
                found = together.receive(b"".join(each))
                singly = [item for frame in each for item in alone.receive(frame)]
                self.assertEqual(list(map(str, found)), list(map(str, singly)))
                self.assertEqual(str(together.error), str(alone.error))

    def test_other_replies(self) -> None:
        """A failure, a frame over the limit and a reply with the time of a LAC end the series."""
        good = [reply((7, 5 * 300 ** (i % 3), i), bytes(i), i) for i in range(9)]
        for other in (
            replies_out.read_reply(1, 9, Status.ENOENTRY, 7, 5), reply((7, 5, 1), bytes(LIMIT), 4),
            replies_out.read_reply(1, 9, Status.EOK, 7, 5, b"body", 4, 5), replies_out.add_reply(9, Status.EOK, 7, 5),
        ):  # fmt: skip
            found = read_replies(b"".join([*good, other, *good]), 0, LIMIT)
            assert found is not None
            self.assertEqual(found[1], sum(map(len, good)))
            self.assertIsNone(read_replies(other, 0, LIMIT))

    @quick
    @given(st.integers(8, 40), any_id, any_id, any_id, lac, st.integers(0, 300), st.booleans())
    def test_replies_of_one_layout(
        self, count: int, ledger_id: int, first: int, txn: int, known: int | None, size: int, random: bool
    ) -> None:
        """A client reads them by columns, in order or not, also where ids gain a byte."""
        ids = [(ledger_id, first + (i * 7 % count if random else i), txn + i) for i in range(count)]
        data = b"".join([reply(each, bytes([i]) * size, known) for i, each in enumerate(ids)])
        self.assertEqual(ClientDecoder(V3).receive(data), list(map(decoded, cut(data))))

    def test_lacs_of_one_layout(self) -> None:
        """Each reply of a series has its own LAC."""
        data = b"".join([reply((7, 200 + i, 300 + i), b"body", 500 if i < 20 else 501) for i in range(40)])
        found = ClientDecoder(V3).receive(data)
        self.assertEqual(found, list(map(decoded, cut(data))))

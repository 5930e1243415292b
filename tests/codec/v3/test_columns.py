"""Rows read column by column give what protobuf gives."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.codec.protobuf import parse, wire_pb
from bookkeeper_twisted.codec.v3 import replies_out, requests_out
from bookkeeper_twisted.codec.v3.columns import FrameColumns, add_columns, add_reply_columns, read_columns
from bookkeeper_twisted.codec.varints import width
from bookkeeper_twisted.errors import Status

from ..wire_examples import KEY, quick, run, v3_adds

small_or_any = st.one_of(st.integers(0, 300), st.integers(0, (1 << 63) - 1))


def by_protobuf(kind: Any, data: bytes, stride: int, count: int) -> list[Any]:
    """Messages of the first frames of a series."""
    return [parse(kind, data[i * stride + 4 : (i + 1) * stride]) for i in range(count)]


class RowTests(SynchronousTestCase):
    """Usual frames."""

    @quick
    @given(
        small_or_any, st.integers(0, (1 << 62)), small_or_any, st.integers(1, 60), st.binary(max_size=140),
        st.sampled_from([0, RECOVERY_ADD, HIGH_PRIORITY]),
    )  # fmt: skip
    def test_adds(self, ledger_id: int, first: int, txn_id: int, count: int, key: bytes, flags: int) -> None:
        """Every column is what protobuf reads, up to where a varint grows or the body does."""
        entries = run(ledger_id, first, [41] * count)
        data = v3_adds(key, entries, flags, False, txn_id)
        stride = 4 + int.from_bytes(data[:4], "big")
        found = add_columns(data, 0, stride)
        assert found is not None
        requests = by_protobuf(wire_pb.Request, data, stride, len(found.txn_ids))
        self.assertEqual((found.flags, found.master_key), (flags, key))
        self.assertEqual(list(found.ledger_ids), [ledger_id] * len(found.txn_ids))
        self.assertEqual(list(found.txn_ids), [request.header.txnId for request in requests])
        self.assertEqual(list(found.entry_ids), [request.addRequest.entryId for request in requests])
        self.assertEqual(list(found.bodies), [request.addRequest.body for request in requests])

    @quick
    @given(st.lists(st.tuples(small_or_any, small_or_any, small_or_any), min_size=1, max_size=40))
    def test_adds_of_many_ledgers(self, ids: list[tuple[int, int, int]]) -> None:
        """The same where ledgers take turns: a series ends where any of the ids has another size."""
        frames = [v3_adds(KEY, run(ledger, first, [41]), 0, False, txn_id) for ledger, first, txn_id in ids]
        stride = len(frames[0])
        found = add_columns(b"".join(frames), 0, stride)
        assert found is not None
        decoded = list(zip(found.ledger_ids, found.entry_ids, found.txn_ids, strict=True))
        same = [number for number, each in enumerate(ids) if list(map(width, each)) != list(map(width, ids[0]))]
        self.assertEqual(decoded, ids[: min(same, default=len(ids))])

    @quick
    @given(st.integers(1, 9), st.lists(st.integers(0, 255), max_size=30), st.data())
    def test_damaged_mixed_adds(self, kind: int, noise: list[int], data: st.DataObject) -> None:
        """Whatever byte of a series of many ledgers is changed, what is read as a series is what protobuf reads."""
        frames = bytearray()
        for number in range(12):
            frames += v3_adds(KEY, run(700 + 7 * number, 1000 + number % 3, [41]), 0, False, 20000 + number)
        stride = len(frames) // 12
        for value in noise[:kind]:
            frames[data.draw(st.integers(0, len(frames) - 1))] = value
        self.assert_series_is_protobuf(bytes(frames), stride, add_columns, "addRequest")

    def test_a_damaged_byte_of_mixed_adds(self) -> None:
        """The same for each byte of a frame in the middle."""
        frames = [v3_adds(KEY, run(700 + 7 * n, 1000 + n % 3, [41]), 0, False, 20000 + n) for n in range(12)]
        for at in range(len(frames[6])):
            for bits in (1, 0x80, 0xFF):
                damaged = bytearray(frames[6])
                damaged[at] ^= bits
                data = b"".join([*frames[:6], damaged, *frames[7:]])
                self.assert_series_is_protobuf(data, len(damaged), add_columns, "addRequest")

    @quick
    @given(st.integers(1, 9), st.lists(st.integers(0, 255), max_size=30), st.data())
    def test_damaged_adds(self, kind: int, noise: list[int], data: st.DataObject) -> None:
        """Whatever byte of a series is changed, what is read as a series is what protobuf reads."""
        frames = bytearray(v3_adds(KEY, run(7, 1000, [41] * 12), HIGH_PRIORITY, False, 20000))
        stride = len(frames) // 12
        for value in noise[:kind]:
            frames[data.draw(st.integers(0, len(frames) - 1))] = value
        self.assert_series_is_protobuf(bytes(frames), stride, add_columns, "addRequest")

    @quick
    @given(st.lists(st.integers(0, 255), max_size=3), st.data())
    def test_damaged_reads(self, noise: list[int], data: st.DataObject) -> None:
        """The same for plain reads."""
        frames = bytearray(requests_out.encode_reads(7, range(1000, 1012), 0, 20000))
        stride = len(frames) // 12
        for value in noise:
            frames[data.draw(st.integers(0, len(frames) - 1))] = value
        self.assert_series_is_protobuf(bytes(frames), stride, read_columns, "readRequest")

    def assert_series_is_protobuf(
        self, frames: bytes, stride: int, read: Callable[[bytes, int, int], FrameColumns | None], name: str
    ) -> None:
        found = read(frames, 0, stride)
        if found is None:
            return
        self.assertGreater(len(found.txn_ids), 0)
        for i, request in enumerate(by_protobuf(wire_pb.Request, frames, stride, len(found.txn_ids))):
            self.assertIsNotNone(request)
            message = getattr(request, name)
            self.assertEqual((request.header.version, request.header.txnId), (3, found.txn_ids[i]))
            self.assertEqual((message.ledgerId, message.entryId), (found.ledger_ids[i], found.entry_ids[i]))
            self.assertEqual(HIGH_PRIORITY if request.header.priority else 0, found.flags & HIGH_PRIORITY)
            if name == "addRequest":
                self.assertEqual((message.body, message.masterKey), (found.bodies[i], found.master_key))
                self.assertEqual((message.HasField("flag"), message.writeFlags), (bool(found.flags & RECOVERY_ADD), 0))

    @quick
    @given(small_or_any, st.integers(0, 1 << 62), small_or_any, st.integers(1, 40))
    def test_add_replies(self, ledger_id: int, first: int, txn_id: int, count: int) -> None:
        """Replies to adds."""
        data = replies_out.add_replies(range(txn_id, txn_id + count), Status.EOK, ledger_id, first)
        stride = 4 + int.from_bytes(data[:4], "big")
        found = add_reply_columns(data, 0, stride)
        assert found is not None
        responses = by_protobuf(wire_pb.Response, data, stride, len(found.txn_ids))
        self.assertEqual(list(found.txn_ids), [response.header.txnId for response in responses])
        self.assertEqual(list(found.entry_ids), [response.addResponse.entryId for response in responses])
        self.assertEqual(list(found.ledger_ids), [ledger_id] * len(found.txn_ids))


class UnusualTests(SynchronousTestCase):
    """What is left to protobuf."""

    def test_other_forms(self) -> None:
        """Negative ids, other field orders, unknown fields, deferred adds and reads with more than ids."""
        negative = v3_adds(KEY, run(-7, 0, [41]), 0, False, 1)
        deferred = v3_adds(KEY, run(7, 0, [41]), 0, True, 1)
        for data in (negative, deferred):
            self.assertIsNone(add_columns(data, 0, len(data)))
        for text in (
            "a20606089ab83110000a06080310011802", "0a0e0803100118014805ea040378797aa20606089ab8311000",
            "0a06080310011806a20608089ab83110001001", "0a06080310011803a206080893b83110012864",
            "0a06080110011801a206060891b8311000", "0a0b0803100118012080808080 10 a20604 08071000".replace(" ", ""),
        ):  # fmt: skip
            packet = bytes.fromhex(text)
            self.assertIsNone(read_columns(bytes(4) + packet, 0, 4 + len(packet)), text)

    def test_failures(self) -> None:
        """Only successes are read in series."""
        data = replies_out.add_reply(1, Status.EFENCED, 7, 0)
        self.assertIsNone(add_reply_columns(data, 0, len(data)))

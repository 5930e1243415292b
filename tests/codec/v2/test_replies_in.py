"""V2 responses at the client."""

import struct
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import AddReplies, BatchRead, BatchReply, ReadReply
from bookkeeper_twisted.codec.v2 import replies_out
from bookkeeper_twisted.codec.v2.replies_in import records
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import CodecError, Status

from ..flatten import flat
from ..wire_examples import pieces, quick, run

Part = tuple[Status, int, int, int]
"""Status, ledger, first entry and count of consecutive replies."""


def decode(*chunks: bytes) -> tuple[list[object], CodecError | None]:
    """What a V2 client gets."""
    decoder = ClientDecoder(V2)
    return [item for chunk in chunks for item in decoder.receive(chunk)], decoder.error


def replies(parts: list[Part]) -> bytes:
    """Add replies as a bookie sends them."""
    return b"".join([replies_out.ids_replies(2, 1, *part) for part in parts])


def singles(parts: list[Part]) -> list[object]:
    """What is to be read of them, one by one."""
    return flat(
        [
            AddReplies(status, [ledger_id] * count, range(first, first + count))
            for status, ledger_id, first, count in parts
        ]
    )


class ReplyTests(SynchronousTestCase):
    """Replies and their statuses."""

    def test_statuses(self) -> None:
        """Every code of the protocol has its status; 107, which Java's client does not know, too."""
        for code, status in ((0, Status.EOK), (1, Status.ENOLEDGER), (104, Status.EFENCED), (105, Status.EREADONLY),
                             (107, Status.EUNKNOWNLEDGERSTATE)):  # fmt: skip
            (item,), _ = decode(struct.pack(">IIiqq", 24, 0x02010000, code, 7, 3))
            assert isinstance(item, AddReplies)
            self.assertIs(item.status, status)

    def test_broken(self) -> None:
        """Unknown codes and opcodes, short packets and batches without entries end the connection."""
        for data in (
            struct.pack(">IIiqq", 24, 0x02010000, 3, 7, 3),
            struct.pack(">IIiqq", 24, 0x02040000, 0, 7, 3),
            struct.pack(">IIiq", 16, 0x02010000, 0, 7),
            struct.pack(">IIiq", 16, 0x02020000, 0, 7),
            struct.pack(">IIiqq", 24, 0x02070000, 0, 7, 3),
            struct.pack(">IIiqqq", 32, 0x02070000, 0, 7, 3, 9),
            struct.pack(">IIiqqqi", 36, 0x02070000, 0, 7, 3, 9, 5),
            struct.pack(">IIiqqqi", 36, 0x02070000, 0, 7, 3, 9, -1),
            struct.pack(">IIiqqqh", 34, 0x02070000, 0, 7, 3, 9, 0),
        ):
            items, error = decode(data)
            self.assertEqual(items, [])
            self.assertIsInstance(error, CodecError)

    @quick
    @given(
        st.lists(
            st.tuples(
                st.sampled_from([Status.EOK, Status.EOK, Status.EOK, Status.EFENCED]), st.integers(7, 30),
                st.integers(0, 3), st.sampled_from([1, 1, 1, 2, 3, 40]),
            ),
            max_size=30,
        ),
        st.lists(st.integers(0, 1 << 16), max_size=4),
    )  # fmt: skip
    def test_any_add_replies(self, parts: list[Part], cuts: list[int]) -> None:
        """Replies in series are those of single frames, in order, whatever the chunks and however many the ledgers."""
        items, error = decode(*pieces(replies(parts), cuts))
        self.assertIsNone(error)
        self.assertEqual(flat(items), singles(parts))


class ManyLedgersTests(SynchronousTestCase):
    """Add replies to writers that take turns."""

    def _decoded(self, parts: list[Part]) -> list[object]:
        items, error = decode(replies(parts))
        self.assertIsNone(error)
        self.assertEqual(flat(items), singles(parts))
        return items

    def test_one_status(self) -> None:
        """Replies with one status are one item, however many ledgers they name."""
        for counts in ([1] * 100, [2] * 100, [1, 1, 4], [3], [1]):
            for status in (Status.EOK, Status.EFENCED):
                (item,) = self._decoded([(status, 2**40 + n, 2**41, count) for n, count in enumerate(counts)])
                assert isinstance(item, AddReplies)
                self.assertEqual(len(item.ledger_ids), sum(counts))

    def test_between_others(self) -> None:
        """Another status begins another item."""
        refused, mixed = (Status.EFENCED, 7, 0, 3), [(Status.EOK, ledger_id, 3, 1) for ledger_id in range(7, 17)]
        items = self._decoded([refused, *mixed, (Status.EFENCED, 16, 4, 3)])
        self.assertEqual([len(item.ledger_ids) for item in items if isinstance(item, AddReplies)], [3, 10, 3])

    @given(
        st.lists(st.tuples(st.sampled_from((0, 0, 0, 1, 2)), st.sampled_from((7, 7, 7, 8)), st.integers(-2, 5),
                           st.sampled_from((0, 5, 5, 5, 9)), st.integers(1, 20)), max_size=6),
        st.lists(st.integers(0, 4000), max_size=3),
    )  # fmt: skip
    @quick
    def test_any_read_replies(self, parts: list[tuple[int, int, int, int, int]], cuts: list[int]) -> None:
        """Replies to reads are what they would be one by one: rows of one size and ledger, and whatever is between."""
        expected, frames = [], []
        for code, ledger_id, first, size, count in parts:
            for entry_id in range(first, first + count):
                entry = bytes((entry_id & 255,)) * size if code == 0 else b""
                frames.append(struct.pack(">IIiqq", 24 + len(entry), 0x02020000, code, ledger_id, entry_id) + entry)
                expected.append((code, ledger_id, entry_id, entry if code == 0 else None))
        items, error = decode(*pieces(b"".join(frames), cuts))
        self.assertIsNone(error)
        found = [cast(ReadReply, item) for item in items]
        codes = {Status.EOK: 0, Status.ENOLEDGER: 1, Status.ENOENTRY: 2}
        self.assertEqual([(codes[r.status], r.ledger_id, r.entry_id, r.entry) for r in found], expected)

    def test_in_two_chunks(self) -> None:
        """Wherever the bytes are cut, nothing is lost or doubled."""
        parts = [(Status.EOK, ledger_id, ledger_id % 3, 1) for ledger_id in range(8)]
        data = replies(parts)
        for cut in range(len(data) + 1):
            items, _ = decode(data[:cut], data[cut:])
            self.assertEqual(flat(items), singles(parts))


class BatchTests(SynchronousTestCase):
    """Entries of a batch read."""

    def test_equal_sizes(self) -> None:
        """Records of one size are one uniform run over the bytes of the reply."""
        wanted = run(7, 3, [100] * 50)
        (item,), _ = decode(b"".join(BatchRead(V2, 2, 0, 7, 3, 9, 0, 0).success([wanted])))
        assert isinstance(item, BatchReply) and item.entries is not None
        self.assertEqual((item.entries.data, item.entries.stride, item.entries.count), (wanted.data, 104, 50))
        self.assertTrue(item.entries.ids_match())

    @quick
    @given(st.lists(st.sampled_from([0, 24, 25, 100]), min_size=1, max_size=20))
    def test_any_sizes(self, sizes: list[int]) -> None:
        """Records of any sizes give their entries, empty ones too."""
        entries = [bytes([i]) * size for i, size in enumerate(sizes)]
        data = b"".join(struct.pack(">i", len(e)) + e for e in entries)
        found = records(7, 3, data)
        self.assertEqual((list(found.entries()), found.first, found.count), (entries, 3, len(sizes)))

    @quick
    @given(st.binary(max_size=200))
    def test_noise(self, data: bytes) -> None:
        """Any bytes are records from end to end, or refused."""
        try:
            found = records(7, 3, data)
        except CodecError:
            return
        self.assertEqual(b"".join(struct.pack(">i", len(e)) + e for e in found.entries()), data)

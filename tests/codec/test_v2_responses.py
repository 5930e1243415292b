"""V2 responses at the client."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import v2_replies
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import AddReplies, BatchRead, BatchReply
from bookkeeper_twisted.codec.v2_responses import records
from bookkeeper_twisted.errors import CodecError, Status

from .flatten import flat
from .wire_examples import quick, run


def decode(data: bytes) -> tuple[list[object], CodecError | None]:
    """What a V2 client gets."""
    decoder = ClientDecoder(2)
    return decoder.receive(data), decoder.error


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
                st.sampled_from([Status.EOK, Status.EOK, Status.EFENCED]), st.sampled_from([7, 8]), st.integers(0, 3),
                st.integers(1, 40),
            ),
            max_size=8,
        )
    )  # fmt: skip
    def test_runs_of_add_replies(self, parts: list[tuple[Status, int, int, int]]) -> None:
        """Replies in rows are those of single frames, in order, and a run has one status and ledger."""
        frames = [
            v2_replies.ids_reply(2, 1, status, ledger_id, first + i)
            for status, ledger_id, first, count in parts
            for i in range(count)
        ]
        singles = [value for data in frames for value in flat(decode(data)[0])]
        self.assertEqual(flat(decode(b"".join(frames))[0]), singles)

    def test_many_ledgers(self) -> None:
        """Replies for many ledgers, one or two entries of each, are a run for each ledger, in their order."""
        wanted = [(ledger_id, 2**40, 1 + ledger_id % 2) for ledger_id in range(100)]
        frames = [v2_replies.ids_replies(2, 1, Status.EOK, *replies) for replies in wanted]
        items, error = decode(b"".join(frames))
        self.assertIsNone(error)
        self.assertEqual([(item.ledger_id, item.first, item.count) for item in items], wanted)  # type: ignore[attr-defined]


class BatchTests(SynchronousTestCase):
    """Entries of a batch read."""

    def test_equal_sizes(self) -> None:
        """Records of one size are one uniform run over the bytes of the reply."""
        wanted = run(7, 3, [100] * 50)
        (item,), _ = decode(b"".join(BatchRead(2, 2, 0, 7, 3, 9, 0, 0).success([wanted])))
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

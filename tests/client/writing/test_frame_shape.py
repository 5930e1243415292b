"""Frames in a term are what the codec would have made of the same adds."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.frame_sealing import cut_frames
from bookkeeper_twisted.client.writing.frame_shape import STORED_BY_SLICE, FrameShape, V2Shape, V3Shape
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.codec import v2
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.codec.runs import AddRun
from bookkeeper_twisted.errors import CodecError
from bookkeeper_twisted.model import DigestType, EntryRun

_SIZES = ([25] * 40, [0, 1, 3], [100], [10, 20, 20, 20, 20, 20, 5], [STORED_BY_SLICE + 1, 7], [*range(90), 0, 300])


def _stored(shape: FrameShape, digester: Digester, payloads: list[bytes]) -> bytes:
    term = TermPool(1 << 16).take(0, 1 << 16)
    at = 0
    for payload in payloads:
        store, size, head = shape.row(len(payload))
        store(term.buffer, at, head, payload)
        at += size
    sent, start, first, length = b"", 0, 5, 77
    while start < at:
        frames = cut_frames(term, start, at, 1 << 20)
        length = frames.seal(shape, digester, 7, first, 3, length)
        sent += frames.data(first, frames.count)
        start, first = frames.end, first + frames.count
    return sent


class FrameShapeTests(SynchronousTestCase):
    """Both wires, all digests."""

    def test_v2(self) -> None:
        """V2 frames are byte for byte those of the codec, whatever the sizes and the digest."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"pw")
            for sizes in _SIZES:
                payloads = [bytes([i]) * n for i, n in enumerate(sizes)]
                shape = V2Shape(7, digester.size, digester.master_key, RECOVERY_ADD)
                expected = v2.encode_adds(digester.master_key, digester.seal(7, 5, 3, 77, payloads), RECOVERY_ADD)
                self.assertEqual(_stored(shape, digester, payloads), expected)

    def test_v3(self) -> None:
        """V3 frames are read as the same adds, with the txnIds they are sent with."""
        digester = Digester(DigestType.CRC32C, b"pw")
        for sizes in _SIZES:
            payloads = [bytes([i]) * n for i, n in enumerate(sizes)]
            shape = V3Shape(7, digester.size, digester.master_key, RECOVERY_ADD | HIGH_PRIORITY)
            decoder = ServerDecoder()
            stored = _stored(shape, digester, payloads)
            stride = len(stored) // len(sizes) if len(set(sizes)) == 1 else 0
            items = decoder.receive(shape.requests(stored, stride, (9 << 32) + 100))
            self.assertIsNone(decoder.error)
            runs = [item for item in items if isinstance(item, AddRun)]
            self.assertEqual(len(runs), len(items))
            entries = [entry for run in runs if isinstance(run.entries, EntryRun) for entry in run.entries.entries()]
            self.assertEqual(entries, list(digester.seal(7, 5, 3, 77, payloads).entries()))
            txn_ids = [txn_id for run in runs for txn_id in run.txn_ids or ()]
            self.assertEqual(txn_ids, [(9 << 32) + 100 + i for i in range(len(sizes))])
            self.assertEqual({run.flags for run in runs}, {RECOVERY_ADD | HIGH_PRIORITY})

    def test_key(self) -> None:
        """V2 carries keys of 20 bytes only."""
        with self.assertRaises(CodecError):
            V2Shape(7, 4, b"short")

    def test_rows(self) -> None:
        """Rows are kept for small payloads, and not for any number of sizes: they would fill the memory."""
        digester = Digester(DigestType.CRC32C, b"pw")
        shape = V2Shape(7, digester.size, digester.master_key)
        shape.row(STORED_BY_SLICE)
        self.assertEqual(list(shape.rows), [])
        self.assertIs(shape.row(10), shape.rows[10])
        most = 0
        for size in range(STORED_BY_SLICE):
            shape.row(size)
            most = max(most, len(shape.rows))
        self.assertEqual(most, 1024)

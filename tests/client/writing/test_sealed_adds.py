"""Adds in either wire version, as a bookie reads them."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.frame_shape import V2Shape, V3Shape
from bookkeeper_twisted.client.writing.sealed_adds import SealedAdds
from bookkeeper_twisted.codec import v2
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.codec.runs import AddRun
from bookkeeper_twisted.model import DigestType, EntryRun
from bookkeeper_twisted.testing.adds import adds_of

LEDGER = 7
DIGESTER = Digester(DigestType.CRC32C, b"password")
KEY = DIGESTER.master_key
FLAGS = RECOVERY_ADD | HIGH_PRIORITY
SIZES = ([10] * 300, [0, 1, 300, 5], [20])


def _run(sizes: list[int]) -> EntryRun:
    return DIGESTER.seal(LEDGER, 90, 3, 1000, [bytes([i & 255]) * n for i, n in enumerate(sizes)])


class SealedAddsTests(SynchronousTestCase):
    """Runs of one size and of many."""

    def read(self, frames: bytes, run: EntryRun) -> tuple[list[int], set[bool]]:
        """Request ids and whether syncs are deferred, after the entries and all else have been checked."""
        txn_ids, deferred, entries = list[int](), set[bool](), list[bytes]()
        for item in ServerDecoder().receive(frames):
            assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
            self.assertEqual((item.master_key, item.flags, item.entries.ledger_id), (KEY, FLAGS, LEDGER))
            self.assertEqual(item.entries.first, run.first + len(entries))
            entries += item.entries.entries()
            txn_ids += item.txn_ids
            deferred.add(item.deferred_sync)
        self.assertEqual(entries, list(run.entries()))
        return txn_ids, deferred

    def test_v2(self) -> None:
        """V2 frames go out as they are."""
        for sizes in SIZES:
            run = _run(sizes)
            adds = adds_of(V2Shape(LEDGER, 0, KEY, FLAGS), run)
            self.assertEqual(adds.wire, 2)
            self.assertEqual(adds.requests(2, 0), v2.encode_adds(KEY, run, FLAGS))
            self.assertIs(adds.requests(2, 0), adds.requests(2, 5))

    def test_v3(self) -> None:
        """V3 frames get the ids of each attempt, which change nothing for another."""
        for sizes in SIZES:
            run = _run(sizes)
            adds = adds_of(V3Shape(LEDGER, 0, KEY, FLAGS), run)
            self.assertEqual(adds.wire, 3)
            attempts = [adds.requests(3, first) for first in (5 << 32, (9 << 32) + 100)]
            for first, frames in zip((5 << 32, (9 << 32) + 100), attempts, strict=True):
                self.assertEqual(self.read(frames, run), (list(range(first, first + run.count)), {False}))

    def test_v2_frames_over_v3(self) -> None:
        """What is laid out for V2 can be sent over V3."""
        for sizes in SIZES:
            run = _run(sizes)
            adds = adds_of(V2Shape(LEDGER, 0, KEY, FLAGS), run)
            ids, deferred = self.read(adds.requests(3, 5 << 32), run)
            self.assertEqual((ids, deferred), (list(range(5 << 32, (5 << 32) + run.count)), {False}))

    def test_part(self) -> None:
        """Adds hold what they were given, and nothing of the log."""
        frames = bytearray(v2.encode_adds(KEY, _run([20])))
        adds = SealedAdds(V2Shape(LEDGER, DIGESTER.size, KEY), LEDGER, 90, 1, bytes(frames), len(frames))
        frames[:] = bytes(len(frames))
        self.assertEqual(adds.requests(2, 0), v2.encode_adds(KEY, _run([20])))

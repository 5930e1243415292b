"""Memory has bounds (S11): peers that do not read, and writers that are faster than the disk."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.group_commit import CommitOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.server.limits import ServerLimits
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ..bounds import until
from ..simulated_disk.sim_disk import Operation
from .rig import MIB, Peer, Rig, add_replies, adds, batch, entry, reads, run

KIB = 1024


def stuck(rig: Rig) -> Peer:
    """A peer whose transport keeps what is written to it, and says so, as when its other end does not read."""
    peer = rig.connect()
    write = peer.transport.write

    def full(data: bytes) -> None:
        write(data)
        peer.connection.pauseProducing()

    peer.transport.write = full  # type: ignore[method-assign]
    return peer


class ReaderTests(SynchronousTestCase):
    """200 readers ask for batches of 5 MiB and do not read; the bookie allows 8 MiB of such replies."""

    READERS = 200
    LIMITS = ServerLimits(pending_bytes=8 * MIB, small_reply=16 * KIB)
    BOUND = 8 * MIB + 5 * MIB + READERS * (16 + 10) * KIB
    """The limit, the reply that passes it, and for each reader a small reply and the entry it begins with."""

    def setUp(self) -> None:
        settings = StorageSettings(write_cache_bytes=32 * MIB, read_cache_bytes=MIB)
        self.rig = Rig(options=EngineOptions(server=self.LIMITS), storage=settings)
        for first in range(0, 700, 100):
            self.rig.add(run(1, first, 100, bytes(10 * KIB)))
        self.rig.drain()
        self.metrics = self.rig.engine.factory.metrics

    def attack(self) -> list[Peer]:
        """They ask, each for two batches."""
        peers = [stuck(self.rig) for _ in range(self.READERS)]
        for peer in peers:
            peer.send(batch(1, 0, 0, 5 * MIB) + batch(1, 0, 0, 5 * MIB))
        self.rig.drain()
        return peers

    def test_from_memory(self) -> None:
        """What is held for them is bounded, and counted; a reader that reads gets all it wants, by more requests."""
        peers = self.attack()
        held = sum(len(peer.transport.value()) for peer in peers)
        self.assertLess(held, self.BOUND)
        self.assertGreater(held, 8 * MIB)
        self.assertEqual(self.metrics.pending_bytes.value, held)
        self.assertTrue(all(len(peer.transport.value()) > 10 * KIB for peer in peers))

    def test_from_disk(self) -> None:
        """The same where the entries come from the disk, all loads at once."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = Rig(self.rig.disk, options=EngineOptions(server=self.LIMITS))
        self.metrics = self.rig.engine.factory.metrics
        held = sum(len(peer.transport.value()) for peer in self.attack())
        self.assertLess(held, self.BOUND)
        self.assertEqual(self.metrics.pending_bytes.value, held)

    def test_others_are_served(self) -> None:
        """A peer that reads is answered meanwhile: single reads as ever, batches in small portions."""
        self.attack()
        peer = self.rig.connect()
        peer.send(reads(1, range(5)))
        self.assertEqual(len(peer.replies()), 5 * (28 + len(entry(1, 0, bytes(10 * KIB)))))
        peer.send(batch(1, 0, 0, 5 * MIB))
        self.assertIn(len(peer.replies()), range(10 * KIB, 16 * KIB))

    def test_afterwards(self) -> None:
        """When they read, or go, nothing is held for them, and batches are as big as ever."""
        peers = self.attack()
        for number, peer in enumerate(peers):
            if number % 2:
                peer.leave()
            else:
                peer.transport.write = lambda data: None  # type: ignore[method-assign]
                peer.connection.resumeProducing()
        self.assertEqual(self.metrics.pending_bytes.value, 0)
        peer = self.rig.connect()
        peer.send(batch(1, 0, 0, 5 * MIB))
        self.assertGreater(len(peer.replies()), 5 * MIB - 20 * KIB)


class BigEntryTests(SynchronousTestCase):
    """Peers pipeline single reads of entries of 128 KiB that are on disk, and do not read the replies."""

    SIZE = 128 * KIB
    COUNT = 100

    def restarted(self, resident: bool, **limits: int) -> Rig:
        rig = Rig(storage=StorageSettings(write_cache_bytes=32 * MIB, read_cache_bytes=MIB))
        rig.add(run(1, 0, 20, bytes(self.SIZE)))
        rig.drain()
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        disk = rig.disk.crash()
        disk.resident = lambda: resident
        rig = Rig(disk, options=EngineOptions(server=ServerLimits(**limits)))
        rig.connect().send(reads(1, range(20)))  # rows are looked up
        rig.drain()
        return rig

    def asked(self, rig: Rig) -> list[int]:
        """:returns: bytes of every read of an entry log from now on."""
        sizes: list[int] = []

        def note(op: Operation) -> bool:
            if op.name in ("pread", "pread_resident") and op.path.endswith(".log"):
                sizes.append(op.size)
            return False

        rig.disk.fail(errno.EIO, when=note)
        return sizes

    def test_from_memory(self) -> None:
        """Of what the page cache holds, so much is read as a connection may have unread, and one entry."""
        rig = self.restarted(True, unsent_bytes=256 * KIB)
        read = self.asked(rig)
        peer = stuck(rig)
        peer.send(reads(1, [5] * self.COUNT))
        self.assertLessEqual(len(peer.transport.value()), 3 * (self.SIZE + 100))
        self.assertLessEqual(sum(read), 3 * (self.SIZE + 100))

    def test_from_disk(self) -> None:
        """A load of many entries ends where these are much more than was expected, and the others are loaded later."""
        rig = self.restarted(False, unsent_bytes=256 * KIB)
        read = self.asked(rig)
        peer = rig.connect()
        peer.send(reads(1, [19 - number % 20 for number in range(self.COUNT)]))
        before, most = 0, 0
        for _ in until(lambda: not rig.executor.step(), 1000):
            most, before = max(most, sum(read) - before), sum(read)
        self.assertLess(most, 2 * MIB + 2 * self.SIZE)
        self.assertEqual(len(peer.replies()), self.COUNT * (28 + len(entry(1, 0, bytes(self.SIZE)))))

    def test_all_together(self) -> None:
        """Beyond a limit of what all peers have not read, the one that has held most for longest is dropped."""
        rig = self.restarted(True, unsent_bytes=256 * KIB, pending_bytes=MIB, unread_bytes=2 * MIB)
        peers = []
        for _ in range(40):
            peers.append(stuck(rig))
            peers[-1].send(reads(1, [5]))
            rig.clock.advance(1)
        self.assertLessEqual(rig.engine.factory.unread.n_bytes, 2 * MIB)
        self.assertEqual([peer.ended for peer in peers], [True] * 25 + [False] * 15)
        for peer in peers:
            peer.leave()
        self.assertEqual((rig.engine.factory.unread.n_bytes, rig.engine.factory.metrics.pending_bytes.value), (0, 0))


class WriterTests(SynchronousTestCase):
    """Three writers send ten times what the disk takes."""

    OPTIONS = EngineOptions(
        commit=CommitOptions(max_queued_bytes=MIB), requests=RequestLimits(max_add_bytes=2 * MIB, max_adds=1000)
    )
    COUNT = 2000

    def setUp(self) -> None:
        self.rig = Rig(options=self.OPTIONS, storage=StorageSettings(write_cache_bytes=4 * MIB, read_cache_bytes=MIB))
        self.peers = [self.rig.connect() for _ in range(3)]
        self.unsent = [
            [adds(run(ledger_id, first, 10, bytes(KIB))) for first in range(0, self.COUNT, 10)]
            for ledger_id in range(3)
        ]

    def _send(self, count: int) -> int:
        """Each writer sends so many chunks, unless the bookie does not read; returns how many it took."""
        taken = 0
        for peer, chunks in zip(self.peers, self.unsent, strict=True):
            for _ in range(count):
                if chunks and not peer.held:
                    peer.send(chunks.pop(0))
                    taken += 1
        return taken

    def test_writers_are_held(self) -> None:
        """With a disk that stands still every writer is held in the end, and what was taken is bounded."""
        for _ in until(lambda: not self._send(10), self.COUNT):
            pass
        self.assertTrue(all(peer.held for peer in self.peers))
        commit, storage = self.rig.engine.commits[0], self.rig.storage
        self.assertLess(commit.queued_bytes, MIB + 20 * KIB)
        self.assertLess(storage.pending_bytes(), MIB + 20 * KIB)
        self.assertLess(sum(200 - len(chunks) for chunks in self.unsent) * 10 * KIB, 3 * (2 * MIB + 20 * KIB))

    def test_nothing_is_lost(self) -> None:
        """With a slow disk all is acknowledged in the end, in order, and is there after a power cut."""
        replies = [b"", b"", b""]
        for _ in until(lambda: not any(self.unsent) and not self.rig.executor.queued, self.COUNT):
            self._send(10)
            self.rig.executor.step()
            self.assertLess(self.rig.engine.commits[0].queued_bytes, MIB + 20 * KIB)
            self.assertLess(self.rig.storage.pending_bytes(), 3 * MIB)
            replies = [old + peer.replies() for old, peer in zip(replies, self.peers, strict=True)]
        for ledger_id, found in enumerate(replies):
            self.assertEqual(found, add_replies(run(ledger_id, 0, self.COUNT, bytes(KIB)), Status.EOK))
        self._verify(self.rig.restart())

    def _verify(self, rig: Rig) -> None:
        for ledger_id in range(3):
            peer, decoder = rig.connect(), ClientDecoder(V2)
            peer.send(reads(ledger_id, range(self.COUNT)))
            rig.drain()
            found = {reply.entry_id: reply.entry for reply in decoder.receive(peer.replies())}  # type: ignore[attr-defined]
            self.assertEqual(found, {i: entry(ledger_id, i, bytes(KIB)) for i in range(self.COUNT)})

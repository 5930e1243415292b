"""Batch reads."""

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import FENCE, BatchRead, BatchReply
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from tests.wires import WIRES

from ..rig import KEY, Peer, Rig, entry, run


def request(
    wire: int, first: int, count: int, size: int, flags: int = 0, key: bytes | None = None, lac: int | None = None,
    ledger_id: int = 1,
) -> BatchRead:  # fmt: skip
    timeout_ms = None if lac is None else 5000
    return BatchRead(WIRES[wire], wire, flags, ledger_id, first, 77, count, size, key, lac, timeout_ms)


def send(peer: Peer, batch: BatchRead) -> None:
    codec = v2_requests_out if batch.version == 2 else v3_requests_out
    peer.send(codec.encode_batch_read(batch))


def reply_of(peer: Peer, wire: int) -> tuple[BatchReply, int]:
    """The only reply and its bytes on the wire."""
    data = peer.replies()
    decoder = ClientDecoder(WIRES[wire])
    (found,) = decoder.receive(data)
    assert isinstance(found, BatchReply) and found.request_id == 77
    return found, len(data)


def entries_of(reply: BatchReply) -> list[bytes]:
    return [] if reply.entries is None else list(reply.entries.entries())


class BatchTestCase(SynchronousTestCase):
    """A bookie with 100 entries of 50 bytes in ledger 1."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.rig.add(run(1, 0, 60, bytes(18), lac=3))
        self.rig.add(run(1, 60, 40, bytes(18), lac=50))
        self.rig.drain()
        self.peer = self.rig.connect()

    def ask(self, batch: BatchRead) -> BatchReply:
        peer = self.rig.connect()
        send(peer, batch)
        self.rig.drain()
        return reply_of(peer, batch.version)[0]

    def count(self, batch: BatchRead) -> int:
        reply = self.ask(batch)
        self.assertEqual(reply.status, Status.EOK)
        return len(entries_of(reply))


class OddIdTests(BatchTestCase):
    """Entry ids that no entry has."""

    def test_below_the_last(self) -> None:
        """-1 stands for the last entry; below it, the request is bad, with a fence too."""
        for wire in (2, 3):
            for flags, key in ((0, None), (FENCE, KEY)):
                self.assertIs(self.ask(request(wire, -2, 1, 1000, flags, key)).status, Status.EBADREQ)


class LimitTests(BatchTestCase):
    """How many entries there are."""

    def test_memory_only(self) -> None:
        """A batch that is in memory takes no thread and is one write, also across runs."""
        send(self.peer, request(2, 50, 20, 1 << 20))
        self.assertEqual((self.rig.executor.busy_threads(), self.peer.transport.writes), ([], 1))
        reply, _ = reply_of(self.peer, 2)
        self.assertEqual(entries_of(reply), [entry(1, i, bytes(18), 3 if i < 60 else 50) for i in range(50, 70)])

    def test_count(self) -> None:
        """``maxCount`` limits; zero and less do not."""
        for wire in (2, 3):
            self.assertEqual([self.count(request(wire, 0, n, 1 << 20)) for n in (1, 7, 0, -1)], [1, 7, 100, 100])

    def test_size_v2(self) -> None:
        """A V2 reply is at most ``maxSize`` on the wire, header included, but has one entry at least."""
        for size in (0, -5, 1, 89, 90, 143, 144, 1000):
            send(self.peer, request(2, 0, 100, size))
            reply, length = reply_of(self.peer, 2)
            self.assertEqual(len(entries_of(reply)), max(1, (size - 36) // 54))
            self.assertTrue(length <= size or len(entries_of(reply)) == 1)

    def test_size_v3(self) -> None:
        """A V3 entry costs its size and eight."""
        self.assertEqual([self.count(request(3, 0, 100, size)) for size in (0, 57, 58, 115, 116)], [1, 1, 1, 1, 2])

    def test_prediction_v2(self) -> None:
        """In V2 the size of the first entry limits the number, as clients of Apache's bookie know it."""
        entries = [entry(2, 0, bytes(68)), *(entry(2, i, b"") for i in range(1, 30))]
        self.rig.add(EntryRun.of_entries(2, 0, entries))
        self.rig.drain()
        self.assertEqual(self.count(request(2, 0, 100, 300, ledger_id=2)), 2)
        self.assertEqual(self.count(request(3, 0, 100, 300, ledger_id=2)), 5)

    def test_gap(self) -> None:
        """A gap ends the batch; a missing first entry is the answer."""
        self.rig.add(run(1, 110, 5))
        self.rig.drain()
        for wire in (2, 3):
            self.assertEqual(self.count(request(wire, 90, 100, 1 << 20)), 10)
            self.assertEqual(self.ask(request(wire, 105, 100, 1 << 20)).status, Status.ENOENTRY)
            self.assertEqual(self.ask(request(wire, 0, 5, 1 << 20, ledger_id=9)).status, Status.ENOLEDGER)

    def test_from_the_last(self) -> None:
        """A batch from -1 has the last entry and then those from 0 on."""
        reply = self.ask(request(2, -1, 3, 1 << 20))
        self.assertEqual(entries_of(reply), [entry(1, i, bytes(18), 50 if i == 99 else 3) for i in (99, 0, 1)])

    def test_v3_tells_the_lac(self) -> None:
        """A V3 reply has the highest LAC received."""
        self.assertEqual(self.ask(request(3, 0, 1, 100)).max_lac, 50)

    @settings(max_examples=60)
    @given(
        sizes=st.lists(st.integers(0, 300), min_size=1, max_size=30), cuts=st.sets(st.integers(1, 29)),
        first=st.integers(0, 29), count=st.integers(-1, 40), size=st.integers(-1, 4000),
    )  # fmt: skip
    def test_rules(self, sizes: list[int], cuts: set[int], first: int, count: int, size: int) -> None:
        """However the entries are cut into runs, the number is what the rules of V2 say."""
        rig = Rig()
        entries = [entry(3, i, bytes(n)) for i, n in enumerate(sizes)]
        bounds = [0, *sorted(cut for cut in cuts if cut < len(entries)), len(entries)]
        for start, end in pairwise(bounds):
            rig.add(EntryRun.of_entries(3, start, entries[start:end]))
        rig.drain()
        peer = rig.connect()
        send(peer, request(2, first, count, size, ledger_id=3))
        rig.drain()
        reply, _ = reply_of(peer, 2)
        self.assertEqual(entries_of(reply), expected_v2(entries[first:], count, size))


def expected_v2(entries: list[bytes], count: int, size: int) -> list[bytes]:
    """The rules, entry by entry."""
    taken = entries[:1]
    used = 36 + sum(len(e) + 4 for e in taken)
    limit = count if count > 0 else 1 << 31
    if taken:
        limit = min(limit, 1 + (size - used) // (len(taken[0]) + 4) if size > used else 1)
    for following in entries[1:]:
        used += len(following) + 4
        if used > size or len(taken) >= limit:
            break
        taken.append(following)
    return taken


class DiskTests(BatchTestCase):
    """Batches that are not in memory."""

    def setUp(self) -> None:
        super().setUp()
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = self.rig.restart()
        self.peer = self.rig.connect()

    def test_one_load(self) -> None:
        """A batch that lies together on disk is one load."""
        send(self.peer, request(2, 0, 100, 1 << 20))
        self.assertEqual(self.rig.executor.busy_threads(), ["read"])
        self.rig.executor.step()
        reply, _ = reply_of(self.peer, 2)
        self.assertEqual(len(entries_of(reply)), 100)
        storage = self.rig.storage
        assert isinstance(storage, LedgerStorage)
        self.assertEqual(storage.loads, 1)

    def test_half_in_memory(self) -> None:
        """What is in memory and what is on disk make one batch."""
        self.rig.add(run(1, 100, 10, bytes(18)))
        self.rig.drain()
        self.assertEqual(self.count(request(2, 90, 100, 1 << 20)), 20)
        self.assertEqual(self.count(request(3, 80, 100, 1 << 20)), 30)

    def test_io_error(self) -> None:
        """S5: an error on the first entry is the answer."""
        self.rig.fail("pread", "/ledger0/")
        self.assertEqual(self.ask(request(2, 0, 100, 1 << 20)).status, Status.EIO)

    def test_refused_behind_memory(self) -> None:
        """A load that is refused when entries from memory are gathered leaves nothing counted."""
        self.rig.add(run(2, 10, 10, bytes(18)))
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        rig = Rig(self.rig.disk.crash(), options=EngineOptions(bookie=BookieOptions(max_waiting_reads=1)))
        rig.add(run(2, 0, 10, bytes(18)))
        rig.drain()
        rig.bookie.load([(1, 0, 0)])
        peer = rig.connect()
        send(peer, request(2, 0, 20, 1 << 20, ledger_id=2))
        self.assertIs(reply_of(peer, 2)[0].status, Status.ETOOMANYREQUESTS)
        self.assertEqual(rig.engine.factory.metrics.pending_bytes.value, 0)

    def test_gone_peer(self) -> None:
        """A peer that leaves while the disk is read costs nothing more."""
        send(self.peer, request(2, 0, 100, 1 << 20))
        self.peer.leave()
        self.rig.drain()
        self.assertEqual((self.peer.replies(), self.rig.engine.context.reads.in_progress), (b"", 0))


class ResidentTests(DiskTests):
    """The same with a page cache that holds what it was asked for once."""

    def setUp(self) -> None:
        super().setUp()
        self.rig.disk.resident = lambda: True

    def test_no_thread(self) -> None:
        """Once the index was asked, batches need no thread, of both protocols and over the bounds of runs."""
        self.count(request(2, 0, 1, 100))
        self.count(request(2, 60, 1, 100))
        for wire in (2, 3):
            peer = self.rig.connect()
            for first, count, size in ((0, 100, 1 << 20), (50, 20, 1 << 20), (5, 9, 300), (7, 0, 0)):
                send(peer, request(wire, first, count, size))
                self.assertEqual(self.rig.executor.busy_threads(), [])
                reply, _ = reply_of(peer, wire)
                limit = max(1, (size - 36) // 54 if wire == 2 else size // 58)
                wanted = range(first, min(first + (count or 100), first + limit, 100))
                self.assertEqual(entries_of(reply), [entry(1, i, bytes(18), 3 if i < 60 else 50) for i in wanted])

    def test_some_pages_gone(self) -> None:
        """Whatever memory holds, a batch is what the rules say."""
        chance = Random(7)
        self.rig.disk.resident = lambda: chance.random() < 0.5
        for _ in range(40):
            first, size = chance.randrange(100), chance.randrange(6000)
            limit = max(1, (size - 36) // 54)
            self.assertEqual(self.count(request(2, first, 0, size)), min(limit, 100 - first))


class SharedLoadTests(BatchTestCase):
    """Several batches of a reader on their way at once."""

    def setUp(self) -> None:
        super().setUp()
        self.rig.add(run(5, 0, 100, bytes(4000)))
        self.rig.drain()
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = self.rig.restart()
        self.peer = self.rig.connect()
        self.count(request(2, 0, 1, 5000, ledger_id=5))  # now it is known how big the entries are

    def counts(self) -> list[int]:
        """Entries of the replies to three batches of ten entries that follow each other."""
        for first in (10, 20, 30):
            send(self.peer, request(2, first, 10, 1 << 20, ledger_id=5))
        self.rig.drain()
        replies = ClientDecoder(V2).receive(self.peer.replies())
        return [reply.entries.count for reply in replies if isinstance(reply, BatchReply) and reply.entries]

    def test_one_load_for_all(self) -> None:
        """The load of the first batch brings what the others ask for."""
        before = self.rig.storage.loads  # type: ignore[attr-defined]
        self.assertEqual(self.counts(), [10, 10, 10])
        self.assertEqual(self.rig.storage.loads - before, 1)  # type: ignore[attr-defined]

    def test_failed_load(self) -> None:
        """Who waited for a load that failed reads for himself."""
        self.rig.fail("pread", "/ledger0/")
        self.assertEqual(self.counts(), [10, 10])


class FenceTests(BatchTestCase):
    """Fencing batch reads."""

    def test_durable(self) -> None:
        """S2: the reply waits for the fence, a negative one too."""
        for wire, first in ((2, 0), (3, 500)):
            with self.subTest(wire=wire):
                ledger_id, peer = 10 + wire, self.rig.connect()
                send(peer, request(wire, first, 5, 1000, FENCE, KEY, ledger_id=ledger_id))
                self.assertEqual(peer.replies(), b"")
                self.rig.drain()
                self.assertEqual(reply_of(peer, wire)[0].status, Status.ENOENTRY)
                (error,) = self.rig.restart().add(run(ledger_id, 0))
                assert error is not None

    def test_keys(self) -> None:
        """Fencing needs the right key."""
        self.assertEqual(self.ask(request(3, 0, 5, 1000, FENCE)).status, Status.EUA)
        self.assertEqual(self.ask(request(2, 0, 5, 1000, FENCE, b"x" * 20)).status, Status.EUA)
        self.assertEqual(self.rig.add(run(1, 100)), [])


class LongPollTests(BatchTestCase):
    """V3 batch reads that wait for new entries."""

    def test_waits(self) -> None:
        """It is answered when the LAC passes, with what is there."""
        send(self.peer, request(3, 100, 10, 1000, lac=50))
        self.rig.drain()
        self.assertEqual(self.peer.replies(), b"")
        self.rig.add(run(1, 100, 2, lac=99))
        self.rig.drain()
        reply, _ = reply_of(self.peer, 3)
        self.assertEqual((len(entries_of(reply)), reply.max_lac), (2, 99))

    def test_times_out(self) -> None:
        """Without news the time limit ends it."""
        send(self.peer, request(3, 100, 10, 1000, lac=50))
        self.rig.clock.advance(5)
        self.assertEqual(reply_of(self.peer, 3)[0].status, Status.ENOENTRY)

    def test_gone_peer(self) -> None:
        """A peer that leaves takes its wait along."""
        send(self.peer, request(3, 100, 10, 1000, lac=50))
        self.peer.leave()
        self.assertEqual(self.rig.clock.getDelayedCalls(), [])
        self.assertEqual(self.rig.engine.context.reads.in_progress, 0)


class MetricsTests(BatchTestCase):
    """What is counted of batch reads."""

    def test_counted(self) -> None:
        """A reply counts by its bytes on the wire, a refusal by its latency alone; the two are told apart."""
        metrics = self.rig.engine.context.metrics.batch_read
        for n_replies, wire in enumerate((2, 3), 1):
            before = metrics.size.sum
            send(self.peer, request(wire, 0, 10, 1 << 20))
            self.assertEqual(reply_of(self.peer, wire)[1], metrics.size.sum - before)
            self.assertEqual((metrics.entries.sum, metrics.size.count), (10 * n_replies, n_replies))
            self.peer = self.rig.connect()
        self.ask(request(2, 500, 1, 1 << 20))
        self.assertEqual((metrics.success.count, metrics.failure.count, metrics.size.count), (2, 1, 2))

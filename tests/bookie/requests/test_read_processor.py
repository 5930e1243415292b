"""Runs of plain reads."""

from collections.abc import Sequence
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests import read_processor
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.bookie.requests.read_ahead import FIRST_WINDOW
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.server.limits import ServerLimits
from bookkeeper_twisted.storage.cache.mixed_entries import Scattered
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from tests.wires import WIRES

from ...bounds import until
from ..rig import Peer, Rig, entry, reads, run


def decoded(data: bytes, wire: int = 2) -> list[ReadReply]:
    """The read replies in a stream."""
    decoder = ClientDecoder(WIRES[wire])
    found = decoder.receive(data)
    assert decoder.error is None
    replies = [item for item in found if isinstance(item, ReadReply)]
    assert len(replies) == len(found)
    return replies


class ReadTestCase(SynchronousTestCase):
    """A bookie with entries 0..99 of ledger 1."""

    def setUp(self) -> None:
        rig = Rig()
        for first in range(0, 100, 20):
            rig.add(run(1, first, 20, lac=first - 1))
        rig.drain()
        self.rig = self.prepare(rig)
        self.peer = self.rig.connect()

    def prepare(self, rig: Rig) -> Rig:
        return rig

    def ask(self, ledger_id: int, entry_ids: range | list[int], peer: Peer | None = None) -> dict[int, ReadReply]:
        peer = peer or self.peer
        peer.send(reads(ledger_id, entry_ids))
        self.rig.drain()
        replies = decoded(peer.replies())
        self.assertEqual(len(replies), len(entry_ids))
        return {reply.entry_id: reply for reply in replies}


class MemoryTests(ReadTestCase):
    """What is in memory."""

    def test_scarce_memory(self) -> None:
        """While replies must be small, those to reads in order and to scattered reads are collected up to that size."""
        size = len(entry(1, 0))
        for entry_ids in ([*range(100)], [i * 7 % 100 for i in range(100)]):
            for is_scarce in (False, True):
                limits = ServerLimits(pending_bytes=0 if is_scarce else 1 << 20, small_reply=1000)
                rig = Rig(self.rig.disk, options=EngineOptions(server=limits))
                peer, counts = rig.connect(), list[int]()
                rig.engine.factory.count_pending(0)
                self.patch(peer.connection, "reply", lambda data, count=1, counts=counts: counts.append(count))
                peer.send(reads(1, entry_ids))
                rig.drain()
                self.assertEqual(sum(counts), 100)
                self.assertEqual(max(counts) < 1000 // size + 20, is_scarce, counts)

    def test_straight_on(self) -> None:
        """Reads that go straight on are answered at once, by one write."""
        self.peer.send(reads(1, range(100)))
        self.assertEqual(self.rig.executor.busy_threads(), [])
        self.assertEqual(self.peer.transport.writes, 1)
        self.assertEqual(
            [r.entry for r in decoded(self.peer.replies())], [entry(1, i, lac=i // 20 * 20 - 1) for i in range(100)]
        )

    def test_any_order(self) -> None:
        """Reads in any order, and doubled, are answered one by one."""
        entry_ids = [7, 3, 4, 5, 99, 0, 7]
        self.peer.send(reads(1, entry_ids))
        self.assertEqual([r.entry_id for r in decoded(self.peer.replies())], entry_ids)

    def test_missing(self) -> None:
        """Missing entries and ledgers get their status."""
        self.assertEqual(self.ask(1, [100])[100].status, Status.ENOENTRY)
        self.assertEqual(self.ask(2, [0])[0].status, Status.ENOLEDGER)
        self.assertEqual(self.ask(1, [-2])[-2].status, Status.EBADREQ)

    def test_last(self) -> None:
        """Entry -1 is the last one; a V2 reply has the id that was asked for."""
        reply = self.ask(1, [-1])[-1]
        self.assertEqual(reply.entry, entry(1, 99, lac=79))

    def test_last_among_others(self) -> None:
        """Entry -1 in a row of reads takes nothing from the others."""
        replies = self.ask(1, [-1, 0, 1])
        self.assertEqual({i: r.status for i, r in replies.items()}, dict.fromkeys((-1, 0, 1), Status.EOK))
        self.assertEqual([replies[i].entry for i in (-1, 0)], [entry(1, 99, lac=79), entry(1, 0, lac=-1)])

    def test_v3_last(self) -> None:
        """A V3 reply to entry -1 has the id that was asked for, too, and the LAC."""
        self.peer.send(requests_out.encode_reads(1, [-1], 0, 10))
        (found,) = decoded(self.peer.replies(), 3)
        expected = (10, -1, 79, entry(1, 99, lac=79))
        self.assertEqual((found.txn_id, found.entry_id, found.max_lac, found.entry), expected)

    def test_v3(self) -> None:
        """A V3 reply carries the LAC of the bookie, an error does not."""
        self.peer.send(requests_out.encode_reads(1, [5, 200], 0, 10))
        self.rig.drain()
        found, missing = sorted(decoded(self.peer.replies(), 3), key=lambda reply: reply.txn_id or 0)
        self.assertEqual((found.txn_id, found.max_lac, found.entry), (10, 79, entry(1, 5, lac=-1)))
        self.assertEqual((missing.txn_id, missing.max_lac, missing.status), (11, None, Status.ENOENTRY))

    def test_metrics(self) -> None:
        """Reads are counted by outcome."""
        self.ask(1, [1, 2, 100])
        metric = self.rig.engine.context.metrics.read
        self.assertEqual((metric.success.count, metric.failure.count), (2, 1))


class DiskTests(ReadTestCase):
    """What is on disk."""

    def prepare(self, rig: Rig) -> Rig:
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        return rig.restart()

    def test_one_hand_over(self) -> None:
        """All misses of a chunk are one piece of work for the read thread."""
        self.peer.send(reads(1, [50, 3, 4, 99]))
        self.assertEqual(self.rig.executor.busy_threads(), ["read"])
        self.rig.drain()
        self.assertEqual({r.entry_id for r in decoded(self.peer.replies())}, {50, 3, 4, 99})

    def test_straight_on(self) -> None:
        """A row of reads needs a few loads, not one for each entry."""
        storage = self.rig.storage
        assert isinstance(storage, LedgerStorage)
        self.assertEqual(len(self.ask(1, range(100))), 100)
        self.assertLess(storage.loads, 5)
        self.assertEqual(len(self.ask(1, range(100))), 100)
        self.assertLess(storage.loads, 5)

    def test_missing_in_a_row(self) -> None:
        """A row that runs over the end is answered in full, by few hand-overs."""
        self.peer.send(reads(1, range(90, 150)))
        steps = len(list(until(lambda: not self.rig.executor.step(), 100)))
        replies = decoded(self.peer.replies())
        self.assertEqual(by_status(replies), {Status.EOK: 10, Status.ENOENTRY: 50})
        self.assertLess(steps, 6)

    def test_io_error(self) -> None:
        """S5: entries that cannot be read are I/O errors; the others of the row are tried again."""
        self.rig.fail("pread", "/ledger0/")
        statuses = [reply.status for reply in self.ask(1, range(100)).values()]
        self.assertEqual((statuses.count(Status.EIO), statuses.count(Status.EOK)), (1, 99))

    def test_last(self) -> None:
        """The last entry is looked up on disk; once its id is known, the entry alone."""
        for _ in range(2):
            self.assertEqual(self.ask(1, [-1])[-1].entry, entry(1, 99, lac=79))

    def test_too_many(self) -> None:
        """S11: beyond the limit of waiting reads the answer is "too many"."""
        rig = self.rig = Rig(self.rig.disk.crash(), options=EngineOptions(bookie=BookieOptions(max_waiting_reads=0)))
        replies = self.ask(1, [0, 1], rig.connect())
        self.assertEqual({reply.status for reply in replies.values()}, {Status.ETOOMANYREQUESTS})

    def test_gone_peer(self) -> None:
        """A peer that leaves while the disk is read costs nothing more."""
        self.peer.send(reads(1, range(100)))
        self.peer.leave()
        self.rig.drain()
        self.assertEqual(self.peer.replies(), b"")
        self.assertEqual(self.rig.engine.context.reads.in_progress, 0)


class ResidentTests(ReadTestCase):
    """What is on disk, and in memory all the same."""

    def prepare(self, rig: Rig) -> Rig:
        rig.disk.resident = lambda: True
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        return rig.restart()

    def test_no_thread(self) -> None:
        """Once the index was asked, reads in any order need no thread, and leave by one write."""
        self.ask(1, range(0, 100, 20))
        writes = self.peer.transport.writes
        entry_ids = [50, 3, 4, 99, *range(20, 60)]
        self.peer.send(reads(1, entry_ids))
        self.assertEqual((self.rig.executor.busy_threads(), self.peer.transport.writes), ([], writes + 1))
        expected = [(i, entry(1, i, lac=i // 20 * 20 - 1)) for i in entry_ids]
        self.assertEqual([(r.entry_id, r.entry) for r in decoded(self.peer.replies())], expected)

    def test_two_logs(self) -> None:
        """A reply that is full of entries of one entry log is followed by one with entries of the next log."""
        entry_ids = [*range(0, 120, 2)]
        for half in (entry_ids[:30], entry_ids[30:]):
            for entry_id in half:
                self.rig.add(run(2, entry_id, data=bytes(20_000)))
            self.rig.drain()
            self.rig.engine.checkpointer.checkpoint()
            self.rig.drain()
            self.rig = self.rig.restart()
        self.peer = self.rig.connect()
        for _ in range(2):
            found = self.ask(2, entry_ids)
            self.assertEqual([found[i].entry for i in entry_ids], [entry(2, i, bytes(20_000)) for i in entry_ids])

    def test_singles(self) -> None:
        """Single reads cost one look-up for many of them, and are counted as what they are."""
        self.ask(1, range(0, 100, 20))
        storage = self.rig.storage
        assert isinstance(storage, LedgerStorage)
        loads, hits = storage.loads, storage.resident_hits
        entry_ids = [i * 37 % 100 for i in range(100)]
        self.peer.send(reads(1, entry_ids))
        self.assertEqual([r.entry_id for r in decoded(self.peer.replies())], entry_ids)
        self.assertEqual((storage.loads, storage.resident_hits - hits), (loads, 100))

    def test_ledgers_in_turn(self) -> None:
        """Reads of many ledgers in turn are one look-up; each is answered as if it were alone, in both protocols."""
        for ledger_id in range(2, 50):
            self.rig.add(run(ledger_id, 0, 3, data=bytes(ledger_id), lac=ledger_id))
        self.rig.drain()
        ids = [(ledger_id, entry_id) for entry_id in (0, 2) for ledger_id in range(2, 50)]
        ids[7:9] = [(60, 0), (5, 3)]
        ids[20] = (7, -1)
        asked = self.looked_up()
        self._ask_each(ids)
        self.assertGreater(max(asked), 40)
        ids[21], ids[30] = (-3, 0), (8, -2)
        self._ask_each(ids)

    def _ask_each(self, ids: list[tuple[int, int]]) -> None:
        last = {(7, -1): entry(7, 2, bytes(7), 7)}
        wrong = {
            (60, 0): Status.ENOLEDGER, (5, 3): Status.ENOENTRY, (-3, 0): Status.ENOLEDGER, (8, -2): Status.EBADREQ,
        }  # fmt: skip
        for wire in (2, 3):
            peer = self.rig.connect()
            frames = [WIRES[wire].encode_reads(*each) for each in ((ledger, [number], 5) for ledger, number in ids)]
            peer.send(b"".join(frames))
            self.rig.drain()
            found = {(reply.ledger_id, reply.entry_id): reply for reply in decoded(peer.replies(), wire)}
            self.assertEqual(len(found), len(ids))
            for ledger_id, entry_id in ids:
                reply, each = found[ledger_id, entry_id], (ledger_id, entry_id)
                self.assertEqual(reply.status, wrong.get(each, Status.EOK))
                expected = last.get(each) or entry(ledger_id, entry_id, bytes(max(ledger_id, 0)), ledger_id)
                self.assertEqual(reply.entry, None if each in wrong else expected)
                self.assertEqual(reply.max_lac, ledger_id if wire == 3 and each not in wrong else None)

    def looked_up(self) -> list[int]:
        """Return a list to which the number of entries of each later look-up of scattered reads is added."""
        asked = list[int]()
        look_up = self.rig.storage.scattered

        def scattered(ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int) -> Scattered:
            asked.append(len(entry_ids))
            return look_up(ledger_ids, entry_ids, max_bytes)

        self.patch(self.rig.storage, "scattered", scattered)
        return asked

    def test_big_entries(self) -> None:
        """A look-up of entries of which few fit a reply is followed by look-ups of few, until entries are small."""
        self.patch(read_processor, "REPLY_BYTES", 64 * 1024)
        for entry_id in range(0, 120, 2):
            self.rig.add(run(2, entry_id, data=bytes(20_000)))
            self.rig.add(run(3, entry_id))
        self.rig.drain()
        asked = self.looked_up()
        entry_ids = [*range(0, 120, 2)]
        found = self.ask(2, entry_ids)
        self.assertEqual([found[i].entry for i in entry_ids], [entry(2, i, bytes(20_000)) for i in entry_ids])
        self.assertEqual((asked[0], max(asked[1:])), (60, 3))
        del asked[:]
        self.ask(3, entry_ids)
        self.assertEqual(asked, [3, 57])

    def test_deleted_ledger(self) -> None:
        """A look-up that ends because the ledger is gone does not make others smaller."""
        for ledger_id in (2, 3):
            for entry_id in range(0, 120, 2):
                self.rig.add(run(ledger_id, entry_id))
        self.rig.drain()
        self.rig.storage.forget((3,), 0)
        asked = self.looked_up()
        self.ask(3, [*range(0, 120, 2)])
        del asked[:]
        self.ask(2, [*range(0, 120, 2)])
        self.assertEqual(asked, [60])

    def test_striped_ledger(self) -> None:
        """Of a ledger of which no row is known few entries are loaded: the rows of the others are found with these."""
        for entry_id in range(0, 900, 3):
            self.rig.add(run(2, entry_id))
        self.rig.drain()
        rig = self.prepare(self.rig)
        storage = rig.storage
        assert isinstance(storage, LedgerStorage)
        peer = rig.connect()
        for entry_ids in (range(0, 450, 3), range(450, 900, 3)):  # as a client sends what it reads ahead
            peer.send(reads(2, entry_ids))
        rig.drain()
        found = {reply.entry_id: reply.entry for reply in decoded(peer.replies())}
        self.assertEqual(found, {entry_id: entry(2, entry_id) for entry_id in range(0, 900, 3)})
        self.assertLess(storage.loads, 40)

    def test_any_entries(self) -> None:
        """Of reads that memory does not hold the first ones are loaded, then all others together."""
        self.rig.disk.resident = lambda: False
        self.peer = self.rig.connect()
        entry_ids = [i * 37 % 100 for i in range(60)]
        self.peer.send(reads(1, [*entry_ids, 200, 300]))
        self.peer.send(reads(1, [5]))
        steps = len(list(until(lambda: not self.rig.executor.step(), 100)))
        replies = decoded(self.peer.replies())
        self.assertEqual(by_status(replies), {Status.EOK: 61, Status.ENOENTRY: 2})
        self.assertLess(steps, 6)

    def test_waiting_reads_count(self) -> None:
        """S11: reads that wait for the first loads of their run count as loads, so that a connection has few."""
        limits = RequestLimits(max_load_bytes=10 * FIRST_WINDOW)
        self.rig = Rig(self.rig.disk.crash(), options=EngineOptions(requests=limits))
        self.rig.disk.resident = lambda: False
        self.peer = self.rig.connect()
        for _ in range(2):
            self.peer.send(reads(1, [i * 37 % 100 for i in range(60)]))
        self.assertEqual((self.rig.executor.busy_threads(), self.peer.held), (["read"], True))
        self.rig.drain()
        self.assertEqual(by_status(decoded(self.peer.replies())), {Status.EOK: 120})

    def test_last(self) -> None:
        """The last entry is not read from the disk either."""
        self.ask(1, range(0, 100, 20))
        storage = self.rig.storage
        assert isinstance(storage, LedgerStorage)
        loads = storage.loads
        self.assertEqual(self.ask(1, [-1])[-1].entry, entry(1, 99, lac=79))
        self.assertEqual(storage.loads, loads)

    def test_some_pages_gone(self) -> None:
        """Whatever memory holds, every read is answered once and right."""
        chance = Random(5)
        self.rig.disk.resident = lambda: chance.random() < 0.5
        for _ in range(20):
            entry_ids = [*range(chance.randrange(50), 60), *chance.sample(range(60, 120), 30), -1]
            replies = self.ask(1, entry_ids)
            for entry_id in entry_ids[:-1]:
                wanted = entry(1, entry_id, lac=entry_id // 20 * 20 - 1) if entry_id < 100 else None
                self.assertEqual(replies[entry_id].entry, wanted)
            self.assertEqual(replies[-1].entry, entry(1, 99, lac=79))

    def test_v3(self) -> None:
        """V3 reads of several ledgers carry the LAC of their own."""
        rig = self.rig
        rig.add(run(2, 0, 5, lac=3))
        rig.add(run(3, 0, 5, lac=2))
        rig.drain()
        self.ask(1, [0, 20])
        data = b"".join([requests_out.encode_reads(ledger, [0, 1], 0, 10 * ledger) for ledger in (2, 1, 3)])
        peer = rig.connect()
        peer.send(data)
        self.assertEqual(rig.executor.busy_threads(), [])
        found = {r.txn_id: (r.ledger_id, r.entry_id, r.max_lac) for r in decoded(peer.replies(), 3)}
        wanted = {10 * ledger + i: (ledger, i, lac) for ledger, lac in ((2, 3), (1, -1), (3, 2)) for i in (0, 1)}
        self.assertEqual(found, wanted)

    def test_damage(self) -> None:
        """S9: damage in memory is an error of the entry, never a wrong entry."""
        self.ask(1, range(100))
        (log,) = [path for path in self.rig.disk.list("/ledger0/current") if path.endswith(".log")]
        file = self.rig.disk.open(f"/ledger0/current/{log}")
        data = file.pread(1 << 20, 0)
        at = data.index(entry(1, 3, lac=-1))
        file.pwrite(b"\xff", at + 15)
        replies = self.ask(1, [4, 3, 2])
        self.assertEqual([replies[i].status for i in (4, 3, 2)], [Status.EOK, Status.EIO, Status.EOK])


def by_status(replies: list[ReadReply]) -> dict[Status, int]:
    """How often each status came."""
    counted: dict[Status, int] = {}
    for reply in replies:
        counted[reply.status] = counted.get(reply.status, 0) + 1
    return counted

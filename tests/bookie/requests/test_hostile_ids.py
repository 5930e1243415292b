"""Ids at both ends of 64 bits in requests of every kind: each is answered, and nothing is held for it afterwards."""

import os
import struct
from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import Engine
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.operations import FENCE, RECOVERY_ADD, Operation, V2Op
from bookkeeper_twisted.codec.runs import AddReplies, BatchRead, BatchReply, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.model import MAX_ENTRY_ID
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings
from bookkeeper_twisted.testing.executor import StepExecutor
from tests.wires import WIRES

from ..rig import KEY, MIB, Peer, entry, mixed, run

LOWEST = -(1 << 63)
IDS = (LOWEST, LOWEST + 1, -0x8000, -0x1000, -4096 - 1, -2, -1, 0, 1, 2, MAX_ENTRY_ID - 1, MAX_ENTRY_ID)
KEYS = (None, b"", b"k", KEY, b"\xff" * 20, bytes(4096))
MANY = range(1000, 2100)
"""Ledgers with a few entries each: their rows are packed."""


class _Bookie:
    """A bookie on real files, which hold entries at both ends of the ids; some are in its caches, too."""

    def __init__(self, root: str) -> None:
        self.clock = Clock()
        self.executor = StepExecutor(self.clock)
        fs = RealFileSystem()
        paths = StorePaths((f"{root}/journal",), (f"{root}/ledgers",), (f"{root}/ledgers",))
        paths.make(fs)
        sizes = StorageSettings(write_cache_bytes=4 * MIB, read_cache_bytes=MIB)
        journals = JournalSettings(max_size=MIB, preallocate=MIB // 4)
        self.store = Store.open(fs, paths, SqliteRunIndex.open, 1, b"salt", journals, sizes)
        self.store.recover()
        self.failures: list[object] = []
        self.engine = Engine(
            self.store.storage, self.store.journals, self.executor, self.clock, self._usage, self.failures.append
        )
        self._fill()

    def _usage(self) -> "Deferred[tuple[int, int]]":
        return succeed((1000, 400))

    def _fill(self) -> None:
        ends = [run(MAX_ENTRY_ID, MAX_ENTRY_ID - 1, 2), run(7, MAX_ENTRY_ID - 5, 6), run(7, 0, 9), run(1, 0, 9)]
        for first in (0, 4):
            together = [entry(ledger_id, first + i) for i in range(2) for ledger_id in MANY]
            self.engine.bookie.add(mixed(*together), KEY, False, False, False, lambda part, error: None)
            for each in ends:
                self.engine.bookie.add(each, KEY, False, False, False, lambda part, error: None)
            self.drain()
            self.engine.checkpointer.checkpoint()
            self.drain()
        self.engine.bookie.add(run(1, 9, 3), KEY, False, False, False, lambda part, error: None)
        self.drain()

    def drain(self) -> None:
        self.executor.drain()

    def connect(self) -> Peer:
        return Peer(self.engine.factory.buildProtocol(None))

    def held(self) -> tuple[int, ...]:
        """Return what no request may hold on to once it is answered."""
        context = self.engine.context
        permits = [count for each in (context.adds, context.reads) for count in (each.in_progress, each.waiting)]
        return len(os.listdir("/proc/self/fd")), *permits


def _frames(data: bytes) -> list[bytes]:
    """Cut a stream into frames."""
    found = []
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        found.append(data[:end])
        data = data[end:]
    return found


def _entry(ledger_id: int, entry_id: int, lac: int) -> bytes:
    return struct.pack(">qqqq", ledger_id, entry_id, lac, 7) + b"payload"


def _v2_requests(ledger_id: int, entry_id: int) -> Iterator[tuple[str, bytes]]:
    yield "read", v2_requests_out.encode_reads(ledger_id, [entry_id])
    around = [max(LOWEST, min(entry_id + i, MAX_ENTRY_ID)) for i in (-2, -1, 0, 1, 2, 40, 3)]
    yield "reads", v2_requests_out.encode_reads(ledger_id, around)
    for key in (KEY, bytes(20)):
        header = m.Header(V2, 2, V2Op.READ)
        yield (
            "read with key",
            v2_requests_out.encode_request(m.ReadRequest(header, ledger_id, entry_id, master_key=key)),
        )
        yield (
            "fence",
            v2_requests_out.encode_request(m.ReadRequest(header, ledger_id, entry_id, fence=True, master_key=key)),
        )
        for flags in (0, RECOVERY_ADD):
            added = EntryRun.of_entries(ledger_id, entry_id, [_entry(ledger_id, entry_id, entry_id)])
            yield "add", v2_requests_out.encode_adds(key, added, flags)
        for flags, size in ((0, 0), (0, MIB), (FENCE, MIB), (0, LOWEST), (0, MAX_ENTRY_ID)):
            batch = BatchRead(V2, 2, flags, ledger_id, entry_id, -(1 << 63), 1 << 30, size, key)
            yield "batch read", v2_requests_out.encode_batch_read(batch)


def _v3_requests(ledger_id: int, entry_id: int) -> Iterator[tuple[str, bytes]]:
    def header(operation: Operation) -> m.Header:
        return m.Header(V3, 3, operation, 1)

    def read(**fields: object) -> bytes:
        request = m.ReadRequest(header(Operation.READ), ledger_id, entry_id, **fields)  # type: ignore[arg-type]
        return v3_requests_out.encode_request(request)

    yield "read", v3_requests_out.encode_reads(ledger_id, [entry_id], 0, 1)
    around = [max(LOWEST, min(entry_id + i, MAX_ENTRY_ID)) for i in (-2, -1, 0, 1, 2, 40, 3)]
    yield "reads", v3_requests_out.encode_reads(ledger_id, around, 0, MAX_ENTRY_ID - 9)
    yield "fence", read(fence=True)
    yield "long poll", read(previous_lac=entry_id, timeout_ms=entry_id)
    yield "piggyback", read(previous_lac=entry_id, timeout_ms=10, piggyback=True)
    poll = m.ReadRequest(
        header(Operation.READ), ledger_id, -1, previous_lac=entry_id, timeout_ms=ledger_id, piggyback=True
    )
    yield "tail", v3_requests_out.encode_request(poll)
    yield "read LAC", v3_requests_out.encode_request(m.ReadLacRequest(header(Operation.READ_LAC), ledger_id))
    yield "force", v3_requests_out.encode_request(m.ForceLedgerRequest(header(Operation.FORCE_LEDGER), ledger_id))
    yield "list", v3_requests_out.encode_request(m.ListEntriesRequest(header(Operation.LIST_ENTRIES), ledger_id))
    for key in KEYS:
        yield "read with key", read(master_key=key)
        yield "fence with key", read(fence=True, master_key=key)
        for flags, size in ((0, 0), (FENCE, MIB), (0, LOWEST), (0, MAX_ENTRY_ID)):
            batch = BatchRead(V3, 3, flags, ledger_id, entry_id, 1, 1 << 30, size, key, entry_id, 10)
            yield "batch read", v3_requests_out.encode_batch_read(batch)
        body = _entry(ledger_id, entry_id, entry_id)
        packet = struct.pack(">qqqq", ledger_id, entry_id, entry_id, entry_id)
        write = m.WriteLacRequest(header(Operation.WRITE_LAC), ledger_id, entry_id, key or b"", packet)
        yield "write LAC", v3_requests_out.encode_request(write)
        for flags in (0, RECOVERY_ADD):
            yield "add", v3_requests_out.encode_adds(key or b"", ledger_id, entry_id, [body], flags, False, 1)


REQUESTS = {2: _v2_requests, 3: _v3_requests}


class HostileIdTests(SynchronousTestCase):
    """A bookie that is asked for whatever 64 bits can say."""

    def setUp(self) -> None:
        self.bookie = _Bookie(self.mktemp())
        self.addCleanup(self.bookie.store.close)

    def ask(self, frames: bytes, waits: bool = False, what: Sequence[object] = ()) -> bytes:
        """Send requests on a connection; it must go on, and everything must be answered.

        :param waits: whether they may wait longer than this does.
        :param what: they are.
        :returns: the replies.
        """
        peer = self.bookie.connect()
        peer.send(frames)
        self.bookie.drain()
        self.bookie.clock.advance(1)
        self.bookie.drain()
        replies = peer.replies()
        self.assertFalse(peer.ended, what)
        if not waits:
            self.assertEqual(len(_frames(replies)), len(_frames(frames)), what)
        peer.leave()
        return replies

    def read_all(self) -> None:
        """Read what there is in every way, so that files are open and caches warm."""
        for ledger_id in (1, 7, MAX_ENTRY_ID, *MANY[::100]):
            for entry_id in (0, 1, 4, 5, MAX_ENTRY_ID):
                for wire in WIRES:
                    for what, frames in REQUESTS[wire](ledger_id, entry_id):
                        if what in ("read", "reads"):
                            self.ask(frames)

    def test_every_kind(self) -> None:
        """Requests of every kind in both protocols are answered; permits and descriptors are as before."""
        self.read_all()
        before, asked = self.bookie.held(), 0
        for ledger_id in (*IDS, 7, MANY[5]):
            for entry_id in IDS:
                for wire in WIRES:
                    for what, frames in REQUESTS[wire](ledger_id, entry_id):
                        self.ask(frames, what in ("long poll", "tail"), (wire, what, ledger_id, entry_id))
                        asked += 1
        self.assertEqual((self.bookie.held(), self.bookie.failures), (before, []))
        self.assertGreater(asked, 10_000)
        self.bookie.engine.checkpointer.checkpoint()
        self.bookie.drain()
        self.read_all()
        self.assertEqual(self.bookie.held(), before)

    def test_statuses(self) -> None:
        """No ledger has a negative id, no entry one below -1, as in the captured conversations with Apache's bookie."""
        for wire, encode in ((2, v2_requests_out.encode_reads), (3, v3_requests_out.encode_reads)):
            decoder = ClientDecoder(WIRES[wire])
            for ledger_id in (LOWEST, -1, 1, 7, MANY[5]):
                for entry_id in IDS:
                    (reply,) = decoder.receive(self.ask(encode(ledger_id, [entry_id])))
                    assert isinstance(reply, ReadReply)
                    if ledger_id < 0:
                        self.assertIs(reply.status, Status.ENOLEDGER)
                    elif entry_id < -1:
                        self.assertIs(reply.status, Status.EBADREQ)
                    else:
                        self.assertIn(reply.status, (Status.EOK, Status.ENOENTRY))

    def test_nothing_is_fenced(self) -> None:
        """A fencing read that is refused for its ids fences nothing."""
        read = m.ReadRequest(m.Header(V2, 2, V2Op.READ), 7, -5, fence=True, master_key=KEY)
        batch = BatchRead(V2, 2, FENCE, 7, -5, 1, 0, MIB, KEY)
        for request in (v2_requests_out.encode_request(read), v2_requests_out.encode_batch_read(batch)):
            (refused,) = ClientDecoder(V2).receive(self.ask(request))
            assert isinstance(refused, ReadReply | BatchReply)
            self.assertIs(refused.status, Status.EBADREQ)
            (added,) = ClientDecoder(V2).receive(self.ask(v2_requests_out.encode_adds(KEY, run(7, 20))))
            assert isinstance(added, AddReplies)
            self.assertIs(added.status, Status.EOK)

    def test_in_a_row(self) -> None:
        """Reads of reserved ids among others are refused, the others get their entries."""
        for encode, wire in ((v2_requests_out.encode_reads, 2), (v3_requests_out.encode_reads, 3)):
            for entry_ids in ([-4, -3, -2, -1, 0, 1], [2, -5, 3, -5, -1, 4], [-2], [-9, -8], [0, LOWEST, 1]):
                decoder = ClientDecoder(WIRES[wire])
                found = decoder.receive(self.ask(encode(1, entry_ids) + encode(LOWEST, entry_ids)))
                replies = [reply for reply in found if isinstance(reply, ReadReply)]
                good = {r.entry_id: r.entry for r in replies if r.status is Status.EOK}
                last = {-1: entry(1, 11)} if -1 in entry_ids else {}
                self.assertEqual(good, {i: entry(1, i) for i in entry_ids if i >= 0} | last)
                refused = sorted(r.entry_id for r in replies if r.status is Status.EBADREQ)
                self.assertEqual(refused, sorted(i for i in entry_ids if i < -1))
                self.assertEqual(len(replies), 2 * len(entry_ids))
        self.assertEqual(self.bookie.held()[1:], (0, 0, 0, 0))

    def test_batch_to_the_last_id(self) -> None:
        """A batch read that reaches the highest id ends there, from memory and from disk."""
        for _ in range(2):
            for wire, first in ((2, MAX_ENTRY_ID - 3), (3, MAX_ENTRY_ID - 3), (2, MAX_ENTRY_ID), (3, MAX_ENTRY_ID)):
                request = BatchRead(WIRES[wire], wire, 0, 7, first, 1, 0, MIB)
                encode = v2_requests_out.encode_batch_read if wire == 2 else v3_requests_out.encode_batch_read
                (reply,) = ClientDecoder(WIRES[wire]).receive(self.ask(encode(request)))
                assert isinstance(reply, BatchReply) and reply.entries is not None
                self.assertEqual((reply.entries.first, reply.entries.last), (first, MAX_ENTRY_ID))

    def test_batch_from_the_last_entry(self) -> None:
        """A batch read from -1 on goes on with entry 0 behind the highest id, too."""
        request = v2_requests_out.encode_batch_read(BatchRead(V2, 2, 0, 7, -1, 1, 3, MIB))
        (frame,) = _frames(self.ask(request))
        records = b"".join([
            (len(each).to_bytes(4, "big") + each) for each in (entry(7, MAX_ENTRY_ID), entry(7, 0), entry(7, 1))
        ])  # fmt: skip
        self.assertEqual(frame[36:], records)

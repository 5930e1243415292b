"""No request outlives its connection, and none is made for a peer that does not read (S11)."""

import gc
import weakref
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests import read_processor
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.messages import (
    BookieInfoRequest,
    ForceLedgerRequest,
    Header,
    ListEntriesRequest,
    ReadLacRequest,
    ReadRequest,
    WriteLacRequest,
)
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.runs import FENCE, BatchRead
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.protocol.server.limits import ServerLimits

from ...bounds import until
from ...simulated_disk.sim_disk import SimDisk
from ..rig import KEY, Peer, Rig, batch, reads, run
from .test_lac_processor import packet
from .test_session import SlowPeer

_LEDGER = 1
_N_ENTRIES = 100


def _head(operation: Operation, number: int) -> Header:
    return Header(V3, 3, operation, number)


def _read(number: int, entry_id: int = 2, **more: Any) -> bytes:
    return v3_requests_out.encode_request(ReadRequest(_head(Operation.READ, number), _LEDGER, entry_id, **more))


def requests(number: int = 1) -> dict[str, bytes]:
    """A frame of each kind of request that may have to wait, for a ledger that is on disk only.

    :param number: of the request, where the protocol has one.
    """

    def v3_batch(flags: int = 0, **more: Any) -> bytes:
        request = BatchRead(V3, 3, flags, _LEDGER, 0, number, 10, 1 << 20, **more)
        return v3_requests_out.encode_batch_read(request)

    return {
        "read": reads(_LEDGER, [3]),
        "reads": reads(_LEDGER, range(50)),
        "read of the last entry": reads(_LEDGER, [-1]),
        "V3 read": v3_requests_out.encode_reads(_LEDGER, [3], number),
        "batch read": batch(_LEDGER, 0, 50, 1 << 20),
        "V3 batch read": v3_batch(),
        "fencing read": _read(number, fence=True, master_key=KEY),
        "fencing read of the last entry": _read(number, -1, fence=True, master_key=KEY),
        "fencing V2 read": v2_requests_out.encode_request(ReadRequest(Header(V3, 2, 2), _LEDGER, 2, True, False, KEY)),
        "fencing batch read": v3_batch(FENCE, master_key=KEY),
        "long poll": _read(number, -1, previous_lac=5, timeout_ms=5000, piggyback=True),
        "long poll for an entry": _read(number, 3, previous_lac=5, timeout_ms=5000),
        "batch read that polls": v3_batch(previous_lac=5, timeout_ms=5000),
        "read of the LAC": v3_requests_out.encode_request(ReadLacRequest(_head(Operation.READ_LAC, number), _LEDGER)),
        "write of the LAC": v3_requests_out.encode_request(
            WriteLacRequest(_head(Operation.WRITE_LAC, number), _LEDGER, 0, KEY, packet(_LEDGER, 0))
        ),
        "force": v3_requests_out.encode_request(ForceLedgerRequest(_head(Operation.FORCE_LEDGER, number), _LEDGER)),
        "list": v3_requests_out.encode_request(ListEntriesRequest(_head(Operation.LIST_ENTRIES, number), _LEDGER)),
        "disk space": v3_requests_out.encode_request(BookieInfoRequest(_head(Operation.BOOKIE_INFO, number), 3)),
    }


KINDS = tuple(requests())
"""Names of all kinds of requests that may have to wait."""

_PLAIN = frozenset({"read", "reads", "read of the last entry", "V3 read"})
_POLLS = frozenset({"long poll", "long poll for an entry", "batch read that polls"})


class GonePeerTestCase(SynchronousTestCase):
    """A bookie with a ledger on disk."""

    def setUp(self) -> None:
        rig = Rig()
        rig.add(run(_LEDGER, 0, _N_ENTRIES, bytes(1000)))
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        self._disk = rig.disk
        gc.freeze()  # a collection looks at what the test makes alone
        self.addCleanup(gc.unfreeze)

    def rig(self, **options: Any) -> Rig:
        """The bookie after a power cut; its disk space is asked for in a read thread, as it is in a process."""
        rig = _SlowDiskRig(self._disk.crash(), options=EngineOptions(**options))
        self.assertIsNone(rig.bookie.cached(_LEDGER, 0))
        return rig


class _SlowDiskRig(Rig):
    def __init__(self, disk: SimDisk, **more: Any) -> None:
        super().__init__(disk, **more)

    def _usage(self) -> "Deferred[tuple[int, int]]":
        return self.executor.submit("read", lambda: (1000, 400))


class GonePeerTests(GonePeerTestCase):
    """Connections that are lost with requests of every kind under way."""

    def gone(self, rig: Rig, peer: Peer, kind: str) -> None:
        """The peer leaves; nothing may be left of what it asked for but records in the journal, one list that the read
        thread has, the one look at the last entry of a ledger whose LAC is waited for, and that at the disk, which is
        for all who ask."""
        session = weakref.ref(peer.connection._session)
        peer.leave()
        left = [thread for thread, work in rig.executor.queued if thread == "read" and not work.cancelled]
        shared = int(kind in ("list", "disk space") or kind in _POLLS)
        self.assertLessEqual(max(len(left), rig.bookie.waiting_reads), shared)
        self.assertEqual(rig.clock.getDelayedCalls(), [])
        context = rig.engine.context
        self.assertEqual((context.reads.in_progress, context.others.in_progress, context.polls), (0, 0, {}))
        rig.drain()
        self.assertEqual((peer.replies(), rig.bookie.waiting_reads), (b"", 0))
        gc.collect()
        self.assertIsNone(session())

    def test_at_once(self) -> None:
        """A peer that leaves takes along all that it has asked for."""
        for kind in KINDS:
            with self.subTest(kind):
                rig = self.rig()
                peer = rig.connect()
                peer.send(requests()[kind] * 3)
                self.assertTrue(rig.executor.busy_threads())
                self.gone(rig, peer, kind)

    def test_between(self) -> None:
        """So it does after any step on the way to the answers."""
        for kind in KINDS:
            for steps in range(1, 4):
                with self.subTest(kind, steps=steps):
                    rig = self.rig()
                    peer = rig.connect()
                    peer.send(requests()[kind] * 3)
                    for _ in range(steps):
                        rig.executor.step()
                    peer.replies()
                    self.gone(rig, peer, kind)

    def test_waiting_for_a_permit(self) -> None:
        """One that waits for its turn gives the turn up, and others get theirs, and their replies, at once."""
        limits = RequestLimits(max_reads_in_progress=1, max_others=1)
        for kind in KINDS:
            with self.subTest(kind):
                rig = self.rig(requests=limits)
                rig.add(run(2, 0))
                rig.drain()
                peers = [rig.connect() for _ in range(3)]
                for peer in peers[:2]:
                    peer.send(requests()[kind])
                context = rig.engine.context
                self.assertEqual([peer.held for peer in peers], [False, True, False])
                self.assertEqual(context.reads.waiting + context.others.waiting, 1)
                peers[2].send(reads(2, [0]))
                self.assertEqual(peers[2].held, context.reads.in_progress > 0)
                peers[1].leave()
                self.assertLessEqual(context.reads.waiting + context.others.waiting, 1)
                peers[0].leave()
                self.assertTrue(peers[2].replies())

    def test_stop(self) -> None:
        """A stop begins no more lists, however many were asked for, and waits for one at most once the connection is
        gone."""
        rig = self.rig()
        peer, listed = rig.connect(), list[int]()
        lists, ranges = 1000, rig.storage.entry_ranges

        def counted(ledger_id: int) -> list[tuple[int, int]]:
            listed.append(ledger_id)
            return ranges(ledger_id)

        rig.storage.entry_ranges = counted  # type: ignore[method-assign]
        peer.send(requests()["list"] * lists)
        stopping = Deferred.fromCoroutine(rig.engine.stop())
        for _ in until(lambda: not rig.executor.step("journal-0")):
            pass
        self.assertTrue(peer.transport.disconnecting)
        rig.executor.step("read")
        under_way = len(peer.connection._session._serving)  # type: ignore[union-attr]
        self.assertLess(under_way, 8)
        rig.executor.step("read")
        peer.leave()
        rig.drain()
        self.successResultOf(stopping)
        self.assertLessEqual(len(listed), 3)


class BackPressureTests(GonePeerTestCase):
    """Peers that send and do not read."""

    def test_requests_at_once(self) -> None:
        """Of every kind a connection has so many requests under way; the others wait, and the peer is not read."""
        for kind in KINDS:
            if kind in _POLLS:
                continue
            with self.subTest(kind):
                rig = self.rig(requests=RequestLimits(max_served=10))
                peer = rig.connect()
                peer.send(b"".join(requests(number)[kind] for number in range(100)))
                context = rig.engine.context
                self.assertLessEqual(context.others.in_progress, 10)
                most = 128 if kind in _PLAIN else 10  # plain reads are taken by the row
                self.assertLessEqual(len(peer.connection._session._serving), most)  # type: ignore[union-attr]
                rig.drain()
                rig.clock.advance(0)
                rig.drain()
                self.assertFalse(peer.held)
                self.assertTrue(peer.replies())
                self.assertEqual((context.reads.in_progress, context.others.in_progress), (0, 0))

    def test_replies_as_they_are_read(self) -> None:
        """What many requests waited for may come for all at once; replies are made as the peer takes them."""
        room = 5_000
        self.patch(read_processor, "REPLY_BYTES", 64 * 1024)
        for kind in KINDS:
            with self.subTest(kind):
                rig = self.rig(server=ServerLimits(unsent_bytes=room), requests=RequestLimits(max_load_bytes=1 << 17))
                peer, plain = rig.connect(), rig.connect()
                SlowPeer(peer)
                for each in (peer, plain):
                    each.send(b"".join(requests(number)[kind] for number in range(100)))
                rig.clock.advance(0)
                pieces = [self._taken(rig, peer)]
                while pieces[-1] and len(pieces) < 1000:
                    peer.connection.resumeProducing()
                    pieces.append(self._taken(rig, peer))
                self.assertFalse(peer.held)
                self.assertEqual(sum(pieces), self._taken(rig, plain))
                largest = 64 * 1024 if "batch" in kind or kind in _PLAIN else 1_200
                self.assertLess(max(pieces), room + 2 * largest)

    def _taken(self, rig: Rig, peer: Peer) -> int:
        rig.drain()
        rig.clock.advance(5)
        rig.drain()
        return len(peer.replies())

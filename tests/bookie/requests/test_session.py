"""The limits of one connection (S11)."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests import read_processor
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.operations import RECOVERY_ADD
from bookkeeper_twisted.codec.v3 import replies_out, requests_out
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.interfaces import IRequestSession
from bookkeeper_twisted.protocol.server.limits import ServerLimits
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage

from ...bounds import until
from ..rig import KEY, Peer, Rig, add_replies, adds, batch, entry, mixed, reads, run


class SessionTestCase(SynchronousTestCase):
    """A bookie with limits."""

    def make(self, **limits: int) -> Rig:
        rig = Rig(options=EngineOptions(requests=RequestLimits(**limits)))
        self.assertTrue(verifyObject(IRequestSession, rig.connect().connection._session))
        return rig


class AddTests(SessionTestCase):
    """Adds under way."""

    def test_one_write_a_group(self) -> None:
        """However many chunks and connections: one write for each connection and journal group."""
        rig = self.make()
        peers = [rig.connect() for _ in range(3)]
        for first in range(0, 10, 2):
            for ledger_id, peer in enumerate(peers):
                peer.send(adds(run(ledger_id, first, 2)))
        rig.drain()
        for ledger_id, peer in enumerate(peers):
            expected = b"".join(add_replies(run(ledger_id, first, 2), Status.EOK) for first in range(0, 10, 2))
            self.assertEqual((peer.transport.writes, peer.replies()), (1, expected))

    def test_ledgers_in_turn(self) -> None:
        """Every add of a mixture is answered once; refusals first, which wait for nothing; all permits come back."""
        rig = self.make(max_adds_in_progress=8)
        rig.add(run(2, 0))
        rig.bookie.fence(2, KEY)
        rig.drain()
        peer = rig.connect()
        entries = [entry(ledger_id, entry_id) for entry_id in (1, 2) for ledger_id in (1, 2, 3)]
        peer.send(adds(mixed(*entries)))
        rig.drain()
        refused, done = mixed(entries[1], entries[4]), mixed(*[e for i, e in enumerate(entries) if i not in (1, 4)])
        expected = add_replies(refused, Status.EFENCED) + add_replies(done, Status.EOK)
        self.assertEqual((peer.transport.writes, peer.replies()), (2, expected))
        done = mixed(*[entry(ledger_id, 3) for ledger_id in (1, 3, 4, 5)])
        peer.send(adds(done))
        rig.drain()
        self.assertEqual(peer.replies(), add_replies(done, Status.EOK))
        self.assertEqual(rig.engine.context.adds.in_progress, 0)

    def test_ledgers_in_turn_with_numbers(self) -> None:
        """The same in V3: each answer has the number of its request."""
        rig = self.make()
        rig.add(run(2, 0))
        rig.bookie.fence(2, KEY)
        rig.drain()
        peer = rig.connect()
        ids = [(ledger_id, entry_id) for entry_id in (1, 2) for ledger_id in (1, 2, 3)]
        peer.send(b"".join([
            requests_out.encode_adds(KEY, *pair, [entry(*pair)], 0, False, 90 + number)
            for number, pair in enumerate(ids)
        ]))  # fmt: skip
        rig.drain()
        expected = [
            replies_out.add_reply(90 + number, status, *pair)
            for status, refused in ((Status.EFENCED, True), (Status.EOK, False))
            for number, pair in enumerate(ids) if (pair[0] == 2) is refused
        ]  # fmt: skip
        self.assertEqual(peer.replies(), b"".join(expected))

    def test_limit_of_a_connection(self) -> None:
        """A connection with too many adds under way is not read until some are done."""
        for limits in ({"max_adds": 2}, {"max_add_bytes": 80}):
            with self.subTest(**limits):
                rig = self.make(**limits)
                peer = rig.connect()
                peer.send(adds(run(1, 0, 2)) + adds(run(2, 0, 2), key=b"other key".ljust(20)))
                self.assertTrue(peer.held)
                self.assertIsNone(rig.bookie.cached(2, 0))
                rig.drain()
                self.assertFalse(peer.held)
                expected = add_replies(run(1, 0, 2), Status.EOK) + add_replies(run(2, 0, 2), Status.EOK)
                self.assertEqual(peer.replies(), expected)

    def test_limit_of_the_bookie(self) -> None:
        """Adds beyond ``maxAddsInProgressLimit`` wait on their connections, in turn."""
        rig = self.make(max_adds_in_progress=1)
        peers = [rig.connect() for _ in range(3)]
        for ledger_id, peer in enumerate(peers):
            peer.send(adds(run(ledger_id, 0)))
        self.assertEqual([peer.held for peer in peers], [False, True, True])
        self.assertEqual(rig.engine.context.adds.waiting, 2)
        rig.executor.step()
        self.assertEqual([peer.held for peer in peers], [False, False, True])
        rig.drain()
        self.assertEqual([len(peer.replies()) for peer in peers], [28, 28, 28])
        self.assertEqual(rig.engine.context.adds.in_progress, 0)

    def test_order_of_what_waits(self) -> None:
        """A request that waits for a permit keeps its place in front of those that came behind it."""
        rig = self.make(max_adds_in_progress=1)
        rig.connect().send(adds(run(9, 0)))
        peer = rig.connect()
        for ledger_id in (1, 2, 3):  # flags differ, so that each is a request of its own
            peer.send(adds(run(ledger_id, 0), flags=RECOVERY_ADD if ledger_id == 2 else 0))
        rig.drain()
        expected = b"".join(add_replies(run(ledger_id, 0), Status.EOK) for ledger_id in (1, 2, 3))
        self.assertEqual(peer.replies(), expected)

    def test_adds_of_a_gone_peer(self) -> None:
        """What was begun is done, and gives its permits back."""
        rig = self.make(max_adds_in_progress=5)
        peer = rig.connect()
        peer.send(adds(run(1, 0)))
        peer.leave()
        rig.drain()
        self.assertEqual((rig.engine.context.adds.in_progress, peer.replies()), (0, b""))
        self.assertIsNotNone(rig.bookie.cached(1, 0))


class ReadTests(SessionTestCase):
    """Reads and a peer that does not read."""

    def setUp(self) -> None:
        self.rig = self.make()
        self.rig.add(run(1, 0, 100, bytes(10_000)))
        self.rig.drain()

    def test_full_transport(self) -> None:
        """While the transport is full no replies are made and the peer is not read; then it goes on."""
        peer = self.rig.connect()
        peer.connection.pauseProducing()
        peer.send(reads(1, range(3)) + batch(1, 0, 5, 1 << 20))
        self.assertEqual((peer.replies(), peer.held), (b"", True))
        peer.connection.resumeProducing()
        self.assertEqual(peer.held, False)
        self.assertEqual(len(peer.replies()), 3 * (28 + 10_032) + 36 + 5 * 10_036)

    def test_replies_are_made_as_they_fit(self) -> None:
        """A chunk of reads of much data is answered piece by piece, as the peer takes it."""
        self.patch(read_processor, "REPLY_BYTES", 64 * 1024)
        limits = ServerLimits(unsent_bytes=50_000)
        rig = Rig(self.rig.disk.crash(), options=EngineOptions(server=limits))
        rig.add(run(1, 0, 100, bytes(10_000)))
        rig.drain()
        peer = SlowPeer(rig.connect())
        peer.peer.send(reads(1, [i * 7 % 100 for i in range(100)]))
        pieces = [len(peer.peer.replies())]
        for _ in until(lambda: not peer.peer.held, 100):
            peer.peer.connection.resumeProducing()
            pieces.append(len(peer.peer.replies()))
        self.assertEqual(sum(pieces), 100 * (28 + 10_032))
        self.assertLess(max(pieces), 50_000 + 75_000)

    def test_limit_of_the_bookie(self) -> None:
        """Reads beyond ``maxReadsInProgressLimit`` wait; permits come back with the answers."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        rig = Rig(self.rig.disk.crash(), options=EngineOptions(requests=RequestLimits(max_reads_in_progress=1)))
        peers = [rig.connect() for _ in range(3)]
        for entry_id, peer in enumerate(peers):
            peer.send(reads(1, [entry_id]))
        self.assertEqual([peer.held for peer in peers], [False, True, True])
        peers[1].leave()
        rig.drain()
        self.assertEqual([len(peer.replies()) for peer in peers], [28 + 10_032, 0, 28 + 10_032])
        self.assertEqual(rig.engine.context.reads.in_progress, 0)

    def test_gone_peer(self) -> None:
        """What one load did not bring is not asked for again when the peer has left meanwhile; nor is anything read for
        one that left before."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        loads = list[int]()
        for leaves in ("never", "begun", "before"):
            rig = Rig(self.rig.disk.crash())
            storage, peer = rig.storage, rig.connect()
            assert isinstance(storage, LedgerStorage)
            peer.send(reads(1, range(100)))
            if leaves == "begun":
                rig.executor.run_one("read")
            if leaves != "never":
                peer.leave()
            rig.drain()
            loads.append(storage.loads)
        self.assertGreater(loads[0], 1)
        self.assertEqual(loads[1:], [1, 0])

    def test_limit_of_loads(self) -> None:
        """A connection that has asked the disk for much waits for that first."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        rig = Rig(self.rig.disk.crash(), options=EngineOptions(requests=RequestLimits(max_load_bytes=90_000)))
        peer = rig.connect()
        for first in range(0, 50, 10):
            peer.send(batch(1, first, 10, 100_000))
        self.assertEqual((rig.executor.busy_threads(), peer.held), (["read"], True))
        rig.drain()
        self.assertEqual((peer.held, len(peer.replies())), (False, 5 * (36 + 9 * 10_036)))


class SlowPeer:
    """A peer whose transport is full after every write."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        write = peer.transport.write

        def writing(data: bytes) -> None:
            write(data)
            peer.connection.pauseProducing()

        peer.transport.write = writing  # type: ignore[method-assign]


class LostTests(SessionTestCase):
    """A connection that is lost."""

    def test_put_back(self) -> None:
        """What is put back afterwards is dropped: nobody would ever take it up."""
        peer = self.make().connect()
        session: Any = peer.connection._session
        peer.leave()
        session.again(object())
        self.assertFalse(session._backlog)

    def test_turn(self) -> None:
        """It waits for no turn any more."""
        peer = self.make().connect()
        turns = peer.connection.turns
        turns.wait(peer.connection, is_small=True)
        peer.leave()
        self.assertFalse(turns._n_waiting)

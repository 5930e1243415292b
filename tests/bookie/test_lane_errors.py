"""Errors that no lane should raise: each has an answer, and a place where it is said."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import BatchReply, ReadReply
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.model import INVALID_ENTRY_ID

from .rig import Peer, Rig, add_replies, adds, batch, reads, run


class UnexpectedError(Exception):
    """A mistake in the code of a lane."""


def fail(*args: object) -> None:
    """What a lane runs."""
    raise UnexpectedError


def statuses(peer: Peer) -> list[Status]:
    """Those of the replies to reads."""
    found = ClientDecoder(V2).receive(peer.replies())
    return [reply.status for reply in found if isinstance(reply, ReadReply | BatchReply)]


class ReadLaneTests(SynchronousTestCase):
    """The lane of reads raises what is no error of the disk."""

    def setUp(self) -> None:
        """Entries 0..4 of ledger 1 are on disk and nowhere else."""
        rig = Rig()
        rig.add(run(1, 0, 5))
        rig.drain()
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        options = EngineOptions(requests=RequestLimits(max_load_bytes=5000))
        self.rig = Rig(rig.disk.crash(), options=options)
        self.peer = self.rig.connect()

    def _assert_goes_on(self) -> None:
        """The lane and the connection serve the next read, and nothing of the failed ones is counted any more."""
        del self.rig.storage.load, self.rig.storage.last_entry  # type: ignore[attr-defined]
        self.peer.send(reads(1, [3]))
        self.rig.drain()
        self.assertEqual(statuses(self.peer), [Status.EOK])
        self.assertFalse(self.peer.held)

    def _break(self) -> None:
        self.rig.storage.load = self.rig.storage.last_entry = fail  # type: ignore[assignment, method-assign]

    def test_reads(self) -> None:
        """S5: reads of entries, and of the last one, are answered one by one, and never by "no such entry"."""
        self._break()
        self.peer.send(reads(1, [0, 2, 4, INVALID_ENTRY_ID]))
        self.rig.drain()
        self.assertEqual(statuses(self.peer), [Status.EBADREQ] * 4)
        self._assert_goes_on()

    def test_batch(self) -> None:
        """S5: so are batches, and a later one does not wait for those that failed."""
        self._break()
        for _ in range(10):
            self.peer.send(batch(1, 0, 5, 1000))
            self.rig.drain()
            self.assertEqual(statuses(self.peer), [Status.EBADREQ])
        self._assert_goes_on()
        self.peer.send(batch(1, 0, 5, 1000))
        self.rig.drain()
        self.assertEqual(statuses(self.peer), [Status.EOK])


class FlushLaneTests(SynchronousTestCase):
    """The lane of a ledger directory raises what is no error of the disk."""

    def test_checkpoint(self) -> None:
        """The checkpoint fails and is logged, no mark moves, adds are taken, and the next checkpoint succeeds (S7)."""
        rig = Rig()
        rig.add(run(1, 0, 5))
        rig.drain()
        begin = rig.storage.begin_checkpoint
        checkpoint = begin([commit.mark for commit in rig.engine.commits])
        assert checkpoint is not None
        write = checkpoint.write
        checkpoint.write = fail  # type: ignore[assignment, method-assign]
        rig.storage.begin_checkpoint = lambda marks: checkpoint  # type: ignore[method-assign]
        failing = rig.engine.checkpointer.checkpoint()
        rig.drain()
        self.assertFalse(self.successResultOf(failing))
        self.assertEqual(len(self.flushLoggedErrors(UnexpectedError)), 1)
        rig.storage.begin_checkpoint, checkpoint.write = begin, write  # type: ignore[method-assign]
        done = rig.add(run(1, 5))
        rig.drain()
        again = rig.engine.checkpointer.checkpoint()
        rig.drain()
        self.assertTrue(self.successResultOf(again))
        self.assertEqual((done, rig.failures, rig.restart().store.n_replayed), ([None], [], 0))


class JournalLaneTests(SynchronousTestCase):
    """Journals fail."""

    def test_unexpected(self) -> None:
        """S10: whatever a journal raises fails the adds of its group, and ends the bookie."""
        rig = Rig()
        rig.store.journals[0].write_group = fail  # type: ignore[assignment, method-assign]
        peer = rig.connect()
        peer.send(adds(run(1, 0, 3)))
        rig.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0, 3), Status.EIO))
        self.assertEqual([failure.type for failure in rig.failures], [UnexpectedError])
        self.flushLoggedErrors(UnexpectedError)

    def test_second_journal(self) -> None:
        """When another journal fails later its adds are answered as well, though the failure was reported before."""
        rig = Rig(journals=2)
        peer = rig.connect()
        for ledger_id in (0, 1):
            rig.fail("sync", f"/journal{ledger_id}/")
            peer.send(adds(run(ledger_id, 0)))
            rig.executor.step(f"journal-{ledger_id}")
            self.assertEqual(peer.replies(), add_replies(run(ledger_id, 0), Status.EIO))
        self.assertEqual(len(rig.failures), 1)
        self.flushLoggedErrors(OSError)

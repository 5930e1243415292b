"""Errors that no work in a thread should raise: each has an answer, and a place where it is said."""

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import Header, ListEntriesRequest, ListEntriesResponse, ReadRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.runs import BatchRead, BatchReply, ReadReply
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.model import INVALID_ENTRY_ID

from .rig import Peer, Rig, add_replies, adds, batch, reads, run


class UnexpectedError(Exception):
    """A mistake in the code that runs in a thread."""


def fail(*args: object) -> None:
    """Fail in a thread."""
    raise UnexpectedError


def statuses(peer: Peer) -> list[Status]:
    """Those of the replies to reads."""
    found = ClientDecoder(V2).receive(peer.replies())
    return [reply.status for reply in found if isinstance(reply, ReadReply | BatchReply)]


def with_stored_entries(limits: RequestLimits) -> Rig:
    """A bookie after a start: entries 0..4 of ledger 1 are on disk and nowhere else."""
    rig = Rig()
    rig.add(run(1, 0, 5))
    rig.drain()
    rig.engine.checkpointer.checkpoint()
    rig.drain()
    return Rig(rig.disk.crash(), options=EngineOptions(requests=limits))


class ReadThreadTests(SynchronousTestCase):
    """A read thread raises what is no error of the disk."""

    def setUp(self) -> None:
        """A load takes at most 5,000 bytes."""
        self.rig = with_stored_entries(RequestLimits(max_load_bytes=5000))
        self.peer = self.rig.connect()

    def _assert_goes_on(self) -> None:
        """The thread and the connection serve the next read, and nothing of the failed ones is counted any more."""
        del self.rig.storage.load, self.rig.storage.last_entry
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


class FlushThreadTests(SynchronousTestCase):
    """The flush thread of a ledger directory raises what is no error of the disk."""

    def test_checkpoint(self) -> None:
        """The checkpoint fails and is logged, no log mark moves, adds are taken, the next checkpoint succeeds (S7)."""
        rig = Rig()
        rig.add(run(1, 0, 5))
        rig.drain()
        begin = rig.storage.begin_checkpoint
        checkpoint = begin([commit.log_mark for commit in rig.engine.commits])
        assert checkpoint is not None
        write = checkpoint.write
        checkpoint.write = fail  # type: ignore[assignment, method-assign]
        rig.storage.begin_checkpoint = lambda log_marks: checkpoint  # type: ignore[method-assign]
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


class JournalThreadTests(SynchronousTestCase):
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


class AnswerTests(SynchronousTestCase):
    """What was read cannot be made into an answer."""

    def setUp(self) -> None:
        """Six reads may be in progress."""
        self.rig = with_stored_entries(RequestLimits(max_reads_in_progress=6))
        self.peer = self.rig.connect()

    def _assert_refused(self, request: bytes, wire: IWireProtocol, count: int = 1) -> None:
        """Every read is answered, and nothing is held for one that was not answered well."""
        self.peer.send(request)
        self.rig.drain()
        found = ClientDecoder(wire).receive(self.peer.replies())
        answers = [reply.status for reply in found if isinstance(reply, ReadReply | BatchReply | ListEntriesResponse)]
        self.assertEqual(answers, [Status.EBADREQ] * count)
        self.assertEqual((self.rig.engine.context.reads.in_progress, self.peer.ended), (0, False))

    def test_loaded_entries(self) -> None:
        """Reads whose entries were loaded are refused one by one."""
        self.rig.bookie.last_add_confirmed = fail  # type: ignore[assignment, method-assign]
        self._assert_refused(requests_out.encode_reads(1, range(5)), V3, 5)
        self._assert_refused(requests_out.encode_reads(1, [-1]), V3)

    def test_one_entry(self) -> None:
        """An entry that cannot be answered takes nothing from those beside it."""
        load = self.rig.storage.load

        def load_broken(ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
            if entry_id == 2:
                return EntryRun(1, 2, 1, b"", 0, ())
            found = load(ledger_id, entry_id, max_bytes)
            return found.slice(entry_id, 1) if found is not None else None

        self.rig.storage.load = load_broken  # type: ignore[method-assign]
        self.rig.storage.keep = lambda run, epoch: run  # type: ignore[method-assign]
        self.peer.send(reads(1, range(5)))
        self.rig.drain()
        found = ClientDecoder(V2).receive(self.peer.replies())
        answers = {reply.entry_id: reply.status for reply in found if isinstance(reply, ReadReply)}
        self.assertEqual(answers, dict.fromkeys((0, 1, 3, 4), Status.EOK) | {2: Status.EBADREQ})
        self.assertEqual(self.rig.engine.context.reads.in_progress, 0)

    def test_batch(self) -> None:
        """A batch that was loaded is refused."""
        self.rig.bookie.last_add_confirmed = fail  # type: ignore[assignment, method-assign]
        self._assert_refused(requests_out.encode_batch_read(BatchRead(V3, 3, 0, 1, 0, 7, 5, 1000)), V3)

    def test_cold(self) -> None:
        """So is a request whose answer cannot be encoded."""
        self.rig.bookie.entry_ranges = lambda ledger_id: succeed([(0, "z")])  # type: ignore
        header = Header(V3, 3, Operation.LIST_ENTRIES, 1)
        self._assert_refused(requests_out.encode_request(ListEntriesRequest(header, 1)), V3)

    def test_no_answer_at_all(self) -> None:
        """If not even a refusal can be sent the connection ends; permits and counted bytes are given back."""
        fence = ReadRequest(Header(V3, 3, Operation.READ, 1), 1, 0, fence=True, master_key=b"k" * 20)
        for request in (
            requests_out.encode_reads(1, range(5)), requests_out.encode_reads(1, [-1]),
            requests_out.encode_request(fence),
            requests_out.encode_batch_read(BatchRead(V3, 3, 0, 1, 0, 7, 5, 1000)),
        ):  # fmt: skip
            rig = self.rig.restart()
            peer = rig.connect()
            peer.send(request)
            peer.connection.reply = peer.connection.reply_pieces = fail  # type: ignore[assignment, method-assign]
            rig.drain()
            self.assertTrue(peer.ended)
            peer.leave()
            self.assertEqual((rig.engine.context.reads.in_progress, rig.failures), (0, []))
            self.assertEqual(len(self.flushLoggedErrors(UnexpectedError)), 1)

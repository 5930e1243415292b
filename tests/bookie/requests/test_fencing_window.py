"""Fencing requests whose look-up waits for the disk: what is added meanwhile (S3, S4)."""

from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import Header, ReadRequest
from bookkeeper_twisted.codec.operations import FENCE, Operation
from bookkeeper_twisted.codec.runs import BatchRead, BatchReply, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.errors import LedgerFencedError, Status
from bookkeeper_twisted.model import INVALID_ENTRY_ID
from tests.wires import WIRES

from ...bounds import until
from ..rig import KEY, Rig, run

_HELD, _MISSING = 2, 9
_MOST_STEPS = 40


def read(wire: int, entry_id: int) -> bytes:
    """A fencing read; -1 asks for the last entry, and so for the LAC."""
    request = ReadRequest(Header(WIRES[wire], wire, Operation.READ, 1), 1, entry_id, fence=True, master_key=KEY)
    return v2_requests_out.encode_request(request) if wire == 2 else v3_requests_out.encode_request(request)


def batch_read(wire: int, entry_id: int) -> bytes:
    """A fencing batch read."""
    request = BatchRead(WIRES[wire], wire, FENCE, 1, entry_id, 7, 5, 1000, KEY)
    return v2_requests_out.encode_batch_read(request) if wire == 2 else v3_requests_out.encode_batch_read(request)


class FencingWindowTests(SynchronousTestCase):
    """Ordinary adds at every step between a fencing request and its reply."""

    def setUp(self) -> None:
        """A bookie with entries 0..4 of ledger 1, all of them on disk and none in memory."""
        rig = Rig()
        rig.add(run(1, 0, 5, lac=3))
        rig.drain()
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        self.rig = rig.restart()
        self.peer = self.rig.connect()

    def _steps(self) -> Iterator[None]:
        """Stops where something may come in: before, between and after what the threads do and what comes of it."""
        executor = self.rig.executor
        for _ in range(_MOST_STEPS):
            yield
            if executor.deliveries:
                executor.deliver()
            elif not executor.run_one():
                return
        self.fail("the threads do not come to rest")

    def _assert_fences_first(self, request: bytes, wire: int, status: Status) -> None:
        """No step lets an add in; the request waits for the disk, and is answered as it should be."""
        threads: set[str] = set()
        self.peer.send(request)
        for _ in self._steps():
            threads.update(self.rig.executor.busy_threads())
            done = self.rig.add(run(1, _MISSING))
            self.assertEqual([type(error) for error in done], [LedgerFencedError])
        self.assertIn("read", threads)
        (reply,) = ClientDecoder(WIRES[wire]).receive(self.peer.replies())
        assert isinstance(reply, ReadReply | BatchReply)
        self.assertEqual(reply.status, status)

    def test_held(self) -> None:
        """S3: an entry that is there, by reads of both protocols."""
        for wire in (2, 3):
            self.setUp()
            self._assert_fences_first(read(wire, _HELD), wire, Status.EOK)

    def test_missing(self) -> None:
        """S4: "no such entry" is said of nothing that an add brings while the disk is asked."""
        for wire in (2, 3):
            self.setUp()
            self._assert_fences_first(read(wire, _MISSING), wire, Status.ENOENTRY)

    def test_last(self) -> None:
        """S4: the last entry, from which a recovery learns the LAC, is the last one for good."""
        for wire in (2, 3):
            self.setUp()
            self._assert_fences_first(read(wire, INVALID_ENTRY_ID), wire, Status.EOK)

    def test_reply_waits_for_the_record(self) -> None:
        """S2: whatever else has bytes leave, no reply to a fencing request does before the fence is durable."""
        for wire in (2, 3):
            for request in (read, batch_read):
                for entry_id in (_HELD, _MISSING, INVALID_ENTRY_ID):
                    self.setUp()
                    self.peer.send(request(wire, entry_id))
                    for _ in until(lambda: not self.rig.executor.step("read"), _MOST_STEPS):
                        pass
                    self.rig.engine.outbox.flush()
                    self.assertEqual(self.peer.replies(), b"", (wire, request.__name__, entry_id))
                    self.rig.drain()
                    self.assertNotEqual(self.peer.replies(), b"")

    def test_reply_from_memory_waits(self) -> None:
        """S2: nor does one that is found in memory, or that says that the ledger is unknown."""
        for wire in (2, 3):
            for request in (read, batch_read):
                for held in (True, False):
                    rig = Rig()
                    peer = rig.connect()
                    if held:
                        rig.add(run(1, 0, 5))
                        rig.drain()
                    peer.send(request(wire, _HELD))
                    rig.engine.outbox.flush()
                    self.assertEqual(peer.replies(), b"", (wire, request.__name__, held))
                    rig.drain()
                    self.assertNotEqual(peer.replies(), b"")

    def test_batch(self) -> None:
        """The same by batch reads."""
        for wire in (2, 3):
            for entry_id, status in ((_HELD, Status.EOK), (_MISSING, Status.ENOENTRY), (INVALID_ENTRY_ID, Status.EOK)):
                self.setUp()
                self._assert_fences_first(batch_read(wire, entry_id), wire, status)

"""Group flush: whatever a journal group completes leaves by one write for each connection."""

from collections.abc import Iterable, Sequence
from typing import Any

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.group_commit import CommitOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import (
    ForceLedgerRequest,
    ForceLedgerResponse,
    Header,
    ReadRequest,
    WriteLacRequest,
    WriteLacResponse,
)
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.runs import FENCE, RECOVERY_ADD, AddReplies, BatchRead, BatchReply, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import Status
from tests.codec.wire_examples import v3_adds
from tests.wires import WIRES

from .rig import KEY, Peer, Rig, add_replies, adds, run

OWN, OLD = 10, 20
"""Ledgers: OWN + wire version is what a connection writes to, OLD + it and OLD + 10 + it it may fence."""


class Connection:
    """A peer that speaks one of the protocols."""

    def __init__(self, rig: Rig, wire: int) -> None:
        self.peer: Peer = rig.connect()
        self.ledger_id = OWN + wire
        self._wire = wire
        self._decoder = ClientDecoder(WIRES[wire])
        self._written = 0

    def add(self, first: int, count: int = 1, flags: int = 0, deferred: bool = False) -> None:
        """Sends adds, as a chunk of their own."""
        entries = run(self.ledger_id, first, count)
        if self._wire == 2:
            self.peer.send(v2_requests_out.encode_adds(KEY, entries, flags))
        else:
            self.peer.send(v3_adds(KEY, entries, flags, deferred))

    def batch(self) -> None:
        """Sends a batch read that fences another ledger."""
        ledger_id = OLD + 10 + self._wire
        request = BatchRead(WIRES[self._wire], self._wire, FENCE, ledger_id, 0, 7, 5, 1 << 20, KEY)
        self.peer.send((v2_requests_out if self._wire == 2 else v3_requests_out).encode_batch_read(request))

    def fence(self, entry_id: int = 0) -> None:
        """Sends a read that fences a ledger."""
        header = Header(WIRES[self._wire], self._wire, 2 if self._wire == 2 else Operation.READ, 1)
        request = ReadRequest(header, OLD + self._wire, entry_id, fence=True, master_key=KEY)
        self.peer.send((v2_requests_out if self._wire == 2 else v3_requests_out).encode_request(request))

    def write_lac(self, lac: int) -> None:
        """V3: sends an explicit LAC."""
        body = self.ledger_id.to_bytes(8, "big") + lac.to_bytes(8, "big") + b"digest"
        header = Header(V3, 3, Operation.WRITE_LAC, 1)
        self.peer.send(v3_requests_out.encode_request(WriteLacRequest(header, self.ledger_id, lac, KEY, body)))

    def force(self) -> None:
        """V3: asks for a sync."""
        self.peer.send(
            v3_requests_out.encode_request(ForceLedgerRequest(Header(V3, 3, Operation.FORCE_LEDGER, 1), self.ledger_id))
        )

    def everything(self) -> list[type[Any]]:
        """Sends all that waits for the journal, each in a chunk of its own.

        :returns: the types of the replies, in order.
        """
        self.add(0, 3)
        self.add(3, flags=RECOVERY_ADD)
        self.fence()
        self.fence(99)  # a negative reply waits as well
        self.batch()
        replies: list[type[Any]] = [AddReplies, AddReplies, ReadReply, ReadReply, BatchReply]
        if self._wire == 3:
            self.write_lac(2)
            self.force()
            replies += [WriteLacResponse, ForceLedgerResponse]
        self.add(4)
        return [*replies, AddReplies]

    def replies(self) -> tuple[int, list[Any]]:
        """How many writes there were since the last call, and their replies."""
        transport = self.peer.transport
        writes, self._written = transport.writes - self._written, transport.writes
        return writes, list(self._decoder.receive(self.peer.replies()))


class GroupTestCase(SynchronousTestCase):
    """A bookie with ledgers that can be fenced, and a connection of each protocol."""

    options = EngineOptions()
    journals = 1

    def setUp(self) -> None:
        self.rig = Rig(journals=self.journals, options=self.options)
        for wire in (2, 3):
            self.rig.add(run(OLD + wire, 0, 5))
            self.rig.add(run(OLD + 10 + wire, 0, 5))
        self.rig.drain()
        self.connections = [Connection(self.rig, wire) for wire in (2, 3)]


def merged(types: Iterable[type[Any]]) -> list[type[Any]]:
    """Without repetitions: how many runs the decoder makes of replies to adds is its own affair."""
    found: list[type[Any]] = []
    for kind in types:
        if found[-1:] != [kind]:
            found.append(kind)
    return found


def entry_ids(replies: Iterable[Any]) -> list[int]:
    """The entries whose adds are answered, in order."""
    return [entry_id for reply in replies for entry_id in reply.entry_ids]


class SyncedTests(GroupTestCase):
    """Every group is synced."""

    def test_everything_by_one_write(self) -> None:
        """Replies of all kinds are one write a connection, in the order of the requests; none comes before."""
        expected = [connection.everything() for connection in self.connections]
        for connection in self.connections:
            self.assertEqual(connection.replies(), (0, []))
        self.rig.drain()
        for connection, types in zip(self.connections, expected, strict=True):
            writes, replies = connection.replies()
            self.assertEqual(writes, 1)
            self.assertEqual(merged(map(type, replies)), merged(types))
            statuses = [reply.status for reply in replies if not isinstance(reply, AddReplies)]
            self.assertEqual(statuses.count(Status.ENOENTRY), 1)
            self.assertEqual({*statuses, Status.EOK, Status.ENOENTRY}, {Status.EOK, Status.ENOENTRY})
        self.assertEqual(self.rig.engine.context.metrics.fence_read.failure.count, 2)

    def test_fencing_read_of_the_disk(self) -> None:
        """What has to be read behind the fence is not waited for: it is a write of its own, behind the group's."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        connection = self.connections[0]
        connection.fence()
        connection.add(0)
        self.rig.executor.step("journal-0")
        self.assertEqual(list(map(type, connection.replies()[1])), [AddReplies])
        self.rig.drain()
        writes, replies = connection.replies()
        self.assertEqual((writes, list(map(type, replies))), (1, [ReadReply]))

    def test_deferred_alone(self) -> None:
        """A group without a waiter for the sync is one write, before there is a sync."""
        connection = self.connections[1]
        connection.add(0, 3, deferred=True)
        connection.add(3, 2, deferred=True)
        self.rig.drain()
        writes, replies = connection.replies()
        self.assertEqual((writes, entry_ids(replies)), (1, [0, 1, 2, 3, 4]))
        self.assertNotEqual(self.rig.store.journals[0].durable, self.rig.store.journals[0].position)

    def test_deferred_among_others(self) -> None:
        """A mixed group is acknowledged twice, behind write and sync: two writes, in this order."""
        connection = self.connections[1]
        connection.add(0)
        connection.add(1, 2, deferred=True)
        connection.force()
        connection.add(3, 2, deferred=True)
        self.rig.drain()
        writes, replies = connection.replies()
        self.assertEqual(writes, 2)
        self.assertEqual(merged(map(type, replies)), [AddReplies, ForceLedgerResponse])
        self.assertEqual(entry_ids(replies[:-1]), [1, 2, 3, 4, 0])

    def test_failed_journal(self) -> None:
        """The refusals of a journal that fails are one write a connection, too."""
        self.rig.fail("sync", "/journal")
        for connection in self.connections:
            connection.everything()
        with capturedLogs() as events:
            self.rig.drain()
        self.assertEqual(sum("nothing more is acknowledged" in formatEvent(event) for event in events), 1)
        for connection in self.connections:
            writes, replies = connection.replies()
            self.assertEqual((writes, {reply.status for reply in replies}), (1, {Status.EIO}))

    def test_adds_that_waited(self) -> None:
        """Adds that had to wait for room in the journal's queue are in the next group, with one write more."""
        self.rig = Rig(options=EngineOptions(commit=CommitOptions(max_queued_items=2)))
        connection = Connection(self.rig, 2)
        for first in range(6):
            connection.add(first)
        self.rig.executor.step()
        writes, replies = connection.replies()
        self.assertEqual((writes, entry_ids(replies)), (1, [0, 1]))
        self.rig.drain()
        writes, replies = connection.replies()
        self.assertEqual((writes, entry_ids(replies)), (2, [2, 3, 4, 5]))


class UnsyncedTests(GroupTestCase):
    """``journalSyncData`` is false."""

    options = EngineOptions(commit=CommitOptions(sync_data=False))

    def test_everything_by_one_write(self) -> None:
        """Replies of all kinds are one write a connection, without a sync."""
        expected = [connection.everything() for connection in self.connections]
        self.rig.drain()
        for connection, types in zip(self.connections, expected, strict=True):
            writes, replies = connection.replies()
            self.assertEqual((writes, merged(map(type, replies))), (1, merged(types)))
        self.assertNotEqual(self.rig.store.journals[0].durable, self.rig.store.journals[0].position)


class UnwrittenTests(GroupTestCase):
    """``journalWriteData`` is false."""

    options = EngineOptions(bookie=BookieOptions(write_data=False))

    def test_adds_by_one_write_a_chunk(self) -> None:
        """Adds are answered at once, those of a chunk by one write; what else is journaled by one a group."""
        peer = self.rig.connect()
        peer.send(b"".join(adds(run(ledger_id, 0, 5)) for ledger_id in (20, 21, 22)))
        expected = b"".join(add_replies(run(ledger_id, 0, 5), Status.EOK) for ledger_id in (20, 21, 22))
        self.assertEqual((peer.transport.writes, peer.replies()), (1, expected))
        connection = self.connections[1]
        connection.fence()
        connection.write_lac(1)
        connection.force()
        self.assertEqual(connection.replies(), (0, []))
        self.rig.drain()
        writes, replies = connection.replies()
        self.assertEqual((writes, list(map(type, replies))), (1, [ReadReply, WriteLacResponse, ForceLedgerResponse]))


class JournalsTests(GroupTestCase):
    """Two journals."""

    journals = 2

    def test_order_of_acknowledgement(self) -> None:
        """Replies are in the order in which the journals have synced, not in that of the requests."""
        peer = self.rig.connect()
        peer.send(adds(run(1, 0, 2)) + adds(run(2, 0, 2)) + adds(run(1, 2)))
        self.rig.executor.step("journal-0")
        self.assertEqual(peer.replies(), add_replies(run(2, 0, 2), Status.EOK))
        self.rig.executor.step("journal-1")
        self.assertEqual(peer.replies(), add_replies(run(1, 0, 2), Status.EOK) + add_replies(run(1, 2), Status.EOK))


class SlowReaderTests(GroupTestCase):
    """A peer that does not read its replies."""

    options = EngineOptions(requests=RequestLimits(max_adds=10))

    def _flood(self, peers: Sequence[Peer]) -> None:
        for first in range(0, 200, 2):
            for ledger_id, peer in enumerate(peers):
                peer.send(adds(run(ledger_id, first, 2)))
            self.rig.drain()

    def test_bounded_and_alone(self) -> None:
        """It gets replies to what had begun when its transport was full, and no more; others get all of theirs."""
        slow, quick = self.rig.connect(), self.rig.connect()
        slow.send(adds(run(0, 0, 2)))
        slow.connection.pauseProducing()
        self._flood([slow, quick])
        size = len(add_replies(run(0, 0), Status.EOK))
        self.assertLessEqual(len(slow.replies()), 10 * size)
        self.assertEqual((len(quick.replies()), slow.held, quick.held), (200 * size, True, False))

    def test_goes_on(self) -> None:
        """When it reads again nothing is missing, and everything is in order."""
        slow = self.rig.connect()
        slow.connection.pauseProducing()
        self._flood([slow])
        self.assertEqual(slow.replies(), b"")
        slow.connection.resumeProducing()
        self.rig.drain()
        expected = b"".join(add_replies(run(0, first, 2), Status.EOK) for first in range(0, 200, 2))
        self.assertEqual(slow.replies(), expected)

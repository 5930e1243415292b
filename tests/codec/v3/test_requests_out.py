"""V3 requests made by hand are protobuf's bytes, but for Java's place of the flag."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD, Operation
from bookkeeper_twisted.codec.protobuf import parse, wire_pb
from bookkeeper_twisted.codec.runs import AddRun
from bookkeeper_twisted.codec.v3 import layout, replies_out, requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import CodecError

from ..wire_examples import KEY, quick, run, v3_adds


def messages_of(data: bytes) -> list[Any]:
    """The protobuf messages of a stream."""
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(parse(wire_pb.Request, data[4 : 4 + size]))
        data = data[4 + size :]
    return found


class AddTests(SynchronousTestCase):
    """Adds of a run."""

    @quick
    @given(
        st.lists(st.sampled_from([24, 41, 41, 200]), min_size=1, max_size=12),
        st.one_of(st.integers(0, 300), st.integers(0, 1 << 62)),
        st.one_of(st.integers(0, 300), st.integers(0, 1 << 62)),
        st.sampled_from([0, RECOVERY_ADD, HIGH_PRIORITY, RECOVERY_ADD | HIGH_PRIORITY]),
        st.booleans(),
        st.binary(max_size=30),
    )
    def test_fields(self, sizes: list[int], first: int, txn_id: int, flags: int, deferred: bool, key: bytes) -> None:
        """Every field of every add, of one size and of several, where varints grow and where they do not."""
        entries = run(7, first, sizes)
        requests = messages_of(v3_adds(key, entries, flags, deferred, txn_id))
        self.assertEqual([request.header.txnId for request in requests], [txn_id + i for i in range(len(sizes))])
        self.assertEqual([request.addRequest.entryId for request in requests], [first + i for i in range(len(sizes))])
        self.assertEqual([request.addRequest.body for request in requests], list(entries.entries()))
        for request in requests:
            add = request.addRequest
            self.assertEqual((request.header.operation, add.ledgerId, add.masterKey), (Operation.ADD, 7, key))
            self.assertEqual(request.header.priority, 100 if flags & HIGH_PRIORITY else 0)
            self.assertEqual(add.HasField("flag"), bool(flags & RECOVERY_ADD))
            self.assertEqual(add.writeFlags, int(deferred))

    def test_canonical_bytes(self) -> None:
        """Without a flag the bytes are those of protobuf."""
        entries = run(7, 120, [41] * 20)
        data = v3_adds(KEY, entries, HIGH_PRIORITY, True, 120)
        again = b"".join(layout.frame(request.SerializeToString()) for request in messages_of(data))
        self.assertEqual(data, again)

    def test_deferred_sync_arrives(self) -> None:
        """The write flag is seen by the bookie, unless the add is one of a recovery."""
        for flags, expected in ((0, True), (RECOVERY_ADD, False)):
            (item,) = ServerDecoder().receive(v3_adds(KEY, run(7, 0, [41] * 20), flags, True, 1))
            assert isinstance(item, AddRun)
            self.assertEqual((item.deferred_sync, item.flags, item.entries.count), (expected, flags, 20))


class ColdTests(SynchronousTestCase):
    """Everything else."""

    def test_not_a_message(self) -> None:
        """What is no request or response is refused."""
        self.assertRaises(CodecError, requests_out.encode_request, object())
        self.assertRaises(
            CodecError, replies_out.encode_response, m.StartTlsRequest(m.Header(V3, 3, Operation.START_TLS))
        )

    def test_priority_of_reads(self) -> None:
        """A high priority is 100 unless the header says another; Java's client knows no other."""
        for header_priority, expected in ((0, 100), (7, 7)):
            header = m.Header(V3, 3, Operation.READ, 1, header_priority)
            (request,) = messages_of(requests_out.encode_request(m.ReadRequest(header, 7, 0, True, True, KEY)))
            self.assertEqual(request.header.priority, expected)

    def test_reads(self) -> None:
        """Plain reads have consecutive txnIds."""
        requests = messages_of(requests_out.encode_reads(7, [5, -1], HIGH_PRIORITY, 127))
        self.assertEqual([(r.header.txnId, r.header.priority) for r in requests], [(127, 100), (128, 100)])
        self.assertEqual([(r.readRequest.ledgerId, r.readRequest.entryId) for r in requests], [(7, 5), (7, -1)])

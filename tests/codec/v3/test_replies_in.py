"""V3 responses at the client."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.protobuf import wire_pb
from bookkeeper_twisted.codec.runs import AddReplies, BatchReply, ReadReply
from bookkeeper_twisted.codec.v3 import layout, replies_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import CodecError, Status

from ..flatten import flat
from ..wire_examples import entry


def response(operation: int, status: int, **fields: Any) -> bytes:
    """A frame with the sub-messages given as ``name={field: value}``."""
    message: Any = wire_pb.Response()
    message.header.version, message.header.operation, message.header.txnId = 3, operation, 9
    message.status = status
    for name, values in fields.items():
        for field, value in values.items():
            setattr(getattr(message, name), field, value)
    return layout.frame(message.SerializeToString())


def decode(data: bytes) -> tuple[list[object], CodecError | None]:
    """What a V3 client gets."""
    decoder = ClientDecoder(V3)
    return decoder.receive(data), decoder.error


class StatusTests(SynchronousTestCase):
    """Which of the two statuses counts."""

    def test_outer_first(self) -> None:
        """The outer status counts unless it is EOK; then the inner one does."""
        for outer, inner, expected in (
            (Status.EOK, Status.EOK, Status.EOK), (Status.EOK, Status.EFENCED, Status.EFENCED),
            (Status.EIO, Status.EOK, Status.EIO), (Status.EIO, Status.EFENCED, Status.EIO),
        ):  # fmt: skip
            ids = {"status": inner, "ledgerId": 7, "entryId": 5}
            (item,), _ = decode(response(Operation.ADD, outer, addResponse=ids))
            assert isinstance(item, AddReplies)
            self.assertIs(item.status, expected)

    def test_without_a_message(self) -> None:
        """A refusal without a sub-message is an error by header, whatever the operation."""
        for operation in (Operation.ADD, Operation.READ, Operation.BATCH_READ, Operation.AUTH, Operation.RANGE_ADD):
            (item,), _ = decode(response(operation, Status.EUA))
            self.assertEqual(item, m.ErrorResponse(m.Header(V3, 3, operation, 9), Status.EUA))

    def test_all_statuses(self) -> None:
        """Every status of the schema is read."""
        for status in Status:
            (item,), _ = decode(response(Operation.FORCE_LEDGER, status))
            assert isinstance(item, m.ErrorResponse)
            self.assertIs(item.status, status)


class BrokenTests(SynchronousTestCase):
    """What ends the connection."""

    def test_unreadable(self) -> None:
        """An unknown status, a missing field, a truncated message."""
        for text in ("0a06080310021801 100a", "0a06080310021801", "0a06080310021801 1000 aa0606 0800 1001"):
            packet = bytes.fromhex(text)
            items, error = decode(len(packet).to_bytes(4, "big") + packet)
            self.assertEqual(items, [])
            self.assertIsInstance(error, CodecError)

    def test_batch_without_entries(self) -> None:
        """A successful batch read has at least one entry."""
        ids = {"status": Status.EOK, "ledgerId": 7, "startEntryId": 5}
        self.assertIsInstance(decode(response(Operation.BATCH_READ, Status.EOK, batchReadResponse=ids))[1], CodecError)

    def test_broken_listing(self) -> None:
        """A listing that cannot be read ends the connection; what came before it is kept."""
        ids = {"status": Status.EOK, "ledgerId": 7, "availabilityOfEntriesOfLedger": b"short"}
        good = replies_out.add_reply(1, Status.EOK, 7, 0)
        items, error = decode(good + response(Operation.LIST_ENTRIES, 0, getListOfEntriesOfLedgerResponse=ids))
        self.assertEqual(len(items), 1)
        self.assertIsInstance(error, CodecError)


class ReadTests(SynchronousTestCase):
    """Replies with entries."""

    def test_long_poll(self) -> None:
        """Nothing new has no body; a LAC notice has its time."""
        ids = {"status": Status.EOK, "ledgerId": 7, "entryId": -1, "maxLAC": 4, "lacUpdateTimestamp": 1 << 40}
        (item,), _ = decode(response(Operation.READ, Status.EOK, readResponse=ids))
        self.assertEqual(flat([item]), flat([ReadReply(Status.EOK, 7, -1, 9, None, 4, 1 << 40)]))

    def test_large_entries(self) -> None:
        """Large entries that arrive together are byte strings, which do not keep the received chunk in memory."""
        entries = [entry(7, entry_id, 5000) for entry_id in range(20)]
        items, error = decode(replies_out.read_replies(range(60, 80), (7,) * 20, range(20), entries, (-1,) * 20))
        self.assertIsNone(error)
        found = [each.entry for each in items if isinstance(each, ReadReply)]
        self.assertEqual((found, {type(each) for each in found}), (entries, {bytes}))

    def test_empty_body(self) -> None:
        """An empty body is a body."""
        ids = {"status": Status.EOK, "ledgerId": 7, "entryId": 1, "body": b""}
        (item,), _ = decode(response(Operation.READ, Status.EOK, readResponse=ids))
        assert isinstance(item, ReadReply)
        self.assertEqual(item.entry, b"")

    def test_batch(self) -> None:
        """Bodies become records; an error has none even if entries were sent."""
        message: Any = wire_pb.Response()
        message.header.version, message.header.operation, message.header.txnId = 3, Operation.BATCH_READ, 9
        message.status = 0
        batch = message.batchReadResponse
        batch.status, batch.ledgerId, batch.startEntryId = 0, 7, 5
        batch.body.extend([entry(7, 5), entry(7, 6, 100)])
        (good,), _ = decode(layout.frame(message.SerializeToString()))
        assert isinstance(good, BatchReply) and good.entries is not None
        self.assertEqual((good.entries.first, list(good.entries.entries())), (5, [entry(7, 5), entry(7, 6, 100)]))
        message.status = Status.EIO
        (bad,), _ = decode(layout.frame(message.SerializeToString()))
        assert isinstance(bad, BatchReply)
        self.assertEqual((bad.status, bad.entries), (Status.EIO, None))

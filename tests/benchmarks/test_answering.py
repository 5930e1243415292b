"""The bookie that keeps nothing."""

from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.pool.answering import Confirming
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.runs import AddReplies, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

_LIMIT = 1 << 20


class ConfirmingTests(SynchronousTestCase):
    """One connection."""

    def test_adds(self) -> None:
        """Every add is confirmed once it is there whole, however it arrives."""
        digester = Digester(DigestType.CRC32C, b"")
        frames = requests_out.encode_adds(digester.master_key, sealed(digester, 7, 3, -1, 0, [b"a", b"b"]))
        transport, bookie = StringTransport(), Confirming()
        bookie.makeConnection(transport)
        for at in range(len(frames)):
            bookie.dataReceived(frames[at : at + 1])
        (replies,) = ClientDecoder(V2, _LIMIT).receive(transport.value())
        assert isinstance(replies, AddReplies)
        self.assertEqual((replies.status, replies.ledger_ids, replies.entry_ids), (Status.EOK, [7, 7], [3, 4]))

    def test_rows(self) -> None:
        """Rows of equal frames and frames of other sizes in one chunk are confirmed in their order."""
        digester, frames, wanted = Digester(DigestType.CRC32C, b""), b"", list[tuple[int, int]]()
        for ledger_id, sizes in ((7, [5] * 40), (8, [5, 900, 5]), (9, [6] * 3)):
            run = sealed(digester, ledger_id, 0, -1, 0, [bytes(size) for size in sizes])
            frames += requests_out.encode_adds(digester.master_key, run)
            wanted += [(ledger_id, entry_id) for entry_id in range(len(sizes))]
        transport, bookie = StringTransport(), Confirming()
        bookie.makeConnection(transport)
        bookie.dataReceived(frames[:-10])
        bookie.dataReceived(frames[-10:])
        found = list[tuple[int, int]]()
        for replies in ClientDecoder(V2, _LIMIT).receive(transport.value()):
            assert isinstance(replies, AddReplies)
            found += zip(replies.ledger_ids, replies.entry_ids, strict=True)
        self.assertEqual(found, wanted)

    def test_sign_of_life(self) -> None:
        """A plain read between adds is answered as a read, and what follows it is still understood."""
        digester = Digester(DigestType.CRC32C, b"")
        adds = requests_out.encode_adds(digester.master_key, sealed(digester, 7, 3, -1, 0, [b"a"]))
        transport, bookie = StringTransport(), Confirming()
        bookie.makeConnection(transport)
        bookie.dataReceived(requests_out.encode_reads(9, [0]) + adds)
        read, added = ClientDecoder(V2, _LIMIT).receive(transport.value())
        assert isinstance(read, ReadReply) and isinstance(added, AddReplies)
        self.assertEqual((read.ledger_id, read.entry_id, added.entry_ids), (9, 0, [3]))

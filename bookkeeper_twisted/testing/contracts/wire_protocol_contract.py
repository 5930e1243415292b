"""The test suite for wire protocols, that is, for the encoding and decoding of requests and replies.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from collections.abc import Sequence
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...codec import messages
from ...codec.adds import Adds, stored_adds
from ...codec.digest import Digester
from ...codec.operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD, Operation
from ...codec.runs import AddReplies, AddRun, BatchRead, BatchReply, ReadReply, ReadRun
from ...codec.wire_protocol import IWireProtocol
from ...entries.entry_run import EntryRun
from ...errors import CodecError, Status
from ...model import DigestType
from ..sealing import sealed

LEDGER = 7
LIMIT = 1 << 20
FIRST_NUMBER = 500
NO_PROTOCOL = b"\0\0\0\x08" + b"\xff" * 8
"""A frame that no known protocol could have made."""

_DIGESTER = Digester(DigestType.CRC32C, b"secret")
_KEY = _DIGESTER.master_key


def run_of(sizes: Sequence[int], first: int = 3) -> EntryRun:
    """Make consecutive entries with digests.

    :param sizes: size in bytes of the payload of each entry.
    """
    return sealed(_DIGESTER, LEDGER, first, first - 1, 0, [bytes([n % 251]) * size for n, size in enumerate(sizes)])


UNEVEN, EVEN = (10, 0, 300, 17), (40,) * 9


class WireProtocolContract(SynchronousTestCase):
    """The tests that each wire protocol passes; a subclass makes the protocol."""

    def make(self) -> Any:
        """Return the wire protocol to test; each subclass defines this method."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.wire = self.make()

    # ---- helpers ---------------------------------------------------------------------------------------

    def requests(self, data: bytes) -> list[Any]:
        """Decode requests from ``data``, which must be complete frames."""
        items: list[Any] = []
        self.assertEqual(self.wire.scan_requests(data, 0, LIMIT, items), (len(data), True))
        return items

    def replies(self, data: bytes) -> list[Any]:
        """Decode replies from ``data``, which must be complete frames."""
        items: list[Any] = []
        self.assertEqual(self.wire.scan_replies(data, 0, LIMIT, items), len(data))
        return items

    def adds(self, sizes: Sequence[int], flags: int = 0) -> tuple[Adds, list[AddRun]]:
        """Make adds with payloads of these ``sizes``; return them and the requests that a bookie decodes from them."""
        adds = stored_adds(_KEY, run_of(sizes), flags)
        return adds, self.requests(self.wire.encode_adds(adds, FIRST_NUMBER)[0])

    # ---- the tests -------------------------------------------------------------------------------------

    def test_interface(self) -> None:
        """The protocol has all members of ``IWireProtocol``, and names by which a configuration selects it."""
        verifyObject(IWireProtocol, self.wire)
        self.assertTrue(self.wire.names)
        self.assertEqual({name.strip().lower() for name in self.wire.names}, self.wire.names)

    def test_adds(self) -> None:
        """A bookie decodes entries, master key and flags of adds, for entries of equal and of different sizes."""
        for sizes in (EVEN, UNEVEN, (5,)):
            for flags in (0, RECOVERY_ADD | HIGH_PRIORITY):
                adds, found = self.adds(sizes, flags)
                entries = [entry for run in found for entry in cast(EntryRun, run.entries).entries()]
                self.assertEqual(entries, list(adds.entries()))
                said = {(run.master_key, run.flags, run.deferred_sync) for run in found}
                self.assertEqual(said, {(_KEY, flags, False)})

    def test_deferred_sync(self) -> None:
        """Adds carry the flag for deferred sync; if the protocol has no such flag, encoding them fails."""
        adds = stored_adds(_KEY, run_of(EVEN), deferred_sync=True)
        try:
            data, _ = self.wire.encode_adds(adds, FIRST_NUMBER)
        except CodecError:
            self.assertFalse(self.wire.complete)
        else:
            self.assertEqual({run.deferred_sync for run in self.requests(data)}, {True})

    def test_add_replies(self) -> None:
        """A client decodes status, ids and request numbers from the replies to adds."""
        for status in (Status.EOK, Status.EFENCED):
            adds, found = self.adds(UNEVEN)
            replies = self.replies(b"".join([run.replies(status) for run in found]))
            self.assertEqual({(type(reply), reply.status) for reply in replies}, {(AddReplies, status)})
            self.assertEqual([each for reply in replies for each in reply.ledger_ids], list(adds.ledger_ids))
            self.assertEqual([each for reply in replies for each in reply.entry_ids], list(adds.entry_ids))
            numbers = range(FIRST_NUMBER, FIRST_NUMBER + len(adds)) if self.wire.numbered else ()
            self.assertEqual([each for reply in replies for each in reply.txn_ids], list(numbers))

    def test_expected_replies(self) -> None:
        """The reply bytes that ``encode_adds`` returns for the client are those that a bookie sends.

        They are the replies of a bookie that acknowledges all adds in order; the client compares the received bytes
        with them, so that it need not decode each reply.
        """
        adds, found = self.adds(UNEVEN)
        _, expected = self.wire.encode_adds(adds, FIRST_NUMBER)
        self.assertEqual(len(expected), self.wire.add_reply_size * len(adds))
        if expected:
            self.assertEqual(b"".join([run.replies(Status.EOK) for run in found]), expected)

    def test_cut(self) -> None:
        """Wherever requests or replies are cut, decoding stops before the incomplete frame."""
        adds, found = self.adds(UNEVEN)
        frames, _ = self.wire.encode_adds(adds, FIRST_NUMBER)
        for end in range(0, len(frames), 7):
            at, own = self.wire.scan_requests(frames[:end], 0, LIMIT, [])
            self.assertTrue(own)
            self.assertEqual(self.wire.scan_requests(frames, at, LIMIT, []), (len(frames), True))
        replies = b"".join([run.replies(Status.EOK) for run in found])
        for end in range(0, len(replies), 7):
            at = self.wire.scan_replies(replies[:end], 0, LIMIT, [])
            self.assertEqual(self.wire.scan_replies(replies, at, LIMIT, []), len(replies))

    def test_reads(self) -> None:
        """The protocol encodes and decodes reads and their replies, with and without an entry."""
        (run,) = self.requests(self.wire.encode_reads(LEDGER, [3, 4, 5], FIRST_NUMBER))
        self.assertIsInstance(run, ReadRun)
        self.assertEqual((list(run.ledger_ids), list(run.entry_ids)), ([LEDGER] * 3, [3, 4, 5]))
        entries = run_of((10, 20)).entries()
        found = self.replies(run.replies(0, entries, [9, 8]) + run.reply(2, Status.ENOENTRY))
        self.assertEqual({type(reply) for reply in found}, {ReadReply})
        self.assertEqual([reply.entry for reply in found], [*entries, None])
        self.assertEqual([reply.status for reply in found], [Status.EOK, Status.EOK, Status.ENOENTRY])
        self.assertEqual([reply.ledger_id for reply in found], [LEDGER] * 3)
        lacs = [9, 8] if self.wire.carries_lac else [None, None]
        self.assertEqual([reply.max_lac for reply in found[:2]], lacs)
        numbers = [FIRST_NUMBER + n for n in range(3)] if self.wire.numbered else [None] * 3
        self.assertEqual([reply.txn_id for reply in found], numbers)

    def test_batch_reads(self) -> None:
        """A batch read is decoded with the values with which it was encoded; so is its reply, with all entries."""
        for flags, key in ((0, None), (FENCE | HIGH_PRIORITY, _KEY)):
            asked = self.wire.batch_read(LEDGER, 3, FIRST_NUMBER, 100, 5000, flags, key)
            (request,) = self.requests(self.wire.encode_batch_read(asked))
            self.assertIsInstance(request, BatchRead)
            for name in ("ledger_id", "first", "request_id", "max_count", "max_size", "flags", "master_key"):
                self.assertEqual(getattr(request, name), getattr(asked, name), name)
            runs = [run_of(EVEN, 3), run_of(UNEVEN, 12)]
            pieces = request.success(runs, 20)
            good, bad = self.replies(b"".join(pieces) + request.failure(Status.ENOLEDGER))
            self.assertEqual({type(good), type(bad)}, {BatchReply})
            self.assertEqual((good.status, good.first, good.request_id), (Status.EOK, 3, FIRST_NUMBER))
            self.assertEqual(list(good.entries.entries()), [entry for run in runs for entry in run.entries()])
            self.assertEqual(good.max_lac, 20 if self.wire.carries_lac else None)
            self.assertEqual((bad.status, bad.request_id, bad.entries), (Status.ENOLEDGER, FIRST_NUMBER, None))
            once, each = self.wire.batch_overhead
            counted = once + sum([run.size + each * run.count for run in runs])
            self.assertLessEqual(sum(map(len, pieces)), counted + self.wire.batch_head)

    def test_authentication(self) -> None:
        """Every protocol carries authentication tokens in both directions."""
        header = self.wire.header(Operation.AUTH, FIRST_NUMBER, 0)
        asked = messages.AuthRequest(header, "plugin", b"token")
        (request,) = self.requests(self.wire.encode_request(asked))
        self.assertEqual((request.plugin, request.payload), ("plugin", b"token"))
        answer = messages.AuthResponse(request.header, "plugin", b"answer")
        (response,) = self.replies(request.header.wire.encode_response(answer))
        self.assertEqual((response.plugin, response.payload), ("plugin", b"answer"))

    def cold_requests(self) -> list[tuple[Operation, Any]]:
        """Return the operations that no other test covers, each with a function that makes a request for it."""
        packet = LEDGER.to_bytes(8, "big") + bytes(24)
        return [
            (Operation.READ, lambda header: messages.ReadRequest(header, LEDGER, 3, True, True, _KEY)),
            (Operation.READ_LAC, lambda header: messages.ReadLacRequest(header, LEDGER)),
            (Operation.WRITE_LAC, lambda header: messages.WriteLacRequest(header, LEDGER, 5, _KEY, packet)),
            (Operation.FORCE_LEDGER, lambda header: messages.ForceLedgerRequest(header, LEDGER)),
            (Operation.LIST_ENTRIES, lambda header: messages.ListEntriesRequest(header, LEDGER)),
            (Operation.BOOKIE_INFO, lambda header: messages.BookieInfoRequest(header, 3)),
        ]

    def test_cold_requests(self) -> None:
        """A protocol whose ``complete`` is True encodes every request of a client; others refuse some requests."""
        lacking = 0
        for operation, make in self.cold_requests():
            try:
                asked = make(self.wire.header(operation, FIRST_NUMBER, 0))
                data = self.wire.encode_request(asked)
            except CodecError:
                lacking += 1
                continue
            (found,) = self.requests(data)
            self.assertIs(type(found), type(asked))
            self.assertEqual(found.header.wire, self.wire)
        self.assertEqual(lacking == 0, self.wire.complete)

    def test_refusals(self) -> None:
        """A bookie can refuse a request by a reply with an error status, if the protocol has such replies."""
        _, (run, *_) = self.adds(EVEN)
        reads, *_ = self.requests(self.wire.encode_reads(LEDGER, [3, 4], FIRST_NUMBER))
        (batch,) = self.requests(self.wire.encode_batch_read(self.wire.batch_read(LEDGER, 3, 1, 1, 100, 0, None)))
        for request in (run, reads, batch):
            data = self.wire.refusal(request, Status.EUA)
            if data is not None:
                found = self.replies(data)
                self.assertTrue(found)
                self.assertEqual({reply.status for reply in found}, {Status.EUA})

    def test_limit(self) -> None:
        """A request or reply above the size limit is an error as soon as the length of its frame is known."""
        for scan in (self.wire.scan_requests, self.wire.scan_replies):
            self.assertRaises(CodecError, scan, (LIMIT + 1).to_bytes(4, "big"), 0, LIMIT, [])

    def test_no_protocol(self) -> None:
        """A frame of an unknown protocol is left undecoded, or is an error; the frames before it are decoded."""
        adds, _ = self.adds(EVEN)
        data, items = self.wire.encode_adds(adds, FIRST_NUMBER)[0], list[object]()
        try:
            self.assertEqual(self.wire.scan_requests(data + NO_PROTOCOL, 0, LIMIT, items), (len(data), False))
        except CodecError:
            pass
        self.assertEqual({type(item) for item in items}, {AddRun})
        self.assertRaises(CodecError, self.wire.scan_replies, NO_PROTOCOL, 0, LIMIT, [])

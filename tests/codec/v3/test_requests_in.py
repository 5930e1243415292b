"""V3 requests at the bookie: bad input gets its code or ends the connection (safety, "Wire")."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.messages import RejectedRequest
from bookkeeper_twisted.codec.operations import FENCE, HIGH_PRIORITY, MAX_MASTER_KEY_SIZE, Operation
from bookkeeper_twisted.codec.protobuf import parse, wire_pb
from bookkeeper_twisted.codec.runs import AddRun, BatchRead, ReadRun
from bookkeeper_twisted.codec.v3 import layout, requests_in, requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun, RunSequence
from bookkeeper_twisted.errors import CodecError, Status
from bookkeeper_twisted.model import DigestType

from ..flatten import flat
from ..wire_examples import KEY, OTHER_KEY, entry, quick, run, v3_adds


def request(operation: int, version: int = 3, **fields: Any) -> bytes:
    """A frame with the sub-messages given as ``name={field: value}``."""
    message: Any = wire_pb.Request()
    message.header.version, message.header.operation, message.header.txnId = version, operation, 9
    for name, values in fields.items():
        sub = getattr(message, name)
        sub.SetInParent()
        for field, value in values.items():
            setattr(sub, field, value)
    return layout.frame(message.SerializeToString())


def decode(data: bytes) -> tuple[list[object], CodecError | None]:
    """What a connection gives."""
    decoder = ServerDecoder()
    return [*decoder.receive_all(data)], decoder.error


def refusal(data: bytes) -> tuple[Status, Any]:
    """Status and reply message of a request that has to be refused, with the connection open."""
    (item,), error = decode(data)
    assert isinstance(item, RejectedRequest) and error is None, item
    reply = parse(wire_pb.Response, item.reply[4:])
    assert reply is not None and int(reply.status) == int(item.status)
    return item.status, reply


class RefusalTests(SynchronousTestCase):
    """Requests that are answered and not done."""

    def test_adds_that_are_not_what_they_say(self) -> None:
        """Short bodies, bodies of another entry or ledger and reserved ids: EBADREQ, nothing is journaled."""
        for ledger_id, entry_id, body in (
            (7, 5, b""), (7, 5, entry(7, 5)[:15]), (7, 5, entry(7, 5)[:23]), (7, 5, entry(8, 5)), (7, 5, entry(7, 6)),
            (7, -1, entry(7, -1)), (7, -0x8000, entry(7, -0x8000)), (-1, 5, entry(-1, 5)),
        ):  # fmt: skip
            fields = {"ledgerId": ledger_id, "entryId": entry_id, "masterKey": KEY, "body": body}
            status, reply = refusal(request(Operation.ADD, addRequest=fields))
            self.assertIs(status, Status.EBADREQ)
            sub = reply.addResponse
            self.assertEqual((sub.status, sub.ledgerId, sub.entryId), (Status.EBADREQ, ledger_id, entry_id))

    def test_rows_of_wrong_adds(self) -> None:
        """In a row, too, only entries that are what they say are taken."""
        entries = [entry(7, i) for i in range(40)]
        entries[20] = entry(8, 20)
        data = v3_adds(KEY, EntryRun.of_entries(7, 0, entries), 0, False, 1)
        items, error = decode(data)
        self.assertIsNone(error)
        self.assertEqual([type(item) for item in items], [AddRun, RejectedRequest, AddRun])

    def test_rows_of_wrong_adds_of_many_ledgers(self) -> None:
        """The same where ledgers take turns."""
        ids = [(200 + i % 7, 300 + i) for i in range(40)]
        bodies = [entry(*pair) for pair in ids]
        for wrong in (bodies[20], entry(ids[20][0], 321), entry(201, ids[20][1]), bodies[20][:20]):
            bodies[20] = wrong
            frames = [
                requests_out.encode_adds(KEY, *ids[i], [body], 0, False, 500 + i) for i, body in enumerate(bodies)
            ]
            items, error = decode(b"".join(frames))
            self.assertIsNone(error)
            types = [AddRun] if wrong == entry(*ids[20]) else [AddRun, RejectedRequest, AddRun]
            self.assertEqual([type(item) for item in items], types)

    def test_ledgers_in_turn(self) -> None:
        """Adds of several ledgers with one key are one item, whatever they are cut into; another key begins another."""
        single = [(7, 0), (8, 5), (7, 1), (9, 0), (8, 6)] * 20
        long = [(ledger_id, i) for ledger_id in (7, 8, 9) for i in range(100)]
        for ids, kind in ((single, MixedRun), (long, RunSequence), (long[:100], EntryRun)):
            frames = [
                requests_out.encode_adds(KEY, *pair, [entry(*pair)], 0, False, 60 + i) for i, pair in enumerate(ids)
            ]
            other = requests_out.encode_adds(OTHER_KEY, 7, 900, [entry(7, 900)], 0, False, 9)
            items, error = decode(b"".join(frames) + other + frames[0])
            self.assertIsNone(error)
            first, *rest = items
            assert isinstance(first, AddRun)
            self.assertIsInstance(first.entries, kind)
            self.assertEqual((list(first.entries.ids()), list(first.txn_ids)), (ids, list(range(60, 60 + len(ids)))))
            self.assertEqual([each.entry(each.first) for each in first.entries.runs()][:1], [entry(*ids[0])])
            self.assertEqual([item.master_key for item in rest if isinstance(item, AddRun)], [OTHER_KEY, KEY])

    def test_large_entries(self) -> None:
        """Large bodies that arrive together are entries of their own memory, of one ledger and of several in turn."""
        one = [(7, 100 + i) for i in range(12)]
        for ids, kind in ((one, EntryRun), ([(7 + i % 3, i) for i in range(12)] + one, MixedRun)):
            entries = [entry(*pair, 5000) for pair in ids]
            frames = [
                requests_out.encode_adds(KEY, *pair, [each], 0, False, 60 + number)
                for number, (pair, each) in enumerate(zip(ids, entries, strict=True))
            ]
            (item,), error = decode(b"".join(frames))
            assert isinstance(item, AddRun) and error is None
            self.assertIsInstance(item.entries, kind)
            found = [each for part in item.entries.runs() for each in part.entries()]
            self.assertEqual(found, entries)

    def test_views_of_many_ledgers(self) -> None:
        """Entries of several ledgers in turn do not keep the chunk in memory of which their bodies are views."""
        chunk = b"".join([entry(7 + i, 1, 5000) for i in range(4)])
        bodies = [memoryview(chunk)[at : at + 5000] for at in range(0, len(chunk), 5000)]
        found = requests_in._entries_of((7, 8, 9, 10), (1, 1, 1, 1), bodies)
        assert isinstance(found, MixedRun)
        self.assertEqual((list(found.entries), {type(each) for each in found.entries}), (bodies, {bytes}))

    def test_shortest_entry(self) -> None:
        """An entry of 24 bytes is taken, as Java does."""
        fields = {"ledgerId": 7, "entryId": 5, "masterKey": b"", "body": entry(7, 5, 24)}
        (item,), _ = decode(request(Operation.ADD, addRequest=fields))
        assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
        self.assertEqual(item.entries.entry(5), entry(7, 5, 24))

    def test_bad_versions(self) -> None:
        """Header versions 1 and 2: EBADVERSION outside and inside, from every operation with a handler."""
        ledger = {"ledgerId": 7}
        ids = {"ledgerId": 7, "entryId": 5}
        for version in (1, 2):
            for operation, name, fields, answer in (
                (Operation.READ, "readRequest", ids, "readResponse"),
                (Operation.ADD, "addRequest", {**ids, "masterKey": KEY, "body": b""}, "addResponse"),
                (Operation.WRITE_LAC, "writeLacRequest", {**ledger, "lac": 1, "masterKey": KEY, "body": b""},
                 "writeLacResponse"),
                (Operation.READ_LAC, "readLacRequest", ledger, "readLacResponse"),
                (Operation.BOOKIE_INFO, "getBookieInfoRequest", {}, "getBookieInfoResponse"),
                (Operation.FORCE_LEDGER, "forceLedgerRequest", ledger, "forceLedgerResponse"),
                (Operation.LIST_ENTRIES, "getListOfEntriesOfLedgerRequest", ledger, "getListOfEntriesOfLedgerResponse"),
                (Operation.BATCH_READ, "batchReadRequest",
                 {**ledger, "startEntryId": 5, "maxCount": 1, "maxSize": 1}, "batchReadResponse"),
            ):  # fmt: skip
                status, reply = refusal(request(operation, version, **{name: fields}))
                self.assertIs(status, Status.EBADVERSION, name)
                self.assertEqual(getattr(reply, answer).status, Status.EBADVERSION)
                self.assertEqual((reply.header.version, reply.header.txnId), (3, 9))

    def test_versions_nobody_checks(self) -> None:
        """AUTH and START_TLS are taken with any version the schema knows."""
        auth = request(Operation.AUTH, 1, authRequest={"authPluginName": "sasl", "payload": b""})
        tls = request(Operation.START_TLS, 2, startTLSRequest={})
        self.assertEqual([type(item) for item in decode(auth + tls)[0]], [m.AuthRequest, m.StartTlsRequest])

    def test_unserved(self) -> None:
        """Range operations: EBADREQ without a sub-message, header copied."""
        for operation in (Operation.RANGE_READ, Operation.RANGE_ADD):
            self._check_bare(request(operation, 2, readRequest={"ledgerId": 7, "entryId": 0}), operation)

    def _check_bare(self, frame: bytes, operation: Operation) -> None:
        status, reply = refusal(frame)
        self.assertIs(status, Status.EBADREQ)
        self.assertEqual([field.name for field, _ in reply.ListFields()], ["header", "status"])
        self.assertEqual((reply.header.operation, reply.header.version), (operation, 2))

    def test_missing_messages(self) -> None:
        """Operations whose ids would be in the message that is not there: bare EBADREQ, and the connection goes on."""
        for operation in (
            Operation.ADD, Operation.READ, Operation.WRITE_LAC, Operation.READ_LAC, Operation.FORCE_LEDGER,
            Operation.LIST_ENTRIES, Operation.BATCH_READ,
        ):  # fmt: skip
            self._check_bare(request(operation, 2), operation)
            plain = requests_out.encode_reads(7, [1])
            items, error = decode(plain + request(operation) + plain)
            self.assertEqual([type(item) for item in items], [ReadRun, RejectedRequest, ReadRun])
            self.assertIsNone(error)

    def test_lac_packets(self) -> None:
        """A LAC packet that is short or of another ledger is refused, as it is journaled under its own id; and so is
        one that is longer than with the longest digest, as it stays in memory."""
        for ledger_id, body in (
            (7, bytes(15)), (7, (8).to_bytes(8, "big") + bytes(12)), (-1, b"\xff" * 8 + bytes(12)),
            (7, (7).to_bytes(8, "big") + bytes(29)), (7, (7).to_bytes(8, "big") + bytes(1 << 20)),
        ):  # fmt: skip
            fields = {"ledgerId": ledger_id, "lac": 1, "masterKey": KEY, "body": body}
            status, reply = refusal(request(Operation.WRITE_LAC, writeLacRequest=fields))
            self.assertEqual((status, reply.writeLacResponse.status), (Status.EBADREQ, Status.EBADREQ))

    def test_lac_packets_of_all_digests(self) -> None:
        """The LAC packets of all digest types are taken, with the keys that their clients make."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"password")
            body, key = digester.seal_lac(7, 5), digester.master_key
            fields = {"ledgerId": 7, "lac": 5, "masterKey": key, "body": body}
            (item,), _ = decode(request(Operation.WRITE_LAC, writeLacRequest=fields))
            assert isinstance(item, m.WriteLacRequest), digest_type
            self.assertEqual((item.body, item.master_key), (body, key))

    def test_long_keys(self) -> None:
        """A master key that no client makes is refused wherever a request may have one, as the ledger would keep it."""
        lac = (7).to_bytes(8, "big") + bytes(8)
        for size, is_refused in ((MAX_MASTER_KEY_SIZE, False), (MAX_MASTER_KEY_SIZE + 1, True), (1 << 20, True)):
            key = bytes(size)
            read = {"ledgerId": 7, "entryId": 0, "masterKey": key}
            batch = BatchRead(V3, 3, FENCE, 7, 0, 9, 1, 1, key)
            for frames in (
                v3_adds(key, run(7, 0, [50])),
                v3_adds(key, run(7, 0, [50] * 20)),
                request(Operation.READ, readRequest={**read, "flag": 1}),
                request(Operation.READ, readRequest={**read, "previousLAC": 5, "timeOut": 1000}),
                requests_out.encode_batch_read(batch),
                request(Operation.WRITE_LAC, writeLacRequest={"ledgerId": 7, "lac": 0, "masterKey": key, "body": lac}),
            ):
                items, error = decode(frames)
                self.assertIsNone(error)
                refused = [isinstance(item, RejectedRequest) and item.status is Status.EBADREQ for item in items]
                self.assertEqual(set(refused), {is_refused})

    def test_fence_of_no_ledger(self) -> None:
        """Fencing a ledger id below 0 is refused: a fence is journaled under it."""
        fields = {"ledgerId": -1, "entryId": -1, "masterKey": KEY, "flag": 1}
        self.assertIs(refusal(request(Operation.READ, readRequest=fields))[0], Status.EBADREQ)
        batch = BatchRead(V3, 3, FENCE, -1, 0, 9, 1, 1, KEY)
        self.assertIs(refusal(requests_out.encode_batch_read(batch))[0], Status.EBADREQ)

    def test_start_tls_without_its_message(self) -> None:
        """START_TLS needs its (empty) message."""
        status, reply = refusal(request(Operation.START_TLS))
        self.assertEqual((status, reply.HasField("startTLSResponse")), (Status.EBADREQ, False))


class FormTests(SynchronousTestCase):
    """Requests in all their forms."""

    def test_reads_with_more(self) -> None:
        """Only a read of nothing but ids is plain; each of the other fields makes it a message."""
        ids = {"ledgerId": 7, "entryId": 5}
        for more in ({"masterKey": b""}, {"previousLAC": -1}, {"timeOut": 0}, {"flag": 1}, {"flag": 2}):
            (item,), _ = decode(request(Operation.READ, readRequest={**ids, **more}))
            self.assertIsInstance(item, m.ReadRequest)
        (item,), _ = decode(request(Operation.READ, readRequest=ids))
        self.assertIsInstance(item, ReadRun)

    def test_priorities(self) -> None:
        """A priority above 0 is high, unless it is negative for Java."""
        for priority, high in ((0, 0), (1, HIGH_PRIORITY), ((1 << 31) - 1, HIGH_PRIORITY), (1 << 31, 0)):
            message: Any = wire_pb.Request()
            message.header.version, message.header.operation, message.header.txnId = 3, Operation.READ, 9
            message.header.priority = priority
            message.readRequest.ledgerId, message.readRequest.entryId = 7, 5
            for count in (1, 20):
                (item,), _ = decode(layout.frame(message.SerializeToString()) * count)
                assert isinstance(item, ReadRun)
                self.assertEqual((item.flags, len(item)), (high, count))

    def test_no_message_needed(self) -> None:
        """AUTH without a message names no plugin; bookie info without one asks for nothing."""
        (auth,), _ = decode(request(Operation.AUTH))
        self.assertEqual(auth, m.AuthRequest(m.Header(V3, 3, Operation.AUTH, 9), "", b""))
        (info,), _ = decode(request(Operation.BOOKIE_INFO))
        self.assertEqual(info, m.BookieInfoRequest(m.Header(V3, 3, Operation.BOOKIE_INFO, 9), 0))

    def test_huge_counts(self) -> None:
        """Huge counts, sizes and timers are values like others; nothing is set aside for them."""
        batch = BatchRead(V3, 3, 0, 7, (1 << 63) - 1, 9, -(1 << 31), (1 << 63) - 1, None, (1 << 63) - 1, (1 << 63) - 1)
        self.assertEqual(flat(decode(requests_out.encode_batch_read(batch))[0]), flat([batch]))


class RunTests(SynchronousTestCase):
    """Rows and mixtures give what single frames give."""

    @quick
    @given(
        st.lists(
            st.tuples(
                st.sampled_from([7, 8]), st.integers(0, 130), st.sampled_from([24, 41, 41]), st.integers(1, 30),
                st.sampled_from([KEY, KEY, OTHER_KEY]), st.sampled_from([0, 2, 4]), st.booleans(), st.booleans(),
            ),
            max_size=8,
        )
    )  # fmt: skip
    def test_same_as_one_by_one(self, parts: list[tuple[int, int, int, int, bytes, int, bool, bool]]) -> None:
        """Any mixture of adds and reads in one chunk is the same as frame by frame."""
        frames: list[bytes] = []
        for ledger_id, first, size, count, key, flags, deferred, reads in parts:
            for i in range(count):
                if reads:
                    frames.append(requests_out.encode_reads(ledger_id, [first + i], flags, len(frames)))
                else:
                    frames.append(
                        v3_adds(key, run(ledger_id, first + i, [size]), flags, deferred, len(frames))
                    )  # fmt: skip
        singles = [value for data in frames for value in flat(decode(data)[0])]
        items, error = decode(b"".join(frames))
        self.assertIsNone(error)
        self.assertEqual(flat(items), singles)

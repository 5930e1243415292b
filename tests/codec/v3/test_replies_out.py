"""Hand-made V3 replies are protobuf's bytes."""

from itertools import repeat
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.protobuf import wire_pb
from bookkeeper_twisted.codec.v3 import layout, replies_out
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status

from ..wire_examples import id64, quick, run, signed64

txn_id = st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1))
first_id = st.one_of(st.integers(0, 200), st.integers(0, 1 << 62))
near_a_step = st.builds(lambda bits, more: max(0, (1 << bits) + more), st.integers(0, 62), st.integers(-25, 5))
optional_lac = st.one_of(st.none(), signed64)
status = st.sampled_from(list(Status))


def framed(response: wire_pb.Response) -> bytes:
    """A frame as protobuf makes it."""
    return layout.frame(response.SerializeToString())


def response_to(operation: int, txn: int, answer: Status) -> Any:
    """A response without its message; untyped, because enums of the schema are ours by number only."""
    response: Any = wire_pb.Response()
    response.header.version = 3
    response.header.operation = operation
    response.header.txnId = txn
    response.status = answer
    return response


def add_reply(txn: int, answer: Status, ledger_id: int, entry_id: int) -> bytes:
    """The reply to an add by protobuf."""
    response = response_to(Operation.ADD, txn, answer)
    body = response.addResponse
    body.status, body.ledgerId, body.entryId = answer, ledger_id, entry_id
    return framed(response)


def read_reply(txn: int, answer: Status, ids: tuple[int, int], entry: bytes | None, lac: int | None) -> bytes:
    """The reply to a read by protobuf."""
    response = response_to(Operation.READ, txn, answer)
    body = response.readResponse
    body.status, (body.ledgerId, body.entryId) = answer, ids
    if entry is not None:
        body.body = entry
    if lac is not None:
        body.maxLAC = lac
    return framed(response)


class ReplyTests(SynchronousTestCase):
    """Each kind of reply."""

    @quick
    @given(st.lists(st.tuples(txn_id, id64, first_id), min_size=1, max_size=30), status)
    def test_mixed_adds(self, adds: list[tuple[int, int, int]], answer: Status) -> None:
        """Replies to adds of any ledgers."""
        for some in (adds, adds[:1] * 5):
            numbers, ledger_ids, entry_ids = [[add[i] for add in some] for i in range(3)]
            expected = [add_reply(number, answer, *ids) for number, *ids in some]
            self.assertEqual(replies_out.mixed_add_replies(numbers, answer, ledger_ids, entry_ids), b"".join(expected))

    @quick
    @given(st.lists(st.integers(128, 16383), min_size=4, max_size=30), st.data())
    def test_mixed_adds_of_one_size(self, numbers: list[int], data: st.DataObject) -> None:
        """The same where each id has one size in all of them."""
        count = len(numbers)
        ledger_ids = data.draw(st.lists(st.integers(1 << 35, (1 << 42) - 1), min_size=count, max_size=count))
        entry_ids = data.draw(st.lists(st.integers(0, 127), min_size=count, max_size=count))
        expected = map(add_reply, numbers, repeat(Status.EOK), ledger_ids, entry_ids)
        found = replies_out.mixed_add_replies(numbers, Status.EOK, ledger_ids, entry_ids)
        self.assertEqual(found, b"".join(expected))

    @quick
    @given(
        st.lists(txn_id, min_size=1, max_size=12), status, id64, st.one_of(st.integers(0, 200), st.integers(0, 1 << 62))
    )
    def test_add_replies(self, txn_ids: list[int], answer: Status, ledger_id: int, first: int) -> None:
        """Replies to adds, whatever sizes their varints have."""
        expected = [add_reply(txn, answer, ledger_id, first + i) for i, txn in enumerate(txn_ids)]
        self.assertEqual(replies_out.add_replies(txn_ids, answer, ledger_id, first), b"".join(expected))

    @quick
    @given(txn_id, status, signed64, signed64, st.one_of(st.none(), st.binary(max_size=300)), optional_lac)
    def test_read_reply(
        self, txn: int, answer: Status, ledger_id: int, entry_id: int, entry: bytes | None, lac: int | None
    ) -> None:
        """The reply to one read, with and without a body, an empty body too."""
        found = replies_out.read_reply(Operation.READ, txn, answer, ledger_id, entry_id, entry, lac)
        self.assertEqual(found, read_reply(txn, answer, (ledger_id, entry_id), entry, lac))

    @quick
    @given(st.lists(st.tuples(txn_id, signed64, signed64, st.binary(max_size=200)), max_size=10), optional_lac)
    def test_read_replies(self, reads: list[tuple[int, int, int, bytes]], lac: int | None) -> None:
        """Replies to successful reads."""
        columns: Any = [*[[read[i] for read in reads] for i in range(4)], [] if lac is None else [lac] * len(reads)]
        expected = [read_reply(txn, Status.EOK, (ledger, entry), body, lac) for txn, ledger, entry, body in reads]
        self.assertEqual(replies_out.read_replies(*columns), b"".join(expected))

    @quick
    @given(st.lists(st.tuples(txn_id, id64, signed64, st.binary(max_size=2), signed64), min_size=1, max_size=20))
    def test_read_replies_of_many_ledgers(self, reads: list[tuple[int, int, int, bytes, int]]) -> None:
        """Each has the LAC of its ledger."""
        columns: Any = [[read[i] for read in reads] for i in range(5)]
        expected = [read_reply(txn, Status.EOK, (ledger, entry), body, lac) for txn, ledger, entry, body, lac in reads]
        self.assertEqual(replies_out.read_replies(*columns), b"".join(expected))

    @quick
    @given(
        st.lists(st.tuples(st.integers(128, 16383), st.integers(0, 127)), min_size=4, max_size=20), st.data(),
        st.sampled_from([24, 127, 128, 200]),
    )  # fmt: skip
    def test_row_of_read_replies_of_many_ledgers(
        self, reads: list[tuple[int, int]], data: st.DataObject, size: int
    ) -> None:
        """The same where each column has varints of one size, LACs too."""
        count = len(reads)
        ledger_ids = data.draw(st.lists(st.integers(1 << 35, (1 << 42) - 1), min_size=count, max_size=count))
        lacs = data.draw(st.lists(st.integers(1 << 14, (1 << 21) - 1), min_size=count, max_size=count))
        entries = [bytes([i]) * size for i in range(count)]
        expected = [
            read_reply(txn, Status.EOK, (ledger, entry), body, lac)
            for (txn, entry), ledger, body, lac in zip(reads, ledger_ids, entries, lacs, strict=True)
        ]
        txns, ids = [txn for txn, _ in reads], [entry for _, entry in reads]
        self.assertEqual(replies_out.read_replies(txns, ledger_ids, ids, entries, lacs), b"".join(expected))

    @quick
    @given(st.integers(4, 20), near_a_step, near_a_step, id64, st.sampled_from([0, 24, 127, 128, 200]), optional_lac)
    def test_row_of_read_replies(
        self, n: int, txn: int, first: int, ledger_id: int, size: int, lac: int | None
    ) -> None:
        """Replies to reads of one ledger whose entries have one size, where ids gain a byte and where they do not."""
        columns = (range(txn, txn + n), [ledger_id] * n, range(first, first + n), [bytes([i]) * size for i in range(n)])
        rows = zip(*columns, strict=True)
        expected = [read_reply(t, Status.EOK, (ledger, entry), body, lac) for t, ledger, entry, body in rows]
        lacs = () if lac is None else [lac] * n
        self.assertEqual(replies_out.read_replies(*columns, lacs), b"".join(expected))

    @quick
    @given(txn_id, id64, st.lists(st.lists(st.sampled_from([0, 24, 41, 200]), min_size=1, max_size=6)), optional_lac)
    def test_batch_reply(self, txn: int, first: int, runs: list[list[int]], lac: int | None) -> None:
        """The reply to a batch read: a body for every entry of every run."""
        entries = [[bytes(size) for size in sizes] for sizes in runs]
        response = response_to(Operation.BATCH_READ, txn, Status.EOK)
        body = response.batchReadResponse
        body.status, body.ledgerId, body.startEntryId = Status.EOK, 7, first
        body.body.extend([entry for run_entries in entries for entry in run_entries])
        if lac is not None:
            body.maxLAC = lac
        made = [EntryRun.of_entries(7, 0, run_entries) for run_entries in entries]
        self.assertEqual(b"".join(replies_out.batch_reply(txn, Status.EOK, 7, first, made, lac)), framed(response))

    def test_bare_reply(self) -> None:
        """A status and the header of the request, priority and version as they came."""
        response = response_to(Operation.AUTH, 300, Status.EUA)
        response.header.version, response.header.priority = 1, 7
        header = layout.header_field(Operation.AUTH, 300, 7, 1)
        self.assertEqual(replies_out.bare_reply(header, Status.EUA), framed(response))

    def test_great_batch(self) -> None:
        """A batch is a few pieces, however many entries it has."""
        self.assertEqual(len(replies_out.batch_reply(1, Status.EOK, 7, 0, [run(7, 0, [100] * 500)])), 2)

"""Replies made by runs, in the protocol of their requests, as a client reads them."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import (
    AddReplies,
    AddRun,
    BatchRead,
    BatchReply,
    ReadReply,
    ReadRun,
)
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun, RunSequence
from bookkeeper_twisted.errors import Status

from .flatten import flat
from .wire_examples import KEY, entry, run


class RoundTripTests(SynchronousTestCase):
    """Server to client, both protocols."""

    def test_adds(self) -> None:
        """Every add of a run is answered once, in order, with its status."""
        for wire in (V2, V3):
            for count in (1, 3, 200):
                for status in (Status.EOK, Status.EFENCED):
                    txn_ids = range(60, 60 + count) if wire is V3 else ()
                    adds = AddRun(wire, 2, 0, False, KEY, run(7, 100, [30] * count), txn_ids)
                    expected = [AddReplies(status, [7] * count, range(100, 100 + count), txn_ids)]
                    self.assertEqual(flat(ClientDecoder(wire).receive(adds.replies(status))), flat(expected))

    def test_mixed_adds(self) -> None:
        """Adds of many ledgers, or some of them, are answered in their order; successes are read as they were sent."""
        ledgers, ids = tuple(range(50, 70)), tuple(range(20))
        entries = [entry(*pair) for pair in zip(ledgers, ids, strict=True)]
        mixed = MixedRun(ledgers, ids, [-1] * 20, entries)
        ((_, part),) = [split for split in mixed.split(2) if split[0]]
        adds = AddRun(V2, 2, 0, False, KEY, mixed)
        for chosen, step in ((None, slice(None)), (part, slice(1, None, 2))):
            (replies,) = ClientDecoder(V2).receive(adds.replies(Status.EOK, chosen))
            assert isinstance(replies, AddReplies)
            self.assertEqual((replies.ledger_ids, replies.entry_ids), (list(ledgers[step]), list(ids[step])))
            refused = ClientDecoder(V2).receive(adds.replies(Status.EREADONLY, chosen))
            self.assertEqual(flat(refused), flat([AddReplies(Status.EREADONLY, ledgers[step], ids[step])]))

    def test_numbers_of_mixed_adds(self) -> None:
        """In V3 each add of many ledgers is answered with its number, by parts, too, and if an entry is there twice."""
        ids = [(number % 5, number // 5) for number in range(30)] + [(3, 0), (3, 0), (4, 100), (4, 300), (1 << 40, 7)]
        runs = [EntryRun.of_entries(*pair, [entry(*pair)]) for pair in ids]
        columns = [pair[0] for pair in ids], [pair[1] for pair in ids]
        mixed = MixedRun(*columns, [-1] * 35, [entry(*pair) for pair in ids])
        for entries in (mixed, RunSequence(runs)):
            expected = [AddReplies(Status.EOK, [pair[0]], [pair[1]], [120 + i]) for i, pair in enumerate(ids)]
            adds = AddRun(V3, 3, 0, False, KEY, entries, range(120, 155))
            self.assertEqual(flat(ClientDecoder(V3).receive(adds.replies(Status.EOK))), flat(expected))
            for parts in ([part for _, part in entries.split(2)], entries.runs()):
                adds = AddRun(V3, 3, 0, False, KEY, entries, range(120, 155))
                data = [adds.replies(Status.EOK, part) for part in parts]
                answered = ClientDecoder(V3).receive(b"".join(data))
                self.assertEqual(sorted(map(repr, flat(answered))), sorted(map(repr, flat(expected))))

    def test_reads(self) -> None:
        """Reads are answered one by one or many at once; V2 has no place for the LAC."""
        for wire in (V2, V3):
            txn_ids = (5, 300, 7) if wire is V3 else ()
            reads = ReadRun(wire, 2, 0, [7, 8, 7], [1, 2, -1], txn_ids)
            self.assertEqual(len(reads), 3)
            data = reads.replies(1, [entry(8, 2), entry(7, 9)], [5, 4]) + reads.reply(0, Status.EIO, b"unsent", 4)
            lac, other_lac = (4, 5) if wire is V3 else (None, None)
            txns = txn_ids or (None, None, None)
            self.assertEqual(
                flat(ClientDecoder(wire).receive(data)),
                flat([
                    ReadReply(Status.EOK, 8, 2, txns[1], entry(8, 2), other_lac),
                    ReadReply(Status.EOK, 7, -1, txns[2], entry(7, 9), lac),
                    ReadReply(Status.EIO, 7, 1, txns[0], None, lac),
                ]),
            )  # fmt: skip

    def test_single_and_many_reads_agree(self) -> None:
        """The frame of a read does not depend on how it is made."""
        for wire in (V2, V3):
            reads = ReadRun(wire, 2, 0, [7], [1], (5,))
            many = reads.replies(0, [entry(7, 1)], [4])
            self.assertEqual(reads.reply(0, Status.EOK, entry(7, 1), 4), many)

    def test_batches(self) -> None:
        """A batch of several runs is one run for the client; an error has no entries."""
        first, second = run(7, 5, [40] * 20), run(7, 25, [40, 50])
        for wire in (V2, V3):
            batch = BatchRead(wire, 2, 0, 7, 5, 99, 10, 4096)
            data = b"".join(batch.success([first, second], 24)) + batch.failure(Status.ENOENTRY)
            good, bad = ClientDecoder(wire).receive(data)
            assert isinstance(good, BatchReply) and good.entries is not None and isinstance(bad, BatchReply)
            self.assertEqual(good.entries.data, first.data + second.data)
            self.assertEqual((good.first, good.request_id, good.max_lac), (5, 99, 24 if wire is V3 else None))
            self.assertEqual((bad.status, bad.entries, bad.request_id), (Status.ENOENTRY, None, 99))

    def test_overhead_is_what_v2_sends(self) -> None:
        """A V2 batch reply is as long as its records and the overhead say."""
        batch = BatchRead(V2, 2, 0, 7, 5, 99, 10, 4096)
        entries = run(7, 5, [40, 50])
        once, each = batch.wire.batch_overhead
        self.assertEqual(sum(map(len, batch.success([entries]))), once + entries.size + each * 2)

    def test_overhead_of_v3(self) -> None:
        """A V3 batch reply counts eight bytes for each entry beyond the entry, which is never too few."""
        batch = BatchRead(V3, 3, 0, 7, 5, 99, 10, 4096)
        self.assertEqual(batch.wire.batch_overhead, (0, 4))
        entries = run(7, 5, [300] * 100)
        fixed = 512
        self.assertLess(sum(map(len, batch.success([entries], 1 << 62))), fixed + entries.size + 4 * 100)


class AppendTests(SynchronousTestCase):
    """Joining add replies."""

    def test_one_status(self) -> None:
        """Replies with one status are joined, whatever they name; another status is another item."""
        items: list[object] = []
        for status, ledger_id, first in (
            (Status.EOK, 7, 0), (Status.EOK, 7, 1), (Status.EOK, 7, 3), (Status.EIO, 7, 4), (Status.EIO, 8, 5),
        ):  # fmt: skip
            AddReplies(status, [ledger_id], [first], [first]).append_to(items)
        found = [(item.ledger_ids, item.entry_ids, item.txn_ids) for item in items if isinstance(item, AddReplies)]
        self.assertEqual(found, [([7, 7, 7], [0, 1, 3], [0, 1, 3]), ([7, 8], [4, 5], [4, 5])])

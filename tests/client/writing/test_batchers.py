"""Which appends are sent together, and which are not."""

import gc
from typing import Any, cast
from weakref import ref

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.adv_write_handle import AdvLedgerWriter
from bookkeeper_twisted.client.writing.appends import MAX_BYTES, MAX_ENTRIES, ByteBudget
from bookkeeper_twisted.client.writing.batchers import Batchers
from bookkeeper_twisted.client.writing.lac_notices import LacNotices
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import DigestType, WriteFlag

from .batch_case import BatchCase, RealBatchCase


class JoiningTests(BatchCase):
    """Appends of one turn."""

    def test_one_request(self) -> None:
        """One append of each writer makes one request to each bookie, with all of them in the order of the calls."""
        waiters = self.append()
        self.turn()
        for name in self.names:
            self.assertEqual(self.asked(name), [[(1, 0), (2, 0), (3, 0)]])
        self.settle()
        self.assertEqual(self.results(waiters), [0, 0, 0])

    def test_turns(self) -> None:
        """What is appended in another turn is another batch; ids count up."""
        for turn in range(3):
            waiters = self.append()
            self.settle()
            self.assertEqual(self.results(waiters), [turn] * 3)
        self.assertEqual(self.asked("b1"), [[(n, turn) for n in (1, 2, 3)] for turn in range(3)])

    def test_one_turn(self) -> None:
        """What is appended is handed to connections at the end of the turn, before what is put off to the next."""
        waiter = self.writers[0].append(b"x")
        next_turn: list[object] = []
        self.clock.callLater(0, lambda: next_turn.extend(self.asked("b0")))
        self.turn()
        self.assertEqual(next_turn, [[(1, 0)]])
        self.assertEqual(self.successResultOf(waiter), 0)

    def test_payload_types(self) -> None:
        """What the caller changes afterwards is not what is written."""
        payload = bytearray(b"before")
        self.append(payload)  # type: ignore[arg-type]
        payload[:] = b"after!"
        self.settle()
        self.assertEqual(self.header("b0", 2, 0), (-1, 6, b"before"))


class LimitTests(BatchCase):
    """What a batch has at most."""

    writers_count = MAX_ENTRIES + 2
    quorums = (1, 1, 1)

    def test_entries(self) -> None:
        """The entry after the last that a batch may have begins the next one, which is sent in the same turn."""
        waiters = self.append()
        self.turn()
        self.assertEqual([len(keys) for keys in self.asked("b0")], [MAX_ENTRIES, 2])
        self.settle()
        self.assertEqual(self.results(waiters), [0] * len(waiters))

    def test_bytes(self) -> None:
        """A batch that has all the bytes it may have takes no entry more."""
        waiters = [writer.append(bytes(MAX_BYTES // 4)) for writer in self.writers[:10]]
        self.turn()
        self.assertEqual([len(keys) for keys in self.asked("b0")], [4, 4, 2])
        self.settle()
        self.assertEqual(self.results(waiters), [0] * 10)

    def test_large_payload(self) -> None:
        """A payload that is larger than a batch may be ends the one it joins."""
        sizes = (1, MAX_BYTES + 1, 1, MAX_BYTES)
        waiters = [writer.append(bytes(size)) for writer, size in zip(self.writers, sizes, strict=False)]
        self.turn()
        self.assertEqual(self.asked("b0"), [[(1, 0), (2, 0)], [(3, 0), (4, 0)]])
        self.settle()
        self.assertEqual(self.results(waiters), [0, 0, 0, 0])

    def test_largest_entry(self) -> None:
        """The largest entry is what fits a frame, whatever the digest."""
        context = self.client(netty_max_frame_size_bytes=1024)
        for number, digest_type in enumerate(DigestType):
            digester = Digester(digest_type, b"")
            mixed, alone = (self.open(9000 + 2 * number + i, context=context, digester=digester) for i in (0, 1))
            alone.append(b"first").addErrback(lambda _: None)
            largest = 1024 - 128 - 4 - 32 - digester.size
            for writer in (mixed, alone):
                self.failureResultOf(writer.append(bytes(largest + 1)), IncorrectParameterError)
            self.assertNoResult(mixed.append(bytes(largest)))
            self.assertNoResult(alone.append(bytes(largest)))

    def test_many_together(self) -> None:
        """Entries that are appended together fill batches, also the one that others have joined."""
        first = self.writers[0].append(b"x")
        many = self.writers[1].append_many([b"y"] * (2 * MAX_ENTRIES + 5))
        self.turn()
        self.assertEqual([len(keys) for keys in self.asked("b0")], [MAX_ENTRIES, MAX_ENTRIES, 6])
        self.assertEqual(self.asked("b0")[0][:2], [(1, 0), (2, 0)])
        self.settle()
        self.assertEqual((self.successResultOf(first), self.successResultOf(many)), (0, (0, 2 * MAX_ENTRIES + 4)))

    def test_large_together(self) -> None:
        """Of large ones, those go together that are no more bytes than a batch may have, one at least."""
        sizes = [MAX_BYTES // 2 - 100] * 5 + [2 * MAX_BYTES, 1, 1]
        many = self.writers[1].append_many([bytes(size) for size in sizes])
        self.turn()
        self.assertEqual([len(keys) for keys in self.asked("b0")], [2, 2, 1, 1, 2])
        self.settle()
        self.assertEqual(self.successResultOf(many), (0, 7))

    def test_large_behind_another(self) -> None:
        """What has joined before takes its part of the bytes."""
        self.writers[0].append(bytes(MAX_BYTES // 2))
        self.writers[1].append_many([bytes(MAX_BYTES // 3)] * 3)
        self.turn()
        self.assertEqual([len(keys) for keys in self.asked("b0")], [2, 2])
        self.assertLess(max(sum(map(len, request.frames)) for request in self.bookies.requests("b0")), MAX_BYTES)


class SecondEntryTests(BatchCase):
    """A writer that appends again in the turn."""

    def _check(self, keys: list[tuple[int, int]], last: int) -> None:
        """All entries were sent together."""
        self.turn()
        for name in self.names:
            self.assertEqual(self.asked(name), [keys])
        self.settle()
        self.assertEqual(self.writers[1].last_add_confirmed, last)
        for entry_id in range(last + 1):
            self.assertEqual(self.header("b0", 2, entry_id), (-1, entry_id + 1, b"x"))

    def test_append(self) -> None:
        """Its entries are in the batch in the order of the calls, and complete in it."""
        order: list[int] = []
        waiters = [*self.append(), self.writers[1].append(b"x"), self.writers[1].append(b"x")]
        for waiter in (waiters[4], waiters[3], waiters[1]):
            waiter.addCallback(order.append)
        self._check([(1, 0), (2, 0), (3, 0), (2, 1), (2, 2)], 2)
        self.assertEqual(order, [0, 1, 2])
        self.assertEqual(self.results([waiters[0], waiters[2]]), [0, 0])

    def test_append_many(self) -> None:
        """So are those that are appended together."""
        first, many = self.append()[1], self.writers[1].append_many([b"x", b"x"])
        self._check([(1, 0), (2, 0), (3, 0), (2, 1), (2, 2)], 2)
        self.assertEqual((self.successResultOf(first), self.successResultOf(many)), (0, (1, 2)))

    def test_appender(self) -> None:
        """What threads offer comes after what was appended, and the other writers still share a batch."""
        first = self.append()[1]
        appender = self.writers[1].appender()
        appender.offer(b"x")
        self.settle()
        self.assertEqual((self.successResultOf(first), self.writers[1].last_add_confirmed), (0, 1))
        self.assertEqual([self.header("b0", 2, n)[2] for n in (0, 1)], [b"x", b"x"])
        self.append()
        self.turn()
        self.assertEqual(self.asked("b0")[-1], [(1, 1), (2, 2), (3, 1)])

    def test_alone(self) -> None:
        """A writer that is alone in a turn has batches of the same kind."""
        for writer in self.writers:
            several = [writer.append(b"x") for _ in range(3)]
            self.settle()
            self.assertEqual(self.results(several), [0, 1, 2])
        self.assert_quiet()


class ApartTests(BatchCase):
    """Writers whose appends are not sent together."""

    def _together(self, waiters: "list[Deferred[int]]") -> list[list[int]]:
        """The ledgers of each batch that these appends were sent in."""
        self.settle()
        self.assertEqual(self.results(waiters), [0] * len(waiters))
        return [list(request.ledger_ids) for request in self.bookies.requests("b0")]

    def test_deferred_sync(self) -> None:
        """Deferred sync needs V3."""
        deferred = [self.open(n, flags=WriteFlag.DEFERRED_SYNC) for n in (11, 12)]
        waiters = [writer.append(b"x") for writer in (*deferred, *self.writers)]
        self.assertEqual(self._together(waiters), [[11, 12], [1, 2, 3]])
        self.assertEqual(deferred[0].last_add_confirmed, -1)

    def test_callers_ids(self) -> None:
        """Entries that the caller numbers join the others."""
        advanced = [AdvLedgerWriter(self.ledger(n)) for n in (11, 12)]
        waiters = [*(writer.write(0, b"x") for writer in advanced), *self.append()]
        self.assertEqual(self._together(waiters), [[11, 12, 1, 2, 3]])

    def test_quorum_timeout(self) -> None:
        """Entries that are watched share a batch, too."""
        context = self.client(add_entry_quorum_timeout_sec=5)
        watched = [self.open(n, context=context) for n in (11, 12)]
        self.assertEqual(self._together([writer.append(b"x") for writer in watched]), [[11, 12]])

    def test_own_sockets(self) -> None:
        """Where each ledger has sockets of its own, which it would have to share."""
        context = self.client(max_connections_per_bookie=0)
        apart = [self.open(n, context=context) for n in (11, 12)]
        waiters = [*(writer.append(b"x") for writer in apart), *self.append()]
        self.assertEqual(self._together(waiters), [[11], [12], [1, 2, 3]])

    def test_many_sockets(self) -> None:
        """Where several sockets carry entries, writers take turns in as many batchers."""
        context = self.client(max_connections_per_bookie=4)
        spread = [self.open(n, context=context) for n in range(11, 18)]
        self.assertEqual(
            self._together([writer.append(b"x") for writer in spread]), [[11, 14, 17], [12, 15], [13, 16]]
        )  # fmt: skip

    def test_digests(self) -> None:
        """Ledgers with another password or digest type have batches of their own, also when they are opened later."""
        kinds = [(DigestType.CRC32C, b"pw"), (DigestType.HMAC, b""), (DigestType.DUMMY, b""), (DigestType.CRC32C, b"")]
        writers = [self.open(10 * n + 1, digester=Digester(*kind)) for n, kind in enumerate(kinds, 1)]
        writers += [self.open(10 * n + 2, digester=Digester(*kind)) for n, kind in enumerate(kinds, 1)]
        mixed = self._together([*self.append(), *(writer.append(b"x") for writer in writers)])
        self.assertEqual(sorted(mixed), [[1, 2, 3, 41, 42], [11, 12], [21, 22], [31, 32]])

    def test_clients(self) -> None:
        """Ledgers of another client."""
        other = [self.open(n, context=self.client()) for n in (11, 12)]
        mixed = self._together([*self.append(), *(writer.append(b"x") for writer in other)])
        self.assertEqual(mixed, [[1, 2, 3], [11], [12]])


class _Flow:
    """A flow whose connections refer to what waits for them.

    :ivar waiting: anything.
    """

    def __init__(self) -> None:
        self.opened: list[_Flow] = []
        self.retired = 0
        self.waiting: list[object] = []

    def open_flow(self) -> "_Flow":
        self.opened.append(_Flow())
        return self.opened[-1]

    def retire(self) -> None:
        self.retired += 1


class UnusedTests(SynchronousTestCase):
    """Batchers that no writer refers to any more."""

    def setUp(self) -> None:
        self.flow = cast(Any, _Flow())
        self.batchers = Batchers(
            Clock(), self.flow, ByteBudget(1 << 20), LacNotices(Clock(), 0), ClientConfig(max_connections_per_bookie=1)
        )
        self.digester = Digester(DigestType.CRC32C, b"")
        self.schedule = Schedule(1, 1, 1)

    def _batcher(self) -> Any:
        return self.batchers.batcher(self.flow, self.digester, self.schedule)

    def test_retired(self) -> None:
        """The flow of one retires with it, and the next writer of its kind gets another."""
        first, again = self._batcher(), self._batcher()
        self.assertIs(first, again)
        del first
        self.assertEqual([flow.retired for flow in self.flow.opened], [0])
        del again
        self.assertEqual([flow.retired for flow in self.flow.opened], [1])
        held = self._batcher()
        self.assertEqual([flow.retired for flow in self.flow.opened], [1, 0])
        self.assertIs(self._batcher(), held)

    def test_collected(self) -> None:
        """A client that nothing else refers to goes, although its batcher and its flow refer to each other."""
        batcher = self._batcher()
        self.flow.opened[0].waiting.append(batcher)
        gone = ref(batcher)
        del batcher, self.flow, self.batchers
        gc.collect()
        self.assertIsNone(gone())


class WireTests(RealBatchCase):
    """Ledgers of a whole client, on real bookies."""

    def _write(self) -> None:
        """Three turns' appends to four ledgers; reads them back."""
        writers = [self.do(self.bk.create_ledger(3, 3, 2)) for _ in range(4)]
        for number in range(3):
            waiters = [writer.append(b"%d of %d" % (number, writer.ledger_id)) for writer in writers]
            self.settle()
            self.assertEqual([self.successResultOf(waiter) for waiter in waiters], [number] * 4)
        for writer in writers:
            self.do(writer.close())
            reader = self.do(self.bk.open_ledger(writer.ledger_id))
            found = [(e.data, e.length, e.last_add_confirmed) for e in self.do(reader.read(0, 2))]
            size = len(found[0][0])
            self.assertEqual(found, [(b"%d of %d" % (n, writer.ledger_id), size * (n + 1), n - 1) for n in range(3)])

    def test_together(self) -> None:
        """From the first turn on, connected or not, they are sent together; all of it is read as anything else."""
        self._write()
        for number in range(3):
            asked = [bookie_id for bookie_id, adds in self.bookies.sent if set(adds.entry_ids) == {number}]
            self.assertEqual(len(set(asked)), len(asked))


class V3Tests(WireTests):
    """Where V3 is spoken."""

    wire_protocol = "v3"

"""The test suite for providers of :class:`~bookkeeper_twisted.client.interfaces.IBookieClient`.

A subclass of the class here defines which client is tested and how time passes.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...client.interfaces import IBookieClient
from ...codec.adds import Adds, stored_adds
from ...codec.digest import Digester
from ...codec.operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD
from ...entries.entry_run import EntryRun
from ...errors import (
    BookieError,
    BookieHandleNotAvailableError,
    ClientClosedError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    Status,
    UnauthorizedAccessError,
)
from ...model import INVALID_ENTRY_ID, DigestType
from ..sealing import sealed

T = TypeVar("T")
Answers = list[tuple[int, int, Exception | None]]

LEDGER = 7


class BookieClientContract(SynchronousTestCase):
    """The tests that each bookie client passes; a subclass sets ``client`` and ``bookie_id``, and defines
    :meth:`settle`.
    """

    client: Any
    bookie_id: str
    digester = Digester(DigestType.CRC32C, b"secret")

    def settle(self) -> None:
        """Let time pass until every request is answered."""
        raise NotImplementedError

    def result(self, deferred: "Deferred[T]") -> T:
        """Wait until all requests are answered, and return the result of a ``deferred``."""
        self.settle()
        return self.successResultOf(deferred)

    def error(self, deferred: "Deferred[Any]", kind: type[Exception]) -> None:
        """Wait until all requests are answered; check that a ``deferred`` has failed with an error of this ``kind``."""
        self.settle()
        self.assert_named(self.failureResultOf(deferred, kind).value)

    def assert_named(self, error: BaseException | None) -> None:
        """Check that an ``error`` with which the bookie has answered names the bookie; ignore other errors."""
        if isinstance(error, BookieError):
            self.assertEqual(error.bookie_id, self.bookie_id)

    def run_of(self, first: int, payloads: Sequence[bytes], lac: int = -1) -> EntryRun:
        """Make entries with consecutive ids from ``first`` on, with digests."""
        return sealed(self.digester, LEDGER, first, lac, 0, payloads)

    def adds(self, run: EntryRun, flags: int = 0, key: bytes | None = None, deferred_sync: bool = False) -> Adds:
        """Make add requests for the entries of a ``run`` (consecutive entries), for the client to send."""
        return stored_adds(key or self.digester.master_key, run, flags, deferred_sync)

    def add(self, run: EntryRun, flags: int = 0, key: bytes | None = None) -> Answers:
        """Add the entries of a ``run`` to the bookie, and return the bookie's answers."""
        answers: Answers = []

        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            self.assertEqual(bookie_id, self.bookie_id)
            answers.extend([(run.first + index, 1, error) for index in indexes])
            self.assert_named(error)

        self.client.add(self.bookie_id, self.adds(run, flags, key), done)
        self.settle()
        return answers

    def assert_added(self, answers: Answers, first: int, count: int) -> None:
        """Check that each of ``count`` entries, from id ``first`` on, was acknowledged exactly once."""
        ids = [e for start, n, error in answers if error is None for e in range(start, start + n)]
        self.assertEqual(sorted(ids), list(range(first, first + count)))
        self.assertEqual([error for _, _, error in answers if error is not None], [])

    def test_interface(self) -> None:
        """The tested client provides all methods of ``IBookieClient``."""
        verifyObject(IBookieClient, self.client)

    def test_add_and_read(self) -> None:
        """An entry that was added can be read, and is the same byte for byte."""
        run = self.run_of(0, [b"a", b"bb", b"ccc"])
        self.assert_added(self.add(run), 0, 3)
        reply = self.result(self.client.read(self.bookie_id, LEDGER, 1))
        self.assertEqual((reply.status, reply.entry), (Status.EOK, run.entry(1)))

    def test_add_twice(self) -> None:
        """The same entry may be added again."""
        run = self.run_of(0, [b"a"])
        self.assert_added(self.add(run), 0, 1)
        self.assert_added(self.add(run), 0, 1)

    def test_two_runs_at_once(self) -> None:
        """If two runs (each of consecutive entries) are added at the same time, each run gets its own replies."""
        answers: list[tuple[str, int, int]] = []
        for name, first in (("one", 0), ("two", 3)):
            self.client.add(
                self.bookie_id, self.adds(self.run_of(first, [b"x"] * 3)),
                lambda _, indexes, error, name=name, first=first: answers.append(
                    (name, first + indexes[0], len(indexes))
                ),
            )  # fmt: skip
        self.settle()
        ids = {name: [e for n, s, c in answers if n == name for e in range(s, s + c)] for name in ("one", "two")}
        self.assertEqual(ids, {"one": [0, 1, 2], "two": [3, 4, 5]})

    def test_read_last(self) -> None:
        """A read of entry -1 returns the last entry."""
        run = self.run_of(0, [b"a", b"b"])
        self.add(run)
        reply = self.result(self.client.read(self.bookie_id, LEDGER, INVALID_ENTRY_ID))
        self.assertEqual(reply.entry, run.entry(1))

    def test_read_missing(self) -> None:
        """A read from an unknown ledger fails with another error than a read of an unknown entry."""
        self.error(self.client.read(self.bookie_id, LEDGER, 0), NoSuchLedgerError)
        self.add(self.run_of(0, [b"a"]))
        self.error(self.client.read(self.bookie_id, LEDGER, 5), NoSuchEntryError)

    def test_read_many(self) -> None:
        """Each of several reads has its own result, in the order of the requests."""
        run = self.run_of(0, [b"a", b"b", b"c"])
        self.add(run)
        replies = self.result(self.client.read_many(self.bookie_id, LEDGER, [2, 9, 0]))
        self.assertEqual([r.status for r in replies], [Status.EOK, Status.ENOENTRY, Status.EOK])
        self.assertEqual([replies[0].entry, replies[2].entry], [run.entry(2), run.entry(0)])

    def test_reads_of_one_entry_at_once(self) -> None:
        """Two reads of the same entry at the same time are both answered."""
        run = self.run_of(0, [b"a"])
        self.add(run)
        both = [self.client.read(self.bookie_id, LEDGER, 0) for _ in range(2)]
        self.settle()
        self.assertEqual([self.successResultOf(one).entry for one in both], [run.entry(0)] * 2)

    def test_batch(self) -> None:
        """A batch read returns consecutive entries, as many as requested."""
        run = self.run_of(0, [b"x" * n for n in range(1, 6)])
        self.add(run)
        reply = self.result(self.client.read_batch(self.bookie_id, LEDGER, 1, 3, 1 << 20))
        self.assertEqual((reply.entries.first, reply.entries.count), (1, 3))
        self.assertEqual(reply.entries.data, run.slice(1, 3).data)

    def test_batch_size(self) -> None:
        """A batch read returns the first entry whatever its size, and further entries up to the size limit."""
        self.add(self.run_of(0, [b"x" * 1000] * 5))
        reply = self.result(self.client.read_batch(self.bookie_id, LEDGER, 0, 5, 10))
        self.assertEqual(reply.entries.count, 1)
        reply = self.result(self.client.read_batch(self.bookie_id, LEDGER, 0, 5, 3500))
        self.assertEqual(reply.entries.count, 3)

    def test_batch_ends_at_a_gap(self) -> None:
        """A batch read ends before an entry that is missing; a missing first entry is an error."""
        self.add(self.run_of(0, [b"a", b"b"]))
        self.add(self.run_of(3, [b"d"]))
        reply = self.result(self.client.read_batch(self.bookie_id, LEDGER, 0, 10, 1 << 20))
        self.assertEqual(reply.entries.count, 2)
        self.error(self.client.read_batch(self.bookie_id, LEDGER, 2, 10, 1 << 20), NoSuchEntryError)

    def test_fence(self) -> None:
        """After a fencing read of a ledger, the bookie refuses adds to it, except recovery adds."""
        self.add(self.run_of(0, [b"a"]))
        self.result(self.client.read(self.bookie_id, LEDGER, INVALID_ENTRY_ID, FENCE, self.digester.master_key))
        ((first, count, refused),) = self.add(self.run_of(1, [b"b"]))
        self.assertEqual((first, count, type(refused)), (1, 1, LedgerFencedError))
        self.assert_added(self.add(self.run_of(1, [b"b"]), RECOVERY_ADD), 1, 1)

    def test_fencing_batch(self) -> None:
        """A batch read can fence the ledger, as a recovery needs, but only with the ledger's master key.

        Safety rule S17 of ``docs/architecture/durability.rst``: a recovery fences first.
        """
        run = self.run_of(0, [b"a", b"b"])
        self.add(run)
        wrong = self.client.read_batch(self.bookie_id, LEDGER, 0, 5, 1 << 20, FENCE, b"k" * 20)
        self.error(wrong, UnauthorizedAccessError)
        self.assert_added(self.add(self.run_of(2, [b"c"])), 2, 1)
        key = self.digester.master_key
        reply = self.result(self.client.read_batch(self.bookie_id, LEDGER, 0, 2, 1 << 20, FENCE | HIGH_PRIORITY, key))
        self.assertEqual(reply.entries.data, run.data)
        ((_, _, refused),) = self.add(self.run_of(3, [b"d"]))
        self.assertIsInstance(refused, LedgerFencedError)

    def test_long_poll(self) -> None:
        """A long poll ends when the LAC rises, and returns the confirmed entry."""
        run = self.run_of(0, [b"a"])
        self.add(run)
        waiting = self.client.long_poll(self.bookie_id, LEDGER, -1, 60.0)
        self.settle()
        self.assertNoResult(waiting)
        self.add(self.run_of(1, [b"b"], lac=0))
        reply = self.result(waiting)
        self.assertEqual((reply.status, reply.max_lac, reply.entry), (Status.EOK, 0, run.entry(0)))
        reply = self.result(self.client.long_poll(self.bookie_id, LEDGER, -1, 60.0))
        self.assertEqual((reply.max_lac, reply.entry), (0, run.entry(0)))

    def test_long_poll_elsewhere(self) -> None:
        """A long poll ends when the LAC rises, even if only other bookies have the confirmed entry."""
        self.add(self.run_of(5, [b"f"], lac=4))
        reply = self.result(self.client.long_poll(self.bookie_id, LEDGER, 3, 60.0))
        self.assertEqual((reply.status, reply.max_lac, reply.entry), (Status.EOK, 4, None))

    def test_long_poll_ends_with_a_fence(self) -> None:
        """A fence ends a long poll, because the ledger is about to be closed."""
        self.add(self.run_of(0, [b"a"]))
        waiting = self.client.long_poll(self.bookie_id, LEDGER, -1, 60.0)
        self.settle()
        self.result(self.client.read(self.bookie_id, LEDGER, INVALID_ENTRY_ID, FENCE, self.digester.master_key))
        reply = self.result(waiting)
        self.assertEqual((reply.status, reply.max_lac, reply.entry), (Status.EOK, -1, None))

    def test_long_poll_of_nothing(self) -> None:
        """A long poll for a ledger that the bookie does not know fails immediately."""
        self.error(self.client.long_poll(self.bookie_id, LEDGER, -1, 60.0), NoSuchLedgerError)

    def test_cancelled_long_poll(self) -> None:
        """A cancelled long poll fails immediately."""
        self.add(self.run_of(0, [b"a"]))
        waiting = self.client.long_poll(self.bookie_id, LEDGER, -1, 60.0)
        self.settle()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.settle()

    def test_batch_poll(self) -> None:
        """A batch read can wait until its first entry is confirmed; it returns the LAC and the stored entries."""
        run = self.run_of(0, [b"a"])
        self.add(run)
        waiting = self.client.read_batch(self.bookie_id, LEDGER, 0, 10, 1 << 20, patience=60.0)
        self.settle()
        self.assertNoResult(waiting)
        self.add(self.run_of(1, [b"b"], lac=0))
        reply = self.result(waiting)
        self.assertEqual((reply.max_lac, reply.entries.first, reply.entries.count), (0, 0, 2))
        self.assertEqual(reply.entries.entry(0), run.entry(0))
        reply = self.result(self.client.read_batch(self.bookie_id, LEDGER, 0, 1, 1 << 20, patience=60.0))
        self.assertEqual((reply.max_lac, reply.entries.count), (0, 1))

    def test_batch_poll_without_an_entry(self) -> None:
        """A waiting batch read fails with NoSuchEntryError after a fence, and immediately for an unknown ledger."""
        self.error(self.client.read_batch(self.bookie_id, LEDGER, 0, 10, 1 << 20, patience=60.0), NoSuchLedgerError)
        self.add(self.run_of(0, [b"a"]))
        waiting = self.client.read_batch(self.bookie_id, LEDGER, 1, 10, 1 << 20, patience=60.0)
        self.settle()
        self.assertNoResult(waiting)
        self.result(self.client.read(self.bookie_id, LEDGER, INVALID_ENTRY_ID, FENCE, self.digester.master_key))
        self.error(waiting, NoSuchEntryError)

    def test_wrong_key(self) -> None:
        """The key of the first add becomes the master key of its ledger; requests with another key fail."""
        self.add(self.run_of(0, [b"a"]))
        ((_, _, refused),) = self.add(self.run_of(1, [b"b"]), key=b"k" * 20)
        self.assertIsInstance(refused, UnauthorizedAccessError)

    def test_lac(self) -> None:
        """A LAC read returns the explicit LAC and the last entry; it fails for an unknown ledger."""
        self.error(self.client.read_lac(self.bookie_id, LEDGER), NoSuchEntryError)
        run = self.run_of(0, [b"a", b"b"])
        self.add(run)
        explicit, last = self.result(self.client.read_lac(self.bookie_id, LEDGER))
        self.assertEqual((explicit or None, last), (None, run.entry(1)))
        packet = self.digester.seal_lac(LEDGER, 1)
        self.result(self.client.write_lac(self.bookie_id, LEDGER, self.digester.master_key, 1, packet))
        explicit, last = self.result(self.client.read_lac(self.bookie_id, LEDGER))
        self.assertEqual((explicit, last), (packet, run.entry(1)))

    def test_force(self) -> None:
        """A bookie can be told to sync the acknowledged adds of a ledger."""
        self.add(self.run_of(0, [b"a"]))
        self.assertIsNone(self.result(self.client.force(self.bookie_id, LEDGER)))

    def test_list(self) -> None:
        """A listing of a ledger's entries returns ranges of consecutive ids."""
        self.error(self.client.list_entries(self.bookie_id, LEDGER), NoSuchLedgerError)
        self.add(self.run_of(0, [b"a", b"b"]))
        self.add(self.run_of(5, [b"f"]))
        self.assertEqual(list(self.result(self.client.list_entries(self.bookie_id, LEDGER))), [(0, 1), (5, 5)])

    def test_info(self) -> None:
        """A bookie reports its capacity, and free space of at most the capacity."""
        capacity, free = self.result(self.client.bookie_info(self.bookie_id))
        self.assertTrue(0 <= free <= capacity)

    def test_unknown_bookie(self) -> None:
        """A read from a bookie whose address is unknown fails: the bookie is not available."""
        self.error(self.client.read("nowhere", LEDGER, 0), BookieHandleNotAvailableError)

    def test_cancel(self) -> None:
        """A cancelled read fails immediately, and its reply is ignored."""
        run = self.run_of(0, [b"a"])
        self.add(run)
        cancelled = self.client.read(self.bookie_id, LEDGER, 0)
        cancelled.cancel()
        self.failureResultOf(cancelled, CancelledError)
        self.assertEqual(self.result(self.client.read(self.bookie_id, LEDGER, 0)).entry, run.entry(0))

    def test_flow(self) -> None:
        """A flow (the requests of one handle) can do all that its client can; closing it does not close the client."""
        run = self.run_of(0, [b"a", b"b"])
        self.assert_added(self.add(run), 0, 2)
        flow = self.client.open_flow()
        verifyObject(IBookieClient, flow)
        own = flow.read(self.bookie_id, LEDGER, 1)
        other = self.client.read(self.bookie_id, LEDGER, 0)
        self.assertEqual(self.result(own).entry, run.entry(1))
        self.assertEqual(self.successResultOf(other).entry, run.entry(0))
        self.result(flow.close())
        self.error(flow.read(self.bookie_id, LEDGER, 0), ClientClosedError)
        self.assertEqual(self.result(self.client.read(self.bookie_id, LEDGER, 0)).entry, run.entry(0))

    def test_retired_flow(self) -> None:
        """After a flow (a handle's requests) is retired, requests in progress complete; new requests are refused."""
        run = self.run_of(0, [b"a"])
        self.add(run)
        flow = self.client.open_flow()
        reading = flow.read(self.bookie_id, LEDGER, 0)
        flow.check_open()
        flow.retire()
        self.assertRaises(ClientClosedError, flow.check_open)
        self.error(flow.read(self.bookie_id, LEDGER, 0), ClientClosedError)
        self.assertEqual(self.result(reading).entry, run.entry(0))

    def test_closed_flow(self) -> None:
        """When a flow (the requests of one handle) is closed, its requests fail immediately; later replies are ignored.
        """
        flow, answers = self.client.open_flow(), list[Exception | None]()
        flow.add(
            self.bookie_id, self.adds(self.run_of(0, [b"a"])),
            lambda bookie_id, indexes, error: answers.append(error),
        )  # fmt: skip
        flow.close()
        self.assertEqual([type(error) for error in answers], [ClientClosedError])
        self.settle()
        self.assertEqual(len(answers), 1)

    def test_flows_of_a_closed_client(self) -> None:
        """When a client is closed, its flows are closed, too; through a flow, a ledger handle sends its requests."""
        flow = self.client.open_flow()
        reading = flow.read(self.bookie_id, LEDGER, 0)
        closed = self.client.close()
        self.failureResultOf(reading, ClientClosedError)
        self.assertRaises(ClientClosedError, flow.check_open)
        self.result(closed)
        self.error(flow.read(self.bookie_id, LEDGER, 0), ClientClosedError)

    def test_close(self) -> None:
        """When a client is closed, its requests in progress and all later calls fail."""
        answers: list[Exception | None] = []
        self.client.add(
            self.bookie_id, self.adds(self.run_of(0, [b"a"])),
            lambda bookie_id, indexes, error: answers.append(error),
        )  # fmt: skip
        reading = self.client.read(self.bookie_id, LEDGER, 0)
        closed = self.client.close()
        self.failureResultOf(reading, ClientClosedError)
        self.assertEqual([type(error) for error in answers], [ClientClosedError])
        self.assertRaises(ClientClosedError, self.client.check_open)
        self.result(closed)
        self.error(self.client.read(self.bookie_id, LEDGER, 0), ClientClosedError)

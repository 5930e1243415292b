"""Threads append to a ledger that is written on the reactor's thread as well."""

from collections.abc import Callable
from typing import Any

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.claim_log import STUCK_SECONDS
from bookkeeper_twisted.client.claims.producer import WhenFull
from bookkeeper_twisted.client.writing.batch import Batch
from bookkeeper_twisted.client.writing.quorum_writer import QuorumWriter
from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import IllegalOperationError, LedgerClosedError, LedgerFencedError
from bookkeeper_twisted.model import LedgerState

from ...bounds import in_thread, join, until
from ..claims.log_case import switch_often
from .writer_case import LEDGER, WriterTestCase
from .writer_stress import WriterStress


def in_a_thread(work: Callable[[], object]) -> Any:
    """What it gives in a thread of its own."""
    results: list[object] = []
    join(in_thread(lambda: results.append(work())))
    return results[0]


def _given_up(claims: int) -> str:
    """Return the line that tells of claims that were given up."""
    return (
        f"ledger {LEDGER}: claims of appenders were given up: {claims}; they were open for 15 s, or their threads have "
        "ended"
    )


class SendsThen(QuorumWriter):
    """Does something after the first batch that its entries join."""

    once: Callable[[], object] | None = None

    def follow(self, batch: Batch[QuorumWriter]) -> None:
        """Entries join a batch."""
        super().follow(batch)
        then, SendsThen.once = SendsThen.once, None
        if then is not None:
            then()


class _Writer(LedgerWriter):
    _core = SendsThen


class AppenderTests(WriterTestCase):
    """One ledger."""

    def _payloads(self) -> list[bytes]:
        ledger_id = self.writer.ledger_id
        stored = self.bookies["b0"].entries[ledger_id]
        return [self.digester.entry(ledger_id, i, stored[i]).data for i in sorted(stored)]

    def test_one_sequence(self) -> None:
        """Ids are given in one sequence: first to what was appended on the reactor's thread, in call order."""
        appender = self.writer.appender()
        in_a_thread(lambda: [appender.offer(b"t0"), appender.offer(b"t1")])
        one, many = self.writer.append(b"r0"), self.writer.append_many([b"r1", b"r2"])
        flushed = in_a_thread(appender.flush)
        self.settle()
        self.assertEqual((self.successResultOf(one), self.successResultOf(many)), (0, (1, 2)))
        self.assertTrue(flushed.done())
        later = self.writer.append(b"r3")
        self.settle()
        self.assertEqual(self.successResultOf(later), 5)
        self.assertEqual(self._payloads(), [b"r0", b"r1", b"r2", b"t0", b"t1", b"r3"])
        self.assertEqual((self.writer.length, self.writer.last_add_confirmed), (12, 5))

    def test_append_meanwhile(self) -> None:
        """An append that is made between two runs of what threads offered has the id it was told."""
        self.writer = _Writer(self.open(self.config, LEDGER + 1))
        appender = self.writer.appender()
        ids: list[int] = []
        SendsThen.once = lambda: self.writer.append(b"r").addCallback(ids.append)
        in_a_thread(lambda: appender.offer(b"t0"))
        assert self.writer._appends is not None
        hole = self.writer._appends.log.producer()
        hole.claim(1)
        in_a_thread(lambda: appender.offer(b"t1"))
        hole.abort()
        self.settle()
        self.assertEqual((ids, self._payloads()), ([1], [b"t0", b"r", b"t1"]))
        self.assertEqual((self.writer.last_add_pushed, self.writer.length), (2, 5))

    def test_close(self) -> None:
        """A close waits for all that was offered, an open claim included; later offers fail."""
        appender = self.writer.appender()
        in_a_thread(lambda: appender.offer(b"t0"))
        assert self.writer._appends is not None
        claimed = self.writer._appends.log.producer()
        claimed.claim(2)
        closed = self.writer.close()
        self.settle()
        self.assertNoResult(closed)
        with self.assertRaises(LedgerClosedError):
            appender.offer(b"late")
        claimed.payload[:] = b"t1"
        claimed.commit()
        self.settle()
        self.successResultOf(closed)
        self.assertEqual((self.stored().state, self.stored().last_entry_id), (LedgerState.CLOSED, 1))
        flushed = appender.flush()
        self.settle()
        self.assertTrue(flushed.done())
        with self.assertRaises(LedgerClosedError):
            self.writer.appender()

    def test_close_after_an_abort(self) -> None:
        """A claim that is given up does not hold up the close any more."""
        self.writer.appender()
        assert self.writer._appends is not None
        claimed = self.writer._appends.log.producer()
        claimed.claim(2)
        closed = self.writer.close()
        self.settle()
        claimed.abort()
        self.settle()
        self.successResultOf(closed)
        self.assertEqual(self.stored().last_entry_id, -1)

    def test_close_after_a_death(self) -> None:
        """The claim of a thread that has ended does not hold up the close, nor what others offered behind it."""
        appender = self.writer.appender()
        in_a_thread(lambda: appender.claim(2))
        in_a_thread(lambda: appender.offer(b"t0"))
        closed = self.writer.close()
        self.settle()
        self.successResultOf(closed)
        self.assertEqual((self.stored().state, self._payloads()), (LedgerState.CLOSED, [b"t0"]))

    def test_close_with_a_claim(self) -> None:
        """A claim that nobody ends is given up in time, so that the ledger is closed; its commit raises then."""
        appender = self.writer.appender()
        appender.claim(2)
        appended = self.writer.append(b"r0")
        self.settle()
        self.assertEqual(self.successResultOf(appended), 0)
        closed = self.writer.close()
        self.settle()
        self.clock.pump([1.0] * int(STUCK_SECONDS - 1))
        self.settle()
        self.assertNoResult(closed)
        self.clock.advance(1.0)
        self.settle()
        self.successResultOf(closed)
        self.assertEqual((self.stored().state, self._payloads()), (LedgerState.CLOSED, [b"r0"]))
        with self.assertRaises(IllegalOperationError):
            appender.commit()
        self.clock.advance(1.0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_close_with_claims(self) -> None:
        """A close gives up all open claims together, those of earlier blocks too, and one line says how many."""
        self.writer.appender()
        assert self.writer._appends is not None
        log, size = self.writer._appends.log, self.writer._ledger.context.memory_pool.size
        producers = [log.producer() for _ in range(3)]
        for producer in producers:
            producer.claim(size)
            log.producer().offer(b"t0")
        with capturedLogs() as events:
            closed = self.writer.close()
            self.settle()
            self.clock.pump([1.0] * int(STUCK_SECONDS - 1))
            self.settle()
            self.assertNoResult(closed)
            self.clock.advance(1.0)
            self.settle()
        self.successResultOf(closed)
        self.assertEqual((self.stored().state, self._payloads()), (LedgerState.CLOSED, [b"t0"] * 3))
        self.assertEqual([formatEvent(event) for event in events], [_given_up(3)])
        for producer in producers:
            with self.assertRaisesRegex(IllegalOperationError, f"^ledger {LEDGER}: the claim of this thread was given"):
                producer.commit()

    def test_close_with_deaths(self) -> None:
        """The claims of threads that have ended are given up together, though they are behind that of a live one."""
        self.writer.appender()
        assert self.writer._appends is not None
        log = self.writer._appends.log
        live = log.producer()
        live.claim(2)
        for _ in range(2):
            in_a_thread(lambda: log.producer().claim(2))
        in_a_thread(lambda: log.producer().offer(b"t0"))
        with capturedLogs() as events:
            closed = self.writer.close()
            self.settle()
        self.assertEqual([formatEvent(event) for event in events], [_given_up(2)])
        self.assertNoResult(closed)
        live.commit()
        self.settle()
        self.successResultOf(closed)
        self.assertEqual(self._payloads(), [bytes(2), b"t0"])

    def test_fenced(self) -> None:
        """Flushes and later offers fail with what ended the writer."""
        appender = self.writer.appender()
        in_a_thread(lambda: appender.offer(b"t0"))
        for name in self.names:
            self.bookies[name].fail("add", lambda: LedgerFencedError(LEDGER))
        flushed = appender.flush()
        self.settle()
        self.assertIsInstance(flushed.exception(0), LedgerFencedError)
        for call in (lambda: appender.offer(b"t1"), self.writer.appender):
            with self.assertRaises(LedgerFencedError):
                call()
        late = appender.flush()
        self.settle()
        self.assertIsInstance(late.exception(0), LedgerFencedError)

    def test_lazy(self) -> None:
        """A ledger no thread appends to has no log for threads."""
        self.assertIsNone(self.writer._appends)

    def test_idle(self) -> None:
        """A ledger at rest holds no memory for threads either."""
        appender = self.writer.appender()
        in_a_thread(lambda: appender.offer(b"t0"))
        self.settle()
        assert self.writer._appends is not None
        self.assertEqual(self.writer._appends.log._blocks, [])


class RoomTests(WriterTestCase):
    """A small bound."""

    config = ClientConfig(max_in_flight_bytes=4096, netty_max_frame_size_bytes=1024)

    def test_code(self) -> None:
        """Where the bound is reached an offer says so, until something is acknowledged."""
        appender = self.writer.appender(WhenFull.CODE)
        self.assertLess(min(appender.offer(bytes(500)) for _ in range(100)), 0)
        self.settle()
        self.assertGreater(appender.offer(bytes(500)), 0)

    def test_block(self) -> None:
        """Threads wait for room, and all they offer arrives."""
        appender = self.writer.appender()
        workers = [in_thread(lambda: [appender.offer(bytes(500)) for _ in range(50)]) for _ in range(2)]
        for _ in until(lambda: not any(worker.is_alive() for worker in workers), 10_000):
            workers[0].join(0.001)
            self.settle()
        self.settle()
        self.assertEqual(self.held(0), list(range(100)))


class StressTests(SynchronousTestCase):
    """Threads, aborts, a death, bookies that fail, and appends on the reactor's thread."""

    def test_threads(self) -> None:
        """No loss, tear or duplicate, per-producer order, and every id is the one that was told."""
        switch_often(self)
        for seed in (1, 2):
            self.assertTrue(WriterStress.of(seed, threads=4, offers=500), "no bookie was replaced")

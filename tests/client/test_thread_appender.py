"""Threads append, and learn when it is acknowledged."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claim_log import ClaimResult
from bookkeeper_twisted.client.thread_appender import Flushes, ThreadAppender
from bookkeeper_twisted.errors import LedgerFencedError

from .log_case import OVERHEAD, Sender, Shared


class ThreadAppenderTests(SynchronousTestCase):
    """One appender."""

    def setUp(self) -> None:
        self.shared = Shared()
        self.log = self.shared.log
        self.flushes = Flushes(self.log)
        self.appender = ThreadAppender(self.log, self.flushes)

    def test_flush(self) -> None:
        """A flush completes when what was offered before it is acknowledged."""
        position = self.appender.offer(b"x")
        future = self.appender.flush()
        self.assertEqual(self.shared.wakes, 1)
        self.log.disarm()
        self.flushes.answer()
        sender = Sender(self.log)
        sender.send()
        self.assertFalse(future.done())
        sender.acknowledge()
        self.assertEqual((future.result(0), position), (position, 1 + OVERHEAD))

    def test_nothing(self) -> None:
        """Nothing was offered, so there is nothing to wait for."""
        future = self.appender.flush()
        self.flushes.answer()
        self.assertTrue(future.done())

    def test_failure(self) -> None:
        """Flush and later offers fail with why the ledger takes no more."""
        self.appender.offer(b"x")
        asked = [self.appender.flush(), self.appender.flush()]
        self.flushes.answer()
        why = LedgerFencedError(7)
        self.log.close(why)
        asked.append(self.appender.flush())
        self.flushes.answer()
        self.assertEqual([future.exception(0) for future in asked], [why] * 3)
        with self.assertRaises(LedgerFencedError):
            self.appender.offer(b"y")

    def test_cancelled(self) -> None:
        """A future nobody waits for is left alone."""
        self.appender.offer(b"x")
        self.appender.flush().cancel()
        self.flushes.answer()
        Sender(self.log).acknowledge()

    def test_full(self) -> None:
        """A full log says so."""
        while (position := self.appender.offer(bytes(100))) > 0:
            pass
        self.assertEqual(position, ClaimResult.BACK_PRESSURED)

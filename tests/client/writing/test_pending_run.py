"""Runs that are taken from a log, sealed, and known by their lengths."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.writing.frame_shape import V2Shape
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.client.writing.pending_run import PendingRun, RunSealer
from bookkeeper_twisted.codec import v2
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import DigestType

LEDGER = 7
PAYLOADS = [b"", b"abc", b"d", b"ef"]


class PendingRunTests(SynchronousTestCase):
    """A log of one ledger."""

    def setUp(self) -> None:
        self.make(DigestType.CRC32C)

    def make(self, digest_type: DigestType) -> None:
        """A new log, after entry 4."""
        self.digester = Digester(digest_type, b"")
        shape = V2Shape(LEDGER, self.digester.size, self.digester.master_key)
        self.log = ExclusiveLog.unbounded(shape, TermPool(1024))
        self.sealer = RunSealer(LEDGER, shape, self.digester, Schedule(1, 1, 1), 4)
        self.sealer.length = 1000

    def take(self, limit: int = 1 << 20) -> PendingRun:
        """The next run."""
        run = self.sealer.take(self.log, limit, 3)
        assert run is not None
        return run

    def test_length(self) -> None:
        """The length with n entries is the bytes before and those of the n payloads, for every digest size."""
        for digest_type in DigestType:
            for payloads in ([b"ab"] * 4, PAYLOADS):
                self.make(digest_type)
                self.log.offer_many(payloads)
                run = self.take()
                self.assertEqual((run.first, run.last, run.count, run.size), (5, 8, 4, self.log.tail))
                lengths = [run.length_with(n) for n in range(5)]
                self.assertEqual(lengths, [1000 + sum(map(len, payloads[:n])) for n in range(5)])
                self.assertEqual((self.sealer.last, self.sealer.length), (8, lengths[4]))

    def test_bytes(self) -> None:
        """What is sent of a run, whole and in part, is what the codec would have made of the payloads."""
        self.log.offer_many(PAYLOADS)
        run, sealed = self.take(), self.digester.seal(LEDGER, 5, 3, 1000, PAYLOADS)
        for first, count in ((5, 4), (6, 2), (8, 1)):
            adds = run.adds(first, count)
            self.assertEqual((adds.ledger_id, adds.first, adds.count, adds.wire), (LEDGER, first, count, 2))
            expected = v2.encode_adds(self.digester.master_key, sealed.slice(first, count))
            self.assertEqual(adds.requests(2, 0), expected)

    def test_following(self) -> None:
        """Ids and lengths go on in the next run."""
        self.log.offer_many(PAYLOADS)
        self.assertEqual(self.take(1).count, 1)
        run = self.take()
        self.assertEqual((run.first, run.length_with(0), run.length_with(3)), (6, 1000, 1006))
        self.assertIsNone(self.sealer.take(self.log, 1, 3))

    def test_go_on(self) -> None:
        """Ids and lengths go on after entries that were sealed elsewhere."""
        self.log.offer_many(PAYLOADS)
        self.take(1)
        self.sealer.go_on(20, 5000)
        run, sealed = self.take(), self.digester.seal(LEDGER, 21, 3, 5000, PAYLOADS[1:])
        self.assertEqual((run.first, run.last, run.length_with(3)), (21, 23, 5006))
        self.assertEqual(run.adds(21, 3).requests(2, 0), v2.encode_adds(self.digester.master_key, sealed))
        self.assertEqual((self.sealer.last, self.sealer.length), (23, 5006))

    def test_complete(self) -> None:
        """The memory of entries that are completed may serve again."""
        self.log.offer_many(PAYLOADS)
        run = self.take()
        run.complete(0)
        self.assertEqual(self.log.acknowledged, 0)
        run.complete(2)
        self.assertEqual(self.log.in_flight, len(run.adds(7, 2).requests(2, 0)))
        run.complete(4)
        self.assertEqual(self.log.in_flight, 0)

    def test_sent_bytes_are_kept(self) -> None:
        """What was sent stays as it is when the memory of its run serves again."""
        self.log.offer_many([b"x" * 100] * 3)
        run = self.take()
        adds = run.adds(5, 3)
        before = bytes(bytearray(adds.requests(2, 0)))  # a copy, whatever the adds hold
        run.complete(3)
        self.log.trim()
        self.log.offer_many([b"y" * 100] * 3)
        self.take()
        self.assertEqual(adds.requests(2, 0), before)

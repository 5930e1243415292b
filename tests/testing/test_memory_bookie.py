"""One bookie in memory, by itself."""

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import BookieIOError, LedgerFencedError, UnauthorizedAccessError
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.memory_bookie import MemoryBookie
from bookkeeper_twisted.testing.sealing import sealed

DIGESTER = Digester(DigestType.CRC32C, b"")
KEY = b"k"


class MemoryBookieTests(SynchronousTestCase):
    """A bookie without a client."""

    def setUp(self) -> None:
        self.bookie = MemoryBookie()
        self.bookie.add(7, 0, sealed(DIGESTER, 7, 0, -1, 0, [b"a"]).entry(0), KEY, 0)

    def test_fence(self) -> None:
        """A fenced ledger takes no adds; another key was never good."""
        self.assertRaises(UnauthorizedAccessError, self.bookie.fence, 7, b"other")
        self.bookie.fence(7, KEY)
        self.assertRaises(LedgerFencedError, self.bookie.add, 7, 1, b"", KEY, 0)

    def test_explicit_lac(self) -> None:
        """An explicit LAC that is news ends the waits for it, and an older one changes nothing."""
        news: Deferred[None] = Deferred()
        self.bookie.waiting[news] = lambda: self.bookie.lac(7) > 1
        self.bookie.write_lac(7, DIGESTER.seal_lac(7, 1))
        self.assertNoResult(news)
        self.bookie.write_lac(7, DIGESTER.seal_lac(7, 2))
        self.successResultOf(news)
        self.bookie.write_lac(7, DIGESTER.seal_lac(7, 1))
        self.assertEqual(self.bookie.lac(7), 2)

    def test_fault(self) -> None:
        """A fault is spent by what it fails."""
        self.bookie.fail("read", BookieIOError, first=3, times=1)
        self.assertIsNone(self.bookie.fault("read", 2))
        self.assertIsInstance(self.bookie.fault("read", 3), BookieIOError)
        self.assertIsNone(self.bookie.fault("read", 3))

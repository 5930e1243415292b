"""A sealed run knows the length of the ledger with each of its entries."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.pending_run import PendingRun
from bookkeeper_twisted.client.placement import Schedule
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.model import DigestType


class PendingRunTests(SynchronousTestCase):
    """Lengths, for every digest size."""

    def test_length(self) -> None:
        """The length with n entries is the bytes before and those of the n payloads."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"")
            for payloads in ([b"ab"] * 4, [b"", b"abc", b"d", b"ef"]):
                run = digester.seal(1, 5, -1, 1000, payloads)
                pending = PendingRun(run, Schedule(1, 1, 1), 1000, 36 + digester.size)
                lengths = [pending.length_with(n) for n in range(5)]
                self.assertEqual(lengths, [1000 + sum(map(len, payloads[:n])) for n in range(5)])
                headers = [digester.entry(1, e, run.entry(e)).length for e in range(5, 9)]
                self.assertEqual(lengths[1:], headers)

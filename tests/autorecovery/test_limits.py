"""The limiters of autorecovery."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.interfaces import ILedgerChecker
from bookkeeper_twisted.autorecovery.limits import CHECKER_READ, LIMITERS, REPLICATION_READ
from bookkeeper_twisted.limits.throttle import Rate, Throttles


class LimitTests(SynchronousTestCase):
    """Names."""

    def test_one_for_each_kind_of_work(self) -> None:
        """Each kind of work has a limiter of its own, so that the limit of one does not hold up another."""
        throttles = Throttles(Clock(), {CHECKER_READ: Rate(bytes=1)})
        self.assertEqual(len({throttles.get(name) for name in LIMITERS}), 5)
        throttles.get(CHECKER_READ).acquire(100)
        self.assertNoResult(throttles.get(CHECKER_READ).acquire(1))
        self.successResultOf(throttles.get(REPLICATION_READ).acquire(1))

    def test_checker(self) -> None:
        """A checker may be asked without suspects."""
        signature = ILedgerChecker["check"].getSignatureString()
        self.assertEqual(signature, "(ledger_id, metadata, suspects=(), before=None)")

"""A walk over many ledgers while one bookie is registered, accepts requests and answers none."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.autorecovery.auditing.auditor import Auditor, AuditorParts
from bookkeeper_twisted.autorecovery.auditing.auditor_metrics import AuditorMetrics
from bookkeeper_twisted.autorecovery.retries import Retries
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.instruments import render
from bookkeeper_twisted.ledger.findings import CheckReport
from bookkeeper_twisted.metrics import new_registry
from bookkeeper_twisted.model import AuditorCheck
from bookkeeper_twisted.testing.bookies import TIMEOUT

from ..recovery_case import RecoveryCase

_HUNG = "b0:1"


class HungBookieTests(RecoveryCase):
    """Ledgers on four bookies, of which one hangs."""

    def setUp(self) -> None:
        """Makes the metrics."""
        super().setUp()
        self.metrics = AuditorMetrics(self.instruments)

    def ledgers(self, count: int = 250) -> None:
        """Ledgers are written, and then the bookie hangs."""
        self.ids = [self.write([b"a"]) for _ in range(count)]
        self.of_hung = [i for i in self.ids if _HUNG in self.metadata(i).segments[0].bookies]
        self.hang(True)

    def hang(self, hung: bool) -> None:
        """The bookie hangs, or goes on."""
        self.bookies[_HUNG].silent = hung
        for bookie_id in ("b0:1", "b1:1", "b2:1", "b3:1"):
            self.bookies[bookie_id].requests.clear()

    def auditor(self, **config: Any) -> Auditor:
        """An auditor in office, with the settings of a checker in production."""
        every = AutorecoveryConfig(**{
            "auditor_periodic_bookie_check_interval": 0, "auditor_periodic_check_interval": 0, **config
        })  # fmt: skip
        parts = AuditorParts(
            self.clock, lambda: int(self.clock.seconds() * 1000), self.bk.metadata, self.checker(retries=Retries()),
            self.bookies, self.bk.context.watcher.placement, self.throttles, self.metrics, every,
        )  # fmt: skip
        auditor = Auditor(parts)
        self.addCleanup(auditor.stop)
        auditor.start()
        return auditor

    def wait(self, seconds: float) -> None:
        """Time passes."""
        for _ in range(int(seconds * 4)):
            self.clock.advance(0.25)
            self.settle()

    def ended(self, check: AuditorCheck) -> bool:
        """Whether a check of all ledgers was complete."""
        return self.do(self.cluster.auditing.check_time(check)) is not None

    def marks(self) -> list[int]:
        """Marked ledgers."""

        async def read() -> list[int]:
            return [ledger_id async for ledger_id in self.cluster.underreplication.marked_ledgers()]

        found: list[int] = self.do(read())
        return found

    def asked(self, bookie_id: str) -> int:
        """How many requests a bookie got."""
        return len(self.bookies[bookie_id].requests)

    def metric(self, name: str) -> float:
        """The exported value of a metric."""
        lines = render(new_registry(self.instruments)).decode().splitlines()
        return float(next(line for line in lines if line.startswith(name + " ")).split()[1])

    def test_walk(self) -> None:
        """The walk takes two timeouts, not one for each replica; the others are asked for each of their ledgers."""
        self.ledgers(1000)
        self.auditor(auditor_periodic_check_interval=3600)
        self.wait(1 + 2 * TIMEOUT + 1)
        self.assertEqual(self.metrics.checked.value, 1000)
        self.assertEqual(self.metric("ledger_checker_unanswering_bookies"), 1)
        self.assertLess(self.asked(_HUNG), 250)
        self.assertGreater(self.metric("ledger_checker_requests_left_out"), len(self.of_hung) - 250)
        for bookie_id in ("b1:1", "b2:1", "b3:1"):
            of_this = sum(bookie_id in self.metadata(i).segments[0].bookies for i in self.ids)
            self.assertEqual(self.asked(bookie_id), of_this)
        self.assertEqual(self.marks(), [])

    def test_comes_back(self) -> None:
        """Once the bookie goes on, its ledgers are checked at the end of the same check, and its losses marked."""
        self.ledgers()
        del self.bookies[_HUNG].entries[self.of_hung[-1]]
        self.auditor(auditor_periodic_check_interval=3600)
        self.wait(120)
        self.assertFalse(self.ended(AuditorCheck.ALL_LEDGERS))
        self.hang(False)
        self.wait(300)
        self.assertTrue(self.ended(AuditorCheck.ALL_LEDGERS))
        self.assertEqual((self.marks(), self.metrics.inconclusive.value), ([self.of_hung[-1]], 0))
        self.assertEqual(self.metric("ledger_checker_unanswering_bookies"), 0)
        self.assertGreaterEqual(self.asked(_HUNG), len(self.of_hung))

    def test_stays_away(self) -> None:
        """A bookie that hangs on costs a few requests; its ledgers are counted and not marked, and the check ends."""
        self.ledgers()
        self.auditor(auditor_periodic_check_interval=7200)
        self.wait(30)
        asked = self.asked(_HUNG), self.asked("b1:1")
        self.wait(1400)
        self.assertTrue(self.ended(AuditorCheck.ALL_LEDGERS))
        self.assertEqual((self.marks(), self.metrics.inconclusive.value), ([], len(self.of_hung)))
        self.assertLess(self.asked(_HUNG) - asked[0], 30)
        self.assertLess(self.asked("b1:1") - asked[1], 30)

    def test_lost(self) -> None:
        """If the bookie is lost meanwhile, no check asks it any more, and the check of all ledgers ends soon."""
        self.ledgers()
        self.auditor(auditor_periodic_check_interval=7200)
        self.wait(30)
        self.assertFalse(self.ended(AuditorCheck.ALL_LEDGERS))
        self.kill(_HUNG)
        self.wait(60)
        self.assertTrue(self.ended(AuditorCheck.ALL_LEDGERS))
        self.assertEqual(self.metrics.inconclusive.value, 0)

    def test_listings(self) -> None:
        """The check of what bookies list takes no more, either."""
        self.ledgers()
        self.auditor(auditor_replicas_check_interval=3600)
        self.wait(1 + 2 * TIMEOUT + 1)
        self.assertTrue(self.ended(AuditorCheck.REPLICAS))
        self.assertEqual(self.metrics.inconclusive.value, len(self.of_hung))
        self.assertLess(self.asked(_HUNG), 110)

    def test_open_ledgers(self) -> None:
        """Neither does the last add confirmed of open ledgers wait for such a bookie each time."""
        self.ledgers()
        self.hang(False)
        for _ in range(300):
            self.do(self.bk.create_ledger(4, 4, 1))
        self.hang(True)
        self.auditor(auditor_periodic_check_interval=3600)
        self.wait(1 + 2 * TIMEOUT + 1)
        self.assertEqual((self.metrics.checked.value, self.marks()), (550, []))

    def test_no_batches(self) -> None:
        """A bookie that leaves only batch reads unanswered is asked for single entries, not left out."""
        self.ledgers()
        self.hang(False)
        bookie = self.bookies[_HUNG]
        answer = self.bookies._answer

        def unanswered(bookie_id: str, operation: str, *rest: Any, **more: Any) -> "Deferred[Any]":
            bookie.silent, bookie.delay = bookie_id == _HUNG and operation == "read_batch", 1.0
            answered: Deferred[Any] = answer(bookie_id, operation, *rest, **more)
            return answered

        self.bookies._answer = unanswered
        checker = self.checker()
        checks: list[Deferred[CheckReport]] = []
        for ledger_id in self.of_hung[:5]:
            checks.append(Deferred.fromCoroutine(checker.check(ledger_id, self.metadata(ledger_id))))
            if len(checks) == 4:
                self.wait(TIMEOUT + 0.5)  # the batch reads are unanswered, the single reads are not answered yet
        self.assertTrue(all(self.finish(check).is_whole for check in checks))
        self.assertEqual((list(checker.unanswering()), self.metric("ledger_checker_requests_left_out")), ([], 0))

    def test_single_reads(self) -> None:
        """Striped ledgers, which are read entry by entry, do not wait for it, either."""
        self.hang(False)
        self.ids = [self.write([b"a"] * 4, (4, 2, 2)) for _ in range(250)]
        self.hang(True)
        self.auditor(auditor_periodic_check_interval=3600)
        self.wait(1 + 2 * TIMEOUT + 1)
        self.assertGreaterEqual(self.metrics.checked.value, 250)
        self.assertEqual(self.marks(), [])

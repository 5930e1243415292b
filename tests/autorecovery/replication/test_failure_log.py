"""The log of repairs that fail: some lines for each cause."""

from collections.abc import Sequence

from twisted.internet.task import Clock
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.replication.failure_log import INTERVAL, MAX_CAUSES, FailureLog

from ...client.cluster_case import BOOKIES
from .worker_case import WorkerCase


def _said(events: Sequence[LogEvent]) -> list[str]:
    return [formatEvent(event) for event in events if event["log_namespace"].endswith("failure_log.FailureLog")]


class FailureLogTests(SynchronousTestCase):
    """:class:`FailureLog`."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.log = FailureLog(self.clock)

    def test_same_cause(self) -> None:
        """Many ledgers without the same bookies are a line at once, and one with their number at the end."""
        with capturedLogs() as events:
            for attempt in range(2):
                for ledger_id in range(90):
                    self.log.failed(
                        ledger_id, 9.4, f"no bookie has ledger {ledger_id} entry 1 and {99 + attempt} more: b1 is gone"
                    )
                self.clock.advance(20)
            self.assertEqual(len(events), 1)
            self.clock.advance(INTERVAL)
        self.assertEqual(
            _said(events),
            [
                "ledger 0 is not repaired, again in 9 s: no bookie has ledger 0 entry 1 and 99 more: b1 is gone",
                "89 more ledgers were not repaired at an attempt in the last 100 s, for the same reason, such as "
                "ledger 89: no bookie has ledger 89 entry 1 and 100 more: b1 is gone",
            ],
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_next_interval(self) -> None:
        """What fails later is logged anew, and one ledger alone has no second line."""
        with capturedLogs() as events:
            for _ in range(3):
                self.log.failed(7, 10, "no answer")
                self.clock.advance(INTERVAL)
        self.assertEqual(_said(events), ["ledger 7 is not repaired, again in 10 s: no answer"] * 3)

    def test_causes(self) -> None:
        """Other bookies are another cause; beyond a number of them, the rest is one."""
        with capturedLogs() as events:
            for number in range(100):
                self.log.failed(number, 10, f"no bookie has ledger {number} entry 1: b{number}:1 is gone")
            self.assertEqual(len(events), MAX_CAUSES + 1)
            self.log.flush()
        self.assertEqual(
            _said(events)[-1],
            f"{100 - MAX_CAUSES - 1} more ledgers were not repaired at an attempt in the last 0 s, for further "
            "reasons, such as ledger 99: no bookie has ledger 99 entry 1: b99:1 is gone",
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])


class FailedRepairTests(WorkerCase):
    """A worker whose repairs fail."""

    def test_lost_entries(self) -> None:
        """Ledgers whose bookies are all gone are a line, and one more when the worker stops."""
        ledgers = [self.write(self.payloads(5), (4, 4, 2)) for _ in range(9)]
        for bookie_id in BOOKIES:
            self.kill(bookie_id)
        for ledger_id in ledgers:
            self.mark(ledger_id)
        with capturedLogs() as events:
            self.worker(ledgers=10)
            self.pass_time(20)
            (first,) = _said(events)
            self.stop_workers()
        gone = "b0:1 is gone, b1:1 is gone, b2:1 is gone, b3:1 is gone"
        self.assertRegex(first, rf"ledger \d+ is not repaired, again in \d+ s: no bookie has ledger .*: {gone}")
        self.assertRegex(_said(events)[1], "8 more ledgers were not repaired .* such as ledger")

"""The console of a process that runs autorecovery alone."""

import json
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.logger import capturedLogs, formatEvent, globalLogPublisher
from zope.interface import directlyProvides

from bookkeeper_twisted.autorecovery.operations.admin import AutorecoveryAdmin
from bookkeeper_twisted.autorecovery.operations.decommission import UNATTENDED
from bookkeeper_twisted.errors import MetadataUnavailableError
from bookkeeper_twisted.http.console.bookie_parts import SHOWN_JOBS
from bookkeeper_twisted.http.console.cluster_parts import MOST_LOOKED_AT
from bookkeeper_twisted.http.console.feed import INTERVAL
from bookkeeper_twisted.http.site import make_autorecovery_site
from bookkeeper_twisted.limits.adaptive import AdaptiveThrottles, RunningJob, SpeedLimits
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.metadata.interfaces import IStoreConnection

from .cluster_case import ConsoleClusterCase


class AutorecoveryConsoleTests(ConsoleClusterCase):
    """Over a cluster in memory."""

    def setUp(self) -> None:
        super().setUp()
        throttles = Throttles(self.clock, {"replication-read": Rate(7)})
        self.asked: list[int | None] = []
        limits = SpeedLimits(throttles, AdaptiveThrottles(self.clock, throttles, lambda: None), self._jobs)
        self.site = make_autorecovery_site(lambda: iter([b"auditor 1\n"]), limits, self.shared, self.clock)

    def _jobs(self, most: int | None = None) -> list[RunningJob]:
        self.asked.append(most)
        return []

    def test_jobs(self) -> None:
        """No part of the console lists all ledgers that the worker holds, as they may be very many."""
        self.json("stream")
        self.assertEqual(set(self.asked), {SHOWN_JOBS, MOST_LOOKED_AT})

    def test_parts(self) -> None:
        """It has the cluster, repairs, operations, limits and events, and none of the parts of a bookie."""
        found = self.json("stream")
        self.assertEqual(set(found), {"throttles", "cluster", "repair", "operations", "replication", "events", "page"})
        self.assertEqual(found["throttles"]["limiters"]["replication-read"]["entriesPerSecond"], 7)
        self.assertEqual(len(found["cluster"]["bookies"]), 4)
        self.assertEqual(self.ask("/api/v1/console/entry_logs").status, 404)

    def test_operations(self) -> None:
        """A decommission says for which ledgers it waits, and why, until it has ended."""
        self.client.metadata.auditing.stand("bookie-2", lambda elected: None)
        self.result(self.marks.mark(3, ("gone:1",), 5))
        body = '{"bookie_src": "gone:1"}'
        self.assertEqual(self.ask("/api/v1/autorecovery/decommission", "PUT", body).status, 200)
        self.clock.pump([1.0] * 3)
        (found,) = self.json("stream")["operations"]
        self.assertEqual((found["name"], found["found"], found["left"]), ("decommission of bookie gone:1", 1, 1))
        self.assertEqual(found["blockers"], [{"kind": UNATTENDED, "reason": UNATTENDED, "count": 1, "ledgers": [3]}])
        self.result(self.marks.remove_mark(3, 0))
        self.clock.pump([1.0] * 5)
        self.assertEqual(self.json("stream")["operations"], [])

    def test_failed_operation(self) -> None:
        """A decommission that has failed says why, until the same is begun again."""
        self.client.metadata.auditing.stand("bookie-2", lambda elected: None)
        body = '{"bookie_src": "gone:1", "delete_cookie": true}'
        for _ in range(2):
            self.assertEqual(self.ask("/api/v1/autorecovery/decommission", "PUT", body).status, 200)
            self.clock.pump([0.0] * 60 + [INTERVAL])
            (found,) = self.json("stream")["operations"]
            self.assertTrue(found["failure"].startswith("no ledger names the bookie, and it has no cookie"), found)
            self.assertEqual(found["advice"], "check the id of the bookie")
        registration = self.client.metadata.registration
        self.result(registration.write_cookie("gone:1", b"5\n", None))
        self.ask("/api/v1/autorecovery/decommission", "PUT", body)
        self.clock.pump([0.0] * 60 + [INTERVAL])
        self.assertEqual(self.json("stream")["operations"], [])

    def test_unknown_bookie(self) -> None:
        """The decommission of a bookie that never existed does not say that it has succeeded."""
        self.client.metadata.auditing.stand("bookie-2", lambda elected: None)
        with capturedLogs() as logged:
            self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "nosuch:1"}')
            self.clock.pump([0.0] * 60 + [INTERVAL])
        (found,) = self.json("stream")["operations"]
        failure = "no ledger names the bookie, and it has no cookie: it was decommissioned before, or never existed"
        self.assertEqual(found["failure"], failure)
        texts = [formatEvent(event) for event in logged]
        self.assertIn(f"decommission of bookie nosuch:1: {failure}", texts)
        self.assertNotIn("bookie nosuch:1 is decommissioned", texts)

    def test_operation_without_store(self) -> None:
        """A decommission that waits for the metadata store says so, also in the log, and continues when it is back."""
        self.client.metadata.auditing.stand("bookie-2", lambda elected: None)
        self.result(self.marks.mark(3, ("gone:1",), 5))
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1"}')

        async def away(_: object) -> object:
            raise MetadataUnavailableError("no connection")

        patch = self.patch(type(self.client.metadata.underreplication), "locked_ledgers", away)
        with capturedLogs() as logged:
            self.clock.pump([5.0] * 200)
        (found,) = self.json("stream")["operations"]
        self.assertEqual((found["unreachable"], found["left"], "failure" in found), ("no connection", 1, False))
        told = [formatEvent(each) for each in logged if "waits for the metadata store" in formatEvent(each)]
        self.assertEqual(told, ["the decommission of bookie gone:1 waits for the metadata store: no connection"])
        patch.restore()
        self.clock.pump([5.0] * 2)
        (found,) = self.json("stream")["operations"]
        self.assertEqual((found["unreachable"], found["left"]), ("", 1))
        driver: Any = self.result(self.shared()).client.metadata
        directlyProvides(driver, IStoreConnection)
        for outage in ("no connection to ZooKeeper", ""):
            driver.outage = lambda outage=outage: outage
            self.clock.advance(INTERVAL)
            (found,) = self.json("stream")["operations"]
            self.assertEqual(found["unreachable"], outage)
        self.result(self.marks.remove_mark(3, 0))
        self.clock.pump([1.0] * 5)
        self.assertEqual(self.json("stream")["operations"], [])

    def test_operation_before_store(self) -> None:
        """One that is requested while the store is away says so from its begin on, and no longer once it has failed."""
        asked = list[Deferred[object]]()

        def away(*_: object) -> "Deferred[object]":
            if asked:
                asked.append(Deferred())
                return asked[-1]
            asked.append(fail(MetadataUnavailableError("no connection")))
            return asked[0]

        patch = self.patch(AutorecoveryAdmin, "trigger_audit", away)
        with capturedLogs() as logged:
            self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1"}')
            self.clock.advance(INTERVAL)
            (found,) = self.json("stream")["operations"]
        text = "waits for the metadata store: no connection"
        self.assertEqual((found["summary"], "found" in found), (text, False))
        self.assertEqual([formatEvent(each) for each in logged if text in formatEvent(each)],
                         [f"the decommission of bookie gone:1 {text}"])  # fmt: skip
        (progress,) = json.loads(self.ask("/api/v1/autorecovery/progress").body)
        self.assertEqual((progress["state"], progress["ledgersLeft"], progress["reason"]), ("running", None, text))
        patch.restore()
        asked[1].errback(MetadataUnavailableError("still none"))
        self.clock.pump([5.0] * 3)
        (found,) = self.json("stream")["operations"]
        self.assertIn("no auditor is elected", found["failure"])
        self.assertNotIn("unreachable", found)

    def test_stuck_operation(self) -> None:
        """A decommission that is given up says how many ledgers still need the bookie."""
        self.client.metadata.auditing.stand("bookie-2", lambda elected: None)
        self.result(self.marks.mark(3, ("gone:1",), 5))
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1"}')
        self.clock.pump([60.0] * 200)
        (found,) = self.json("stream")["operations"]
        self.assertEqual(found["failure"], "without progress, 1 ledgers still need the bookie")

    def test_pages(self) -> None:
        """It has the page, the ledgers, and a bundle."""
        ledger_id = self.ledger(b"x")
        self.assertEqual(self.json("ledgers")["ledgers"][0]["id"], ledger_id)
        self.assertIn("<title>BookKeeper console</title>", self.ask("/console").body)
        self.assertEqual(self.ask("/api/v1/console/bundle").status, 200)

    def test_life(self) -> None:
        """The log is observed while the server listens, and not before and after."""
        before = len(globalLogPublisher._observers)
        self.site.doStart()
        self.assertEqual(len(globalLogPublisher._observers), before + 1)
        self.site.doStop()
        self.assertEqual(len(globalLogPublisher._observers), before)
        self.assertEqual(json.loads(self.ask("/api/v1/console/events").body)["events"], [])

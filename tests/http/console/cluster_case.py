"""The console of a bookie in a cluster in memory."""

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.console.cluster_parts import ClusterParts
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.limits.adaptive import AdaptiveThrottles, RunningJob, SpeedLimits
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.cluster import MemoryCluster

from ..http_case import HttpCase


class ConsoleClusterCase(HttpCase):
    """A site, a client, and ledgers that a test makes."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock, 4)
        self.shared = SharedClient(lambda: self.cluster.connect().addCallback(BookKeeperAdmin))
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, self.clock, self.shared)
        self.client = self.result(self.cluster.connect())
        self.marks = self.client.metadata.underreplication

    def settle(self) -> None:
        """Turns of the clock."""
        self.clock.pump([0.0] * 60)

    def result(self, work: Any) -> Any:
        """The result of a coroutine, or of a Deferred."""
        running = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(running)

    def ledger(self, *payloads: bytes, close: bool = True, **more: Any) -> int:
        """A ledger of three bookies, two of which keep each entry."""
        writer = self.result(self.client.create_ledger(3, 2, 2, **more))
        for payload in payloads:
            self.result(writer.append(payload))
        if close:
            self.result(writer.close())
        return int(writer.ledger_id)

    def bookies_of(self, ledger_id: int) -> list[str]:
        """The ensemble of a ledger."""
        return list(self.result(self.client.ledger_metadata(ledger_id)).segments[-1].bookies)

    def json(self, path: str) -> Any:
        """The body of a GET."""
        answer = self.ask(f"/api/v1/console/{path}")
        self.assertEqual(answer.status, 200, answer.body)
        return json.loads(answer.body)


class ClusterPartsCase(ConsoleClusterCase):
    """The parts of the console's state that tell of the cluster, in a process that repairs ledgers."""

    def setUp(self) -> None:
        super().setUp()
        self.throttles = Throttles(self.clock, {"replication-read": Rate(1)})
        self.jobs: list[RunningJob] = []
        adaptive = AdaptiveThrottles(self.clock, self.throttles, lambda: None)
        limits = SpeedLimits(self.throttles, adaptive, lambda most: self.jobs)
        self.parts = ClusterParts(self.shared, self.clock, lambda: limits)

    def begin(self, name: str) -> "Deferred[object]":
        """Begin to read a part."""
        (source,) = [each for each in self.parts.sources() if each.name == name]
        reading: Deferred[object] = Deferred.fromCoroutine(source.read())  # type: ignore[union-attr,arg-type]
        self.settle()
        return reading

    def read(self, name: str) -> Any:
        """The state of a part."""
        return self.result(self.begin(name))

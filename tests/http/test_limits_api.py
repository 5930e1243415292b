"""Speed limits and configuration over HTTP."""

import json
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from bookkeeper_twisted.bookie.admin import Phase
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.site import make_autorecovery_site, make_site
from bookkeeper_twisted.limits.adaptive import AdaptiveStatus, AdaptiveThrottles, SpeedLimits
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from .http_case import HttpCase, captured, lines

THROTTLES = "/api/v1/bookie/throttles"
CONFIG = "/api/v1/config/server_config"


class LimitsTests(HttpCase):
    """Speed limits."""

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, Clock())

    def put(self, body: Any) -> tuple[int, str]:
        """Status and body of a PUT."""
        answer = self.ask(THROTTLES, "PUT", body if isinstance(body, str) else json.dumps(body))
        return answer.status, answer.body

    def test_shown(self) -> None:
        """Each limiter with its limit, what is in force, what was granted and what waits."""
        self.admin.work.adaptive = AdaptiveStatus(20.0, 0.5, 31.25)
        found = json.loads(self.ask(THROTTLES).body)
        self.assertEqual(found["adaptive"], {"latencyBoundMs": 20.0, "factor": 0.5, "latencyP99Ms": 31.25})
        self.assertEqual(list(found["limiters"]), ["gc-metadata", "scrub"])
        self.assertEqual(
            found["limiters"]["scrub"],
            {
                "entriesPerSecond": 0, "bytesPerSecond": 10_000_000,
                "entriesPerSecondInForce": 0, "bytesPerSecondInForce": 10_000_000,
                "grantedEntries": 5, "grantedBytes": 70, "waitedSeconds": 1.5, "waiters": 2,
                "users": ["scrub of /ledgers"],
            },
        )  # fmt: skip

    def test_changed(self) -> None:
        """What a body names is changed, the rest stays, and the answer shows it."""
        status, text = self.put({"limiters": {"scrub": {"entriesPerSecond": 7}}})
        self.assertEqual((status, self.admin.work.rates["scrub"]), (200, Rate(7, 10_000_000)))
        self.assertEqual(json.loads(text)["limiters"]["scrub"]["entriesPerSecond"], 7)
        self.put({"limiters": {"scrub": {"bytesPerSecond": 0, "entriesPerSecond": 0.5}}})
        self.assertEqual(self.admin.work.rates["scrub"], Rate(0.5))
        self.assertEqual(self.admin.work.adaptive.bound, 0)
        self.put({"adaptive": {"latencyBoundMs": 12.5}})
        self.assertEqual((self.admin.work.adaptive.bound, self.admin.work.rates["scrub"]), (12.5, Rate(0.5)))

    def test_change_is_logged(self) -> None:
        """A change is a line: what, from what, to what, by whom; what stays as it is makes none."""
        body = {
            "limiters": {
                "scrub": {"entriesPerSecond": 7, "bytesPerSecond": 0}, "gc-metadata": {"entriesPerSecond": 1000},
            },
            "adaptive": {"latencyBoundMs": 12.5},
        }  # fmt: skip
        with capturedLogs() as events:
            self.put(body)
            self.put(body)
            self.put({"limiters": {"scrub": {"bytesPerSecond": -1}}})
        self.assertEqual(
            lines(events),
            [
                "info: adaptive latencyBoundMs: 0 -> 12.5, set by 192.168.1.1:54321",
                "info: speed limit scrub: 10000000 bytes/s -> 7 entries/s, set by 192.168.1.1:54321",
            ],
        )
        with capturedLogs() as events:
            self.put({"limiters": {"scrub": {"entriesPerSecond": 0}}})
        self.assertEqual(
            lines(events), ["info: speed limit scrub: 7 entries/s -> no limit, set by 192.168.1.1:54321"]
        )

    def test_answer_can_be_edited(self) -> None:
        """The limits that GET shows are accepted by PUT."""
        shown = json.loads(self.ask(THROTTLES).body)["limiters"]
        wanted = ("entriesPerSecond", "bytesPerSecond")
        body = {"limiters": {name: {key: each[key] for key in wanted} for name, each in shown.items()}}
        self.assertEqual(self.put(body)[0], 200)
        self.assertEqual(json.loads(self.ask(THROTTLES).body)["limiters"], shown)

    def test_refused(self) -> None:
        """What makes no sense is refused with its reason, and nothing is changed."""
        good = {"bytesPerSecond": 1}
        for body, said in (
            ("", "The body should be"),
            ("{", "The body is no JSON"),
            ("[1]", "no JSON object"),
            ({"scrub": good}, "The body should be"),
            ({"limiters": {"scrub": good}, "more": 1}, "unknown more; known: adaptive, limiters"),
            ({"limiters": [good]}, "limiters should be a JSON object"),
            ({"limiters": {"scrub": 7}}, "scrub should be a JSON object"),
            ({"limiters": {"scrub": {}}}, "neither entriesPerSecond nor bytesPerSecond"),
            ({"limiters": {"scrub": {"bytes": 1}}}, "scrub: unknown bytes"),
            ({"limiters": {"scrub": {"bytesPerSecond": -1}}}, "scrub: bytesPerSecond should be a number from 0"),
            ({"limiters": {"scrub": {"bytesPerSecond": 1e-9}}}, "bytesPerSecond should be 0, which sets no limit, or"),
            ({"adaptive": {"latencyBoundMs": 0.0009}}, "latencyBoundMs should be 0, which sets no limit, or at least"),
            ({"limiters": {"scrub": {"bytesPerSecond": "1"}}}, "scrub: bytesPerSecond should be a number from 0"),
            ({"limiters": {"scrub": {"bytesPerSecond": True}}}, "scrub: bytesPerSecond should be a number from 0"),
            ('{"limiters": {"scrub": {"bytesPerSecond": NaN}}}', "scrub: bytesPerSecond should be a number from 0"),
            ({"limiters": {"scrub": {"bytesPerSecond": 10**400}}}, "scrub: bytesPerSecond should be a number from 0"),
            ({"adaptive": {"latencyBoundMs": 1e300}}, "latencyBoundMs should be a number from 0"),
            ({"limiters": {"scrub": good}, "adaptive": {"latencyBoundMs": -1}}, "latencyBoundMs should be a number"),
            ({"adaptive": {"factor": 1}}, "adaptive: unknown factor; known: latencyBoundMs"),
        ):
            status, text = self.put(body)
            self.assertEqual((status, said in text), (400, True), text)
        status, text = self.put({"limiters": {"scrub": good, "none": good}})
        self.assertEqual((status, text), (404, "no limiter is named 'none'; there are gc-metadata, scrub"))
        self.assertEqual(self.admin.work.rates["scrub"], Rate(bytes=10_000_000))


class ReplicationLimitsTests(HttpCase):
    """Autorecovery beside a bookie, and alone."""

    def setUp(self) -> None:
        clock = Clock()
        self.throttles = Throttles(clock, {"replication-read": Rate(bytes=1000), "checker-read": Rate()})
        self.limits = SpeedLimits(self.throttles, AdaptiveThrottles(clock, self.throttles, lambda: None))
        self.admin = FakeBookieAdmin(replication_limits=self.limits)
        self.site = make_site(self.admin, Clock())

    def test_little_in_force(self) -> None:
        """The least limit is shown, and what little of it is in force is not shown as no limit."""
        body = json.dumps({"limiters": {"replication-read": {"bytesPerSecond": 0.001}}})
        self.assertEqual(self.ask(THROTTLES, "PUT", body).status, 200)
        self.throttles.find("replication-read").yield_to(0.125, Rate())
        shown = json.loads(self.ask(THROTTLES).body)["limiters"]["replication-read"]
        self.assertEqual((shown["bytesPerSecond"], shown["bytesPerSecondInForce"]), (0.001, 0.000125))

    def alone(self) -> None:
        """Serves autorecovery in a process of its own."""

        def connect() -> Any:
            raise AssertionError("speed limits need no client")

        self.site = make_autorecovery_site(lambda: iter(()), self.limits, SharedClient(connect), Clock())

    def put(self, body: Any) -> Any:
        """What a PUT is answered with."""
        answer = self.ask(THROTTLES, "PUT", json.dumps(body))
        return json.loads(answer.body) if answer.status == 200 else (answer.status, answer.body)

    def test_shown(self) -> None:
        """All limiters of a process are in one list, the latency bounds apart."""
        found = json.loads(self.ask(THROTTLES).body)
        self.assertEqual(list(found), ["adaptive", "replicationAdaptive", "limiters"])
        self.assertEqual(list(found["limiters"]), ["checker-read", "gc-metadata", "replication-read", "scrub"])
        self.admin.replication_limits = None
        self.assertEqual(list(json.loads(self.ask(THROTTLES).body)["limiters"]), ["gc-metadata", "scrub"])
        self.alone()
        found = json.loads(self.ask(THROTTLES).body)
        self.assertEqual(list(found), ["replicationAdaptive", "limiters"])
        self.assertEqual(list(found["limiters"]), ["checker-read", "replication-read"])

    def test_changed(self) -> None:
        """Limits and bounds of both are changed by one request, each where it belongs."""
        body = {
            "limiters": {"replication-read": {"entriesPerSecond": 7}, "scrub": {"bytesPerSecond": 9}},
            "adaptive": {"latencyBoundMs": 11}, "replicationAdaptive": {"latencyBoundMs": 12},
        }  # fmt: skip
        found = self.put(body)
        self.assertEqual((self.throttles.find("replication-read").rate, self.admin.work.rates["scrub"]),
                         (Rate(7, 1000), Rate(bytes=9)))  # fmt: skip
        self.assertEqual((self.admin.work.adaptive.bound, self.limits.limits().adaptive.bound), (11, 12))
        self.assertEqual(found["replicationAdaptive"]["latencyBoundMs"], 12)
        self.alone()
        self.put({"limiters": {"checker-read": {"entriesPerSecond": 3}}, "replicationAdaptive": {"latencyBoundMs": 0}})
        self.assertEqual((self.throttles.find("checker-read").rate, self.limits.limits().adaptive.bound), (Rate(3), 0))

    def test_refused(self) -> None:
        """One wrong name or number, and nothing is changed on either side."""
        good = {"scrub": {"bytesPerSecond": 1}, "replication-read": {"bytesPerSecond": 1}}
        for wrong in (
            {"limiters": good | {"none": {"bytesPerSecond": 1}}},
            {"limiters": good, "replicationAdaptive": {"latencyBoundMs": -1}},
            {"limiters": good, "replicationAdaptive": {"bound": 1}},
        ):
            status, _ = self.put(wrong)
            self.assertIn(status, (400, 404))
        self.assertEqual(self.admin.work.rates["scrub"], Rate(bytes=10_000_000))
        self.assertEqual(self.throttles.find("replication-read").rate, Rate(bytes=1000))
        self.alone()
        status, text = self.put({"adaptive": {"latencyBoundMs": 5}, "limiters": {}})
        self.assertEqual((status, text), (400, "the body: unknown adaptive; known: limiters, replicationAdaptive"))


class ConfigurationTests(HttpCase):
    """The configuration."""

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, Clock())

    def put(self, body: str) -> tuple[int, str]:
        """Status and body of a PUT."""
        answer = self.ask(CONFIG, "PUT", body)
        return answer.status, answer.body

    def test_shown(self) -> None:
        """Values are text by key, laid out as by Apache's bookie."""
        self.admin.values = json.loads(captured("server_config")[1])
        self.assertEqual(self.ask(CONFIG).body, captured("server_config")[1])

    def test_changed(self) -> None:
        """A key that can be changed is, in the words of Apache's; numbers and truth values are taken as well."""
        self.assertEqual(self.put('{"gcWaitTime":"700000"}'), captured("server_config-put"))
        self.assertEqual(self.admin.values["gcWaitTime"], "700000")
        with capturedLogs() as events:
            self.put('{"gcWaitTime":800000}')
            self.put('{"gcWaitTime":800000}')
        self.assertEqual(lines(events), ["info: gcWaitTime: 700000 -> 800000, set by 192.168.1.1:54321"])
        self.assertEqual(self.admin.values["gcWaitTime"], "800000")

    def test_refused(self) -> None:
        """Other keys and values are refused, unlike by Apache's bookie, where they have no effect."""
        for body in ('{"prop1":"value1"}', '{"bookiePort":"1"}', '{"gcWaitTime":true}', '{"gcWaitTime":[1]}', "x"):
            self.assertEqual(self.put(body)[0], 400, body)
        self.assertEqual(self.put(""), (404, "Request body not found. should contains k-v pairs"))
        self.admin.phase = Phase.STOPPING
        self.assertEqual(self.put('{"gcWaitTime":"1"}')[0], 503)

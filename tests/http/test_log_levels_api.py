"""The levels of the log over HTTP."""

import json
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from bookkeeper_twisted.bookie.admin import Phase
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.limits_api import LogLevelsApi
from bookkeeper_twisted.http.site import make_autorecovery_site, make_site
from bookkeeper_twisted.testing.admin import FakeBackgroundWork, FakeBookieAdmin

from .http_case import HttpCase, lines

LEVELS = "/api/v1/config/log_levels"
_PROTOCOL = "bookkeeper_twisted.protocol"


class LogLevelsTests(HttpCase):
    """The page of a bookie."""

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, Clock())

    def put(self, body: Any) -> tuple[int, str]:
        """Status and body of a PUT."""
        answer = self.ask(LEVELS, "PUT", body if isinstance(body, str) else json.dumps(body))
        return answer.status, answer.body

    def levels(self) -> Any:
        """The levels that GET shows."""
        return json.loads(self.ask(LEVELS).body)

    def test_shown(self) -> None:
        """The default and the level of each namespace that has one of its own."""
        self.assertEqual(self.levels(), {"default": "info"})
        self.admin.values = {**self.admin.values, "logLevels": "a.b:debug,default:warn"}
        self.assertEqual(self.levels(), {"default": "warn", "a.b": "debug"})

    def test_changed(self) -> None:
        """What a body names is changed, the rest stays, null drops a level, and a line says who did it."""
        with capturedLogs() as events:
            status, text = self.put({_PROTOCOL: "debug"})
        self.assertEqual((status, json.loads(text)), (200, {"default": "info", _PROTOCOL: "debug"}))
        self.assertEqual(
            lines(events), [f"info: logLevels:  -> {_PROTOCOL}:debug, set by 192.168.1.1:54321"]
        )
        self.assertTrue(events[0]["log_always"])
        self.put({"default": "WARN", "kazoo": "error"})
        self.assertEqual(self.levels(), {"default": "warn", _PROTOCOL: "debug", "kazoo": "error"})
        self.put({_PROTOCOL: None, "unknown": None})
        self.assertEqual(self.levels(), {"default": "warn", "kazoo": "error"})
        self.put({"default": None})
        self.assertEqual(self.levels(), {"default": "info", "kazoo": "error"})

    def test_refused(self) -> None:
        """What makes no sense is refused, and nothing is changed; so is everything before the bookie serves."""
        many = dict.fromkeys(map("a{}".format, range(101)), "info")
        for body in ("", "{", "[]", {}, {"a": 1}, many, {"a": "loud"}, {"a:b": "debug"}, {"a b": "debug"},
                     {"a": "debug,b:debug"}):  # fmt: skip
            status, text = self.put(body)
            self.assertEqual(status, 400, (body, text))
        self.assertEqual(self.levels(), {"default": "info"})
        self.admin.phase = Phase.STARTING
        self.assertEqual(self.put({"a": "debug"})[0], 503)


class AutorecoveryTests(HttpCase):
    """The page of autorecovery in a process of its own."""

    def test_page(self) -> None:
        """Its levels are shown and changed as those of a bookie."""
        clock, values = Clock(), {"logLevel": "info", "logLevels": ""}

        def connect() -> Any:
            raise AssertionError("nothing asks the cluster")

        levels = LogLevelsApi(lambda: dict(values), values.update)
        self.site = make_autorecovery_site(
            lambda: iter(()), FakeBackgroundWork(), SharedClient(connect), clock, levels=levels
        )
        self.assertEqual(self.ask(LEVELS, "PUT", '{"a": "debug"}').status, 200)
        self.assertEqual(values["logLevels"], "a:debug")

"""Events in the console."""

import json
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.logger import LogEvent, Logger, LogLevel, eventAsJSON
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.http.console.history import events
from bookkeeper_twisted.http.console.history.event_file import ConsoleEvent, EventFile
from bookkeeper_twisted.http.console.history.events import EVENTS_A_PAGE, KEPT_SECONDS, LONGEST, EventLog, nearest
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.masking import MASK
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from ...http_case import HttpCase

STATE = "bookkeeper_twisted.bookie.lifecycle.registration"
NOW = 1_800_000_000.0


def logged(text: str, namespace: str = STATE, level: Any = LogLevel.info, **more: Any) -> LogEvent:
    """A log event."""
    return {"log_format": text, "log_namespace": namespace, "log_level": level, **more}


class EventLogTests(HttpCase):
    """Which log events are events for an operator."""

    def setUp(self) -> None:
        self.log = EventLog(lambda: NOW)

    def kinds(self, *namespaces: str, level: LogLevel = LogLevel.info) -> list[str]:
        """The kinds of the events that lines of some modules make."""
        before = self.log.events.count
        for namespace in namespaces:
            self.log(logged("text", f"bookkeeper_twisted.{namespace}", level))
        return [event.kind for event in self.log.events.after(before)]

    def test_kinds(self) -> None:
        """Changes have the kind of their room; lines about requests are none, whatever their level."""
        found = self.kinds(
            "bookie.lifecycle.registration", "bookie.lifecycle.disk_monitor", "bookie.lifecycle.admin",
            "bookie.maintenance.garbage_collector", "autorecovery.auditing.loss_log", "http.limits_api",
            "bookie.checkpointer.Checkpointer", "bookie.checkpoint_times.CheckpointTimes",
        )  # fmt: skip
        self.assertEqual(found, ["state", "disk", "bookie", "space", "repair", "change", "disk", "disk"])
        self.assertEqual(self.kinds("bookie.requests.loop_watch.LoopWatch"), ["bookie"])
        damage = ("scrubber", "known_damage", "damaged_ledger_marker")
        self.assertEqual(self.kinds(*(f"bookie.maintenance.{name}" for name in damage)), ["scrub"] * 3)
        self.assertEqual(self.kinds("bookie.requests.slow_requests", "protocol.server.x", level=LogLevel.error), [])
        self.assertEqual((self.kinds("client.x"), self.kinds("client.x", level=LogLevel.warn)), ([], ["other"]))
        self.assertEqual(self.kinds("bookie.lifecycle.admin", level=LogLevel.debug), [])

    def test_cause(self) -> None:
        """An event has the text of its line, with the cause; credentials are masked, long texts cut off."""
        self.log(logged("read-only: {reason}", reason="zk://user:sesame@host/l"))
        self.log(logged("x" * 2 * LONGEST))
        first, second = self.log.events.after(0)
        self.assertEqual(first[:4], (NOW, "info", "state", f"read-only: zk://{MASK}@host/l"))
        self.assertEqual(len(second.text), LONGEST)

    def test_flattened(self) -> None:
        """A number has the format of its line, also if an observer that writes JSON has flattened the event before."""
        event = logged("after {seconds:.1f} s", seconds=0.03971)
        eventAsJSON(event)
        self.log(event)
        self.assertEqual([each.text for each in self.log.events.after(0)], ["after 0.0 s"])

    def test_lines(self) -> None:
        """All lines of the log are kept as JSON, of bounded length, with masked secrets."""
        self.log(logged("x", "other.program", password="sesame"))
        self.log(logged("x" * 2 * LONGEST))
        first, second = self.log.lines.after(0)
        found = json.loads(first)
        self.assertEqual((found["module"], found["fields"]), ("other.program", {"password": MASK}))
        self.assertEqual((len(second), second[-1]), (LONGEST + 1, "\n"))


class EventPagesTests(HttpCase):
    """Events of a server."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(NOW)
        self.site = make_site(FakeBookieAdmin(), self.clock)
        self.site.doStart()
        self.addCleanup(self._stop)
        self.running = True

    def _stop(self) -> None:
        if self.running:
            self.running = False
            self.site.doStop()

    def json(self, query: str = "") -> Any:
        """The events that a request gets."""
        return self.answer(query)["events"]

    def answer(self, query: str = "") -> Any:
        """The events, and how many are left out."""
        return json.loads(self.ask(f"/api/v1/console/events{query}").body)

    def say(self, text: str) -> None:
        """Log a line about the state."""
        Logger(STATE).info(text)

    def test_found(self) -> None:
        """Events are found by time and kind, the newest first; those of a stopped server are none."""
        self.say("early")
        self.clock.advance(100)
        self.say("late")
        found = self.json()
        self.assertEqual([row[3] for row in found], ["late", "early"])
        self.assertEqual(self.json(f"?until={int(NOW) + 50}")[0][1:], ["info", "state", "early"])
        self.assertEqual([row[3] for row in self.json(f"?from={int(NOW) + 50}")], ["late"])
        self.assertEqual((len(self.json("?kind=state")), self.json("?kind=disk")), (2, []))
        self.assertEqual(self.ask("/api/v1/console/events?from=x").status, 400)
        self._stop()
        self.say("too late")
        self.assertEqual(len(self.json()), 2)

    def test_bounds(self) -> None:
        """One answer has a bounded number of events; those of more than thirty days ago are not shown."""
        self.say("old")
        self.clock.advance(KEPT_SECONDS + 1)
        self.assertEqual(self.json(), [])
        for number in range(EVENTS_A_PAGE + 10):
            self.say(f"{number}")
        found = self.json()
        self.assertEqual((len(found), found[0][3]), (EVENTS_A_PAGE, f"{EVENTS_A_PAGE + 9}"))


    def test_left_out(self) -> None:
        """An answer says how many events are left out on either side, and the next request gets them."""
        self.assertEqual(self.answer(), {"events": [], "later": 0, "earlier": 0, "oldest": None})
        for number in range(2 * EVENTS_A_PAGE + 10):
            self.say(f"{number}")
        first = self.answer()
        self.assertEqual((first["later"], first["earlier"], first["oldest"]), (0, EVENTS_A_PAGE + 10, NOW))
        second, third, none = (self.answer(f"?skip={part * EVENTS_A_PAGE}") for part in (1, 2, 3))
        self.assertEqual((second["later"], second["earlier"]), (EVENTS_A_PAGE, 10))
        self.assertEqual([row[3] for row in third["events"]], [f"{number}" for number in reversed(range(10))])
        self.assertEqual((none["later"], none["earlier"]), (2 * EVENTS_A_PAGE + 10, 0))

    def test_around(self) -> None:
        """Of too many events around a time those next to it are found: the cause, and not only what came of it."""
        for number in range(EVENTS_A_PAGE):
            self.say(f"before {number}")
        self.clock.advance(50)
        self.say("the cause")
        for number in range(EVENTS_A_PAGE):
            self.clock.advance(0.125)
            self.say(f"after {number}")
        found = self.answer(f"?around={int(NOW) + 50}")
        texts = [row[3] for row in found["events"]]
        self.assertEqual((len(texts), texts[-1]), (EVENTS_A_PAGE, f"before {EVENTS_A_PAGE - 100}"))
        self.assertIn("the cause", texts)
        self.assertEqual((found["later"], found["earlier"]), (101, EVENTS_A_PAGE - 100))
        self.assertEqual(self.answer(f"?around={int(NOW) + 50}&from={int(NOW) + 110}")["later"], 0)


class NearestTests(SynchronousTestCase):
    """The events next to a time."""

    def begins(self, at: float, *groups: tuple[float, int]) -> int:
        """Where they begin among groups of (time, number of events), in descending order."""
        return nearest([ConsoleEvent(time, "info", "state", "") for time, count in groups for _ in range(count)], at)

    def test_ends(self) -> None:
        """Next to an end of the list, they reach up to it; few events are all shown."""
        most = EVENTS_A_PAGE
        self.assertEqual(self.begins(9, (5, 2), (1, 2 * most)), 0)
        self.assertEqual(self.begins(0, (5, most), (1, 7)), 7)
        self.assertEqual([self.begins(at, (5, 2), (1, 3)) for at in (0, 3, 9)], [0, 0, 0])

    def test_middle(self) -> None:
        """Those that are nearer are chosen, on either side; if both sides are equally near, the earlier ones."""
        most = EVENTS_A_PAGE
        self.assertEqual(self.begins(4, (5, most), (1, most)), 0)
        self.assertEqual(self.begins(2, (5, most), (1, most)), most)
        self.assertEqual(self.begins(3, (5, most), (1, most)), most)
        self.assertEqual(self.begins(3, (4, 10), (3, 10), (1, most)), 0)


class RestartTests(HttpCase):
    """Events of earlier processes."""

    def setUp(self) -> None:
        self.path = self.mktemp()
        self.clock = Clock()
        self.clock.advance(NOW)

    def start(self) -> None:
        """A process with the same file begins."""
        self.site = make_site(FakeBookieAdmin(), self.clock, events=EventFile(self.path, execute))
        self.site.doStart()

    def texts(self, query: str = "") -> list[str]:
        """The texts of the events that are found."""
        return [row[3] for row in json.loads(self.ask(f"/api/v1/console/events{query}").body)["events"]]

    def test_restart(self) -> None:
        """After a restart, the events before it are found behind the new ones, by time and kind, for thirty days."""
        self.start()
        Logger(STATE).info("before")
        self.site.doStop()
        self.clock.advance(100)
        self.start()
        self.addCleanup(lambda: self.site.doStop())
        Logger(STATE).info("after")
        self.assertEqual(self.texts(), ["after", "before"])
        self.assertEqual(self.texts(f"?until={int(NOW) + 50}"), ["before"])
        self.assertEqual(self.texts("?kind=disk"), [])
        self.clock.advance(KEPT_SECONDS - 50)
        self.assertEqual(self.texts(), ["after"])
        self.site.doStop()
        self.start()
        self.assertEqual(self.texts(), ["after"])

    def test_no_end(self) -> None:
        """The next process tells of one that did not record its end, as after SIGKILL, and not of one that stopped."""
        self.start()
        Logger(STATE).info("before")
        self.site.doStop()
        self.start()
        self.assertEqual(self.texts(), ["before"])
        self.site.doStop()
        EventFile(self.path, execute).append(ConsoleEvent(NOW, "info", "state", "the last one of a killed process"))
        self.clock.advance(60)
        self.start()
        self.addCleanup(lambda: self.site.doStop())
        told = self.texts()[0]
        self.assertTrue(told.startswith("the process before has recorded no end, as after SIGKILL"), told)
        self.assertIn("or if its release records none; ", told)
        self.assertIn("its last event is of 2027-01-15 08:00:00 UTC", told)

    def test_end_after_clock_was_set_back(self) -> None:
        """A process has recorded its end, too, if its clock was an hour ahead when it started; times have their order.
        """
        file = EventFile(self.path, execute)
        for at, key in ((NOW + 3600.0, ""), (NOW - 5.0, ""), (NOW - 1.0, "end")):
            file.append(ConsoleEvent(at, "info", "state", f"{at - NOW:g}", key))
        self.start()
        self.addCleanup(lambda: self.site.doStop())
        self.assertEqual(self.texts(), ["3600", "-5"])

    def test_repeated(self) -> None:
        """An event that goes on after a restart is counted further, also if the count was not stored each time."""
        self.start()
        for number in range(90):
            Logger(STATE).error("failed, the {n}. time", n=number)
            self.clock.advance(60)
        first = Path(self.path).read_bytes().splitlines()
        self.assertEqual(len(first), 2)
        self.site.doStop()
        self.start()
        self.addCleanup(lambda: self.site.doStop())
        Logger(STATE).error("failed, the {n}. time", n=0)
        rows = json.loads(self.ask("/api/v1/console/events").body)["events"]
        self.assertEqual([row[3] for row in rows], ["failed, the 0. time", "failed, the 0. time"])
        self.assertEqual(rows[0][:6], [NOW + 5400, "error", "state", "failed, the 0. time", 91, NOW])
        self.assertEqual(rows[1], [NOW, "error", "state", "failed, the 0. time"])


class RepeatedTests(HttpCase):
    """Events that repeat, in a file and in memory."""

    def setUp(self) -> None:
        self.path = self.mktemp()
        self.now = NOW
        self.log = EventLog(lambda: self.now, EventFile(self.path, execute))

    def stored(self) -> list[ConsoleEvent]:
        """What a new process finds in the file."""
        loading: Deferred[Any] = EventFile(self.path, execute).load(10_000, 0.0)
        return [event for event in self.successResultOf(loading) if event.key != "end"]

    def test_month(self) -> None:
        """A disk that is full for a month, and the ledgers that are not repaired meanwhile, hide no other event."""
        self.patch(events, "MOST_EVENTS", 50)
        self.log = EventLog(lambda: self.now, EventFile(self.path, execute))
        self.log(logged("the cause"))
        for number in range(30 * 48):
            self.now += 1800.0
            self.log(logged("failed, the {n}. time: {error}", error=OSError(28, "No space left"), n=number))
            for ledger_id in range(3):
                self.log(logged("ledger {ledger_id}, again in {pause:.0f} s", ledger_id=ledger_id, pause=number))
        kept = list(self.log.events.newest_first())
        self.assertEqual((len(kept), kept[-1].text, kept[0].times), (1 + 2 * 4, "the cause", 1440))
        self.log.stop()
        self.assertEqual(sorted(self.stored()), sorted(kept))
        self.assertLess(len(Path(self.path).read_bytes().splitlines()), 4 * 100)

    def test_killed(self) -> None:
        """A process that is killed loses the repetitions of the last hour, not those before."""
        for _ in range(200):
            self.log(logged("failed"))
            self.now += 60.0
        first, again = self.stored()
        self.assertEqual((first.at, first.times), (NOW, 1))
        self.assertEqual((again.at, again.times, again.since), (NOW + 10_800, 181, NOW))

    def test_changes(self) -> None:
        """Starts and stops are events of their own, so that the time of each is known; in a loop they are counted."""
        for pause in (400.0, 10.0, 400.0):
            self.log(logged("serves", log_time=self.now, is_change=True))
            self.now += pause
        found = [(event.at - NOW, event.times) for event in self.log.events.newest_first()]
        self.assertEqual(found, [(410.0, 2), (400.0, 1), (0.0, 1)])

    def test_later(self) -> None:
        """What happens again after more than an hour is another event; the count of the one before is stored first."""
        for _ in range(40):
            self.log(logged("failed"))
            self.now += 1800.0
        self.now += 3600.0
        self.log(logged("failed"))
        self.log(logged("failed"))
        self.log.stop()
        found = [(event.at - NOW, event.times) for event in self.stored()]
        self.assertEqual(found, [(0, 1), (39 * 1800.0, 40), (42 * 1800.0, 1), (42 * 1800.0, 2)])

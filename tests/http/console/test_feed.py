"""One feed for all viewers: what it samples, sends and keeps."""

import json
from importlib.resources import files
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.http import console
from bookkeeper_twisted.http.console.feed import (
    INTERVAL,
    KEEP_ALIVE,
    KEPT_BYTES,
    KEPT_CHANGES,
    LATE,
    LEAST_PATIENCE,
    LEAST_TURN,
    MAX_VIEWERS,
    MOST_UNREAD,
    PATIENCE,
    ConsoleFeed,
)
from bookkeeper_twisted.http.console.sources import RecordSource, StateSource
from bookkeeper_twisted.instruments import Ring


class ListViewer:
    """Keeps the events that it gets."""

    def __init__(self) -> None:
        self.unread, self.idle = 0, 0.0
        self.raw: list[bytes] = []
        self.ended = self.dropped = False

    def idle_for(self) -> float:
        return self.idle

    def send(self, event: bytes) -> None:
        self.raw.append(event)

    def end(self) -> None:
        self.ended = True

    def drop(self) -> None:
        self.dropped = True

    def events(self) -> list[tuple[str, str, Any]]:
        """Id, kind and data of each event; what came before is forgotten."""
        raw, self.raw = self.raw, []
        found = []
        for event in raw:
            if not event.startswith(b":"):
                fields = dict(line.split(": ", 1) for line in event.decode().strip().splitlines())
                found.append((fields["id"], fields["event"], json.loads(fields["data"])))
        return found


class FeedCase(SynchronousTestCase):
    """A state that a test sets, and a ring."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(100)
        self.value: object = 1
        self.reads = self.rare = 0
        self.ring: Ring[str] = Ring(5)
        self.feed = ConsoleFeed(
            self.clock,
            [StateSource("state", self._read), StateSource("rare", self._read_rarely, 5),
             RecordSource("ring", lambda: [self.ring], str, 3)],
        )  # fmt: skip

    async def _read(self) -> object:
        self.reads += 1
        if isinstance(self.value, Exception):
            raise self.value
        if isinstance(self.value, Deferred):
            return await self.value
        return self.value

    async def _read_rarely(self) -> object:
        self.rare += 1
        return None

    def viewer(self, last_event_id: str = "") -> ListViewer:
        """A viewer that has joined."""
        viewer = ListViewer()
        self.feed.join(viewer, last_event_id)
        return viewer

    def tick(self, count: int = 1) -> None:
        """Some intervals pass."""
        self.clock.pump([INTERVAL] * count)


class SampleTests(FeedCase):
    """What is read, and when."""

    def test_nobody(self) -> None:
        """While nobody looks, nothing is read and no timer runs; it is the same after the last viewer has left."""
        self.tick(5)
        self.assertEqual((self.reads, self.clock.getDelayedCalls()), (0, []))
        viewer = self.viewer()
        self.tick(3)
        self.feed.leave(viewer)
        read = self.reads
        self.tick(5)
        self.assertEqual((self.reads, self.clock.getDelayedCalls()), (read, []))

    def test_pause(self) -> None:
        """After a pause of the process, each state is an earlier one until it was read again; a new viewer learns it,
        too, and a reading that began before the pause does not end this.
        """
        for is_joined in (True, False):
            viewer = self.viewer()
            self.tick(5)
            waiting, again = Deferred[object](), Deferred[object]()
            self.value = waiting
            self.tick()
            began = self.clock.seconds()
            self.tick()
            viewer.events()
            self.clock.rightNow += INTERVAL + LATE
            if is_joined:
                (_, kind, data), *_ = self.viewer().events()
                self.assertEqual((kind, data["late"]), ("snapshot", {"state": began, "rare": began + 1}))
            self.clock.advance(0)
            ((_, _, data),) = viewer.events()
            self.assertEqual(data["late"], {"state": began, "rare": began + 1})
            self.assertEqual(data["whyLate"]["rare"], "this process did not run")
            waiting.callback(1)
            self.value = again
            self.tick()
            ((_, _, data),) = viewer.events()
            self.assertEqual(data["late"], {"state": began + 1})
            again.callback(2)
            self.value = 3
            self.tick()
            ((_, _, data),) = viewer.events()
            self.assertEqual((data["late"], data["state"]), ({}, 2))
            for each in list(self.feed._viewers):
                self.feed.leave(each)

    def test_read_in_a_pause(self) -> None:
        """A state that was being read in a pause is read again as soon as this reading has ended."""
        readings: list[Deferred[object]] = []

        async def read() -> object:
            readings.append(Deferred())
            return await readings[-1]

        self.feed = ConsoleFeed(self.clock, [StateSource("rarest", read, 50)])
        viewer = self.viewer()
        self.tick(2)
        self.clock.advance(INTERVAL + LATE)
        self.tick(2)
        readings[0].callback(1)
        self.tick()
        self.assertEqual(len(readings), 2)
        readings[1].callback(2)
        viewer.events()
        self.tick()
        self.assertEqual(viewer.events()[-1][2], {"rarest": 2, "late": {}, "whyLate": {}})
        self.tick(5)
        self.assertEqual(len(readings), 2)
        self.feed.leave(viewer)

    def test_interrupted(self) -> None:
        """A viewer that was the only one gets a snapshot when it comes back: what it lacks is not known now."""
        viewer = self.viewer()
        self.tick(2)
        last = viewer.events()[-1][0]
        self.feed.leave(viewer)
        self.value = Deferred()
        (_, kind, data), *_ = self.viewer(last).events()
        self.assertEqual((kind, "state" in data), ("snapshot", False))

    def test_expected(self) -> None:
        """The sources are read for two seconds for a viewer that is expected to return, and not after a close."""
        for is_closed in (True, False):
            viewer, reads = self.viewer(), self.reads
            self.feed.expect_return()
            self.feed.leave(viewer)
            if is_closed:
                self.feed.close()
                self.assertEqual(self.clock.getDelayedCalls(), [])
            self.tick(5)
            self.assertEqual((self.reads - reads, self.clock.getDelayedCalls()), (0 if is_closed else 1, []))

    def test_return(self) -> None:
        """The first viewer after a time without any gets no state of that time; all are read at once."""
        self.feed.leave(self.viewer())
        self.clock.advance(3600)
        waiting: Deferred[object] = Deferred()
        rare, self.value = self.rare, waiting
        (_, kind, data), *_ = (viewer := self.viewer()).events()
        self.assertEqual((kind, "state" in data, self.rare - rare), ("snapshot", False, 1))
        waiting.callback(2)
        self.tick()
        self.assertEqual([data["state"] for *_, data in viewer.events()], [2])

    def test_old_snapshot(self) -> None:
        """The first viewer after a time without any gets no snapshot of that time, even if nothing can be read yet."""
        self.feed = ConsoleFeed(self.clock, [StateSource("state", self._read)])
        self.feed.leave(self.viewer())
        self.value = Deferred()
        self.assertEqual([data for *_, data in self.viewer().events()], [{}])

    def test_old_state(self) -> None:
        """Viewers are told that a state which cannot be read for seconds is an earlier one, and when it is not."""
        viewer = self.viewer()
        self.tick()
        waiting: Deferred[object] = Deferred()
        began, self.value = self.clock.seconds(), waiting
        self.tick(int(LATE) - 1)
        self.assertNotIn("late", {name for *_, data in viewer.events() for name in data})
        self.tick(2)
        found = [data["late"] for *_, data in viewer.events() if "late" in data]
        self.assertEqual(found, [{"state": began + INTERVAL}])
        self.value = 3
        waiting.callback(2)
        self.tick()
        self.assertIn({}, [data["late"] for *_, data in viewer.events() if "late" in data])

    def test_old_for_long(self) -> None:
        """Viewers are told since when a state cannot be read, not when the newest attempt has begun."""
        viewer = self.viewer()
        self.tick()
        began = self.clock.seconds() + INTERVAL
        waiting = self.value = Deferred[object]()
        for _ in range(3):
            self.tick(int(LATE) + 2)
            failing, waiting = waiting, Deferred[object]()
            self.value = waiting
            failing.errback(MetadataError("gone"))
            self.tick()
        found = [data["late"] for *_, data in viewer.events() if data.get("late")]
        self.assertEqual({late["state"] for late in found}, {began})
        self.value = 3
        waiting.callback(2)
        self.tick(2)
        waiting = self.value = Deferred[object]()
        self.tick(int(LATE) + 3)
        found = [data["late"]["state"] for *_, data in viewer.events() if data.get("late")]
        self.assertTrue(found and found[0] > began, found)
        waiting.callback(4)

    def test_shared(self) -> None:
        """Ten viewers cost one sample an interval, and get the same bytes."""
        viewers = [self.viewer() for _ in range(10)]
        for viewer in viewers:
            viewer.raw.clear()
        before, self.value = self.reads, 2
        self.tick(2)
        self.assertEqual(self.reads - before, 2)
        self.assertEqual(len({id(viewer.raw[0]) for viewer in viewers}), 1)

    def test_whole(self) -> None:
        """Clients that want all parts as JSON share a reading, until an interval has passed."""
        for expected in (1, 1, 2):
            self.value = self.reads
            found = json.loads(self.successResultOf(Deferred.fromCoroutine(self.feed.read_all())))
            self.assertEqual((self.reads, found["state"]), (expected, expected - 1))
            self.clock.advance(INTERVAL * 0.6)

    def test_whole_without_an_answer(self) -> None:
        """A state that cannot be read holds up the others for five seconds at most, and says so."""
        self.value = Deferred[object]()
        reading = Deferred.fromCoroutine(self.feed.read_all())
        self.clock.advance(LATE - 0.1)
        self.assertNoResult(reading)
        self.clock.advance(0.2)
        found = json.loads(self.successResultOf(reading))
        self.assertEqual(found["state"], {"error": "it could not be read within 5 s"})
        self.assertIn("ring", found)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_reason(self) -> None:
        """If the source knows why a state cannot be read, clients and viewers learn it, until it can be read."""
        self.feed = ConsoleFeed(self.clock, [StateSource("state", self._read, why_late=lambda: "no store")])
        self.value = Deferred[object]()
        reading = Deferred.fromCoroutine(self.feed.read_all())
        self.clock.advance(LATE)
        found = json.loads(self.successResultOf(reading))
        self.assertEqual(found["state"], {"error": "it could not be read within 5 s: no store"})
        waiting = self.value = Deferred[object]()
        viewer = self.viewer()
        self.tick(int(LATE) + 2)
        self.assertEqual([d["whyLate"] for *_, d in viewer.events() if "whyLate" in d], [{"state": "no store"}])
        self.value = 3
        waiting.callback(2)
        self.tick()
        self.assertEqual([d["whyLate"] for *_, d in viewer.events() if "whyLate" in d][-1], {})

    def test_rare(self) -> None:
        """A source is read as often as it says."""
        self.viewer()
        self.tick(9)
        self.assertEqual((self.reads, self.rare), (10, 2))

    def test_late(self) -> None:
        """A reading that takes long delays no other part, and is not begun again."""
        viewer, waiting = self.viewer(), Deferred[object]()
        self.value = waiting
        viewer.events()
        self.tick(3)
        self.ring.append("a")
        self.tick()
        self.assertEqual([list(data) for _, _, data in viewer.events()], [["ring"]])
        self.assertEqual(self.reads, 2)
        self.value = 7
        waiting.callback(7)
        self.tick()
        self.assertEqual([data for _, _, data in viewer.events()], [{"state": 7}])

    def test_failure(self) -> None:
        """A part that cannot be read says why, until it can be read again; what should not happen is logged."""
        self.value = MetadataError("no store")
        viewer = self.viewer()
        self.assertEqual(viewer.events()[0][2]["state"], {"error": "no store"})
        self.value = 3
        self.tick(2)
        self.assertEqual(viewer.events()[-1][2], {"state": 3})
        self.value = ZeroDivisionError()
        self.tick(2)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 2)

    def test_full(self) -> None:
        """There is a bound of viewers; one that does not read gives its place to another, the slowest first."""
        viewers = [self.viewer() for _ in range(MAX_VIEWERS - 1)]
        self.assertTrue(self.feed.make_room())
        viewers.append(self.viewer())
        viewers[3].idle = LEAST_PATIENCE - 0.1
        self.assertFalse(self.feed.make_room())
        viewers[3].idle, viewers[7].idle = LEAST_PATIENCE, LEAST_PATIENCE + 1
        self.assertTrue(self.feed.make_room())
        self.assertEqual([viewer for viewer in viewers if viewer.dropped], [viewers[7]])
        self.assertTrue(self.feed.make_room())
        self.feed.leave(viewers[0])
        self.assertFalse(viewers[3].dropped)


    def test_turns(self) -> None:
        """If all viewers seem to read, the one that has joined first gives its place to another, but not at once."""
        first = self.viewer()
        self.clock.advance(1)
        viewers = [self.viewer() for _ in range(MAX_VIEWERS - 1)]
        self.clock.advance(LEAST_TURN - 1.1)
        self.assertFalse(self.feed.make_room())
        self.clock.advance(0.2)
        self.assertTrue(self.feed.make_room())
        self.assertEqual((first.ended, first.dropped, [each for each in viewers if each.ended]), (True, False, []))
        first.raw.clear()
        viewers.append(self.viewer())
        self.tick(int(KEEP_ALIVE / INTERVAL) + 1)
        self.assertEqual(first.raw, [])


class EventTests(FeedCase):
    """What viewers get."""

    def test_snapshot(self) -> None:
        """The first event has all parts; of records, as many of the newest as the source says."""
        for record in "abcd":
            self.ring.append(record)
        ((_, kind, data),) = self.viewer().events()
        self.assertEqual(kind, "snapshot")
        self.assertEqual(data, {"state": 1, "rare": None, "ring": [{"last": 4, "records": ["b", "c", "d"]}]})

    def test_changes(self) -> None:
        """Later events have what has changed alone: of states the new value, of records the new ones."""
        viewer = self.viewer()
        viewer.events()
        self.tick(3)
        self.assertEqual(viewer.events(), [])
        self.value = 2
        self.ring.append("x")
        self.tick(2)
        self.assertEqual(
            [(kind, data) for _, kind, data in viewer.events()],
            [("change", {"ring": [{"last": 1, "records": ["x"]}]}), ("change", {"state": 2})],
        )

    def test_second_viewer(self) -> None:
        """A snapshot and the changes after it have each record one time."""
        first = self.viewer()
        first.events()
        self.ring.append("x")
        second = self.viewer()
        self.assertEqual(second.events()[0][2]["ring"], [{"last": 1, "records": ["x"]}])
        self.tick()
        self.assertEqual((len(first.events()), second.events()), (1, []))

    def test_keep_alive(self) -> None:
        """Without a change, viewers get a comment now and then; a page that gets none of three tells it."""
        viewer = self.viewer()
        viewer.raw.clear()
        self.tick(int(KEEP_ALIVE / INTERVAL) + 1)
        self.assertEqual(viewer.raw, [b":\n\n"])
        script = files(console).joinpath("page", "connection.js").read_text()
        self.assertIn(f"const SILENT_MS = {int(3 * KEEP_ALIVE * 1000)};", script)

    def test_reconnect(self) -> None:
        """A viewer that names its last event gets the changes after it, in order; without one, none."""
        viewer = self.viewer()
        ((known, _, _),) = viewer.events()
        for record in "xyz":
            self.ring.append(record)
            self.tick()
        wanted = viewer.events()
        self.assertEqual(self.viewer(known).events(), wanted)
        self.assertEqual(self.viewer(wanted[0][0]).events(), wanted[1:])
        self.assertEqual(self.viewer(wanted[-1][0]).events(), [])

    def test_unknown_event(self) -> None:
        """An id of another process, nonsense, and an event whose successors are not kept lead to a snapshot."""
        viewer = self.viewer()
        ((known, _, _),) = viewer.events()
        start = known.partition("-")[0]
        for wrong in ("abc-1", f"{start}-999", f"{start}-x", f"{start}-", "1", f"{start}-{'9' * 90}"):
            self.assertEqual(self.viewer(wrong).events()[0][1], "snapshot", wrong)
        for number in range(KEPT_CHANGES + 1):
            self.ring.append(str(number))
            self.tick()
        self.assertEqual(self.viewer(known).events()[0][1], "snapshot")

    def test_kept_bytes(self) -> None:
        """Few large changes are kept, so that their memory is bounded."""
        viewer = self.viewer()
        ((known, _, _),) = viewer.events()
        for number in range(4):
            self.value = str(number) * (KEPT_BYTES // 3)
            self.tick(2)
        self.assertEqual(self.viewer(known).events()[0][1], "snapshot")
        self.assertLessEqual(sum(len(event) for _, event in self.feed._kept), KEPT_BYTES)

    def test_stuck(self) -> None:
        """A viewer that does not read for long is dropped, also without a change; one that reads in time is not."""
        slow, dead, greedy = self.viewer(), self.viewer(), self.viewer()
        slow.idle, dead.idle, greedy.unread = PATIENCE - 0.1, PATIENCE, MOST_UNREAD - 1
        self.tick()
        self.assertEqual((slow.dropped, dead.dropped, greedy.dropped), (False, True, False))
        greedy.unread += 1
        self.ring.append("x")
        dead.raw.clear()
        self.tick(2)
        self.assertEqual((slow.dropped, greedy.dropped, dead.raw), (False, True, []))

    def test_last_is_stuck(self) -> None:
        """Nothing is sampled after the only viewer was dropped."""
        dead = self.viewer()
        dead.idle = PATIENCE
        self.tick(2)
        self.assertEqual((dead.dropped, self.clock.getDelayedCalls()), (True, []))

    def test_close(self) -> None:
        """At the stop all responses end, and so do readings; no timer is left."""
        waiting: Deferred[object] = Deferred()
        self.value = waiting
        viewers = [self.viewer(), self.viewer()]
        self.feed.close()
        self.assertEqual([viewer.ended for viewer in viewers], [True, True])
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertTrue(waiting.called)

"""Verdicts on measured values."""

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.admin import DirectoryUsage, EntryLogSpace
from bookkeeper_twisted.bookie.group_commit import HELD, LOOP, QUEUE, SYNC
from bookkeeper_twisted.bookie.lifecycle.disk_history import STEP, DiskHistory
from bookkeeper_twisted.bookie.requests.loop_watch import STOPPED, LoopDelay
from bookkeeper_twisted.bookie.requests.slow_requests import (
    DISK,
    ROOM,
    ROOM_ON_DISK,
    THREAD,
    TURN,
    PresentWait,
    SlowRequest,
)
from bookkeeper_twisted.http.console.diagnosis import (
    WINDOW,
    FullForecast,
    bottleneck,
    compaction_gain,
    full_forecast,
)
from bookkeeper_twisted.metrics import JournalGroup
from bookkeeper_twisted.protocol.server.connected_peers import PeerDelay

NOW = 1000.0 + WINDOW


def slow(waited_for: str, millis: float = 1000, ended: float = NOW) -> SlowRequest:
    """A slow add."""
    return SlowRequest(ended, "ADD_ENTRY", "10.0.0.7:5", 7, 0, 1, millis, waited_for)


def group(waited: float, synced: float | None, ended: float = NOW) -> JournalGroup:
    """A group of one entry."""
    return JournalGroup(ended, 1, 100, waited, 0.0, synced)


def usage_of(history: DiskHistory, total: int, free: int) -> DirectoryUsage:
    """The disk with this history."""
    growth, recent = history.growth, history.recent
    return DirectoryUsage(
        "/l", total, free, None if growth is None else growth.speed, None, 0.0 if growth is None else growth.span,
        None if recent is None else recent.speed,
    )  # fmt: skip


class BottleneckTests(SynchronousTestCase):
    """What is slow: disk, network or queue."""

    def test_causes(self) -> None:
        """The cause for which slow requests waited longest in all decides, with a sentence that names it."""
        for waited_for, cause in (
            (DISK, "disk"), (SYNC, "disk"), (QUEUE, "queue"), (ROOM, "queue"), (ROOM_ON_DISK, "disk"),
            (TURN, "network"), (LOOP, "processor"), (STOPPED, "system"), (THREAD, "queue"),
        ):  # fmt: skip
            found = bottleneck((), [slow(waited_for, 3000), slow(DISK, 1000)], NOW, "500")
            self.assertEqual((found.cause, found.seconds[waited_for] >= 3), (cause, True))
            self.assertEqual(found.text, f"the {cause}: slow requests waited longest for {waited_for}")

    def test_shared_cause(self) -> None:
        """Reads and syncs of a disk count together; the verdict names the longer of them."""
        found = bottleneck((), [slow(DISK, 2000), slow(SYNC, 3000), slow(TURN, 4000)], NOW, "500")
        self.assertEqual((found.cause, found.text.endswith(SYNC)), ("disk", True))

    def test_parallel(self) -> None:
        """Requests that wait at the same time for the same wait the seconds of the clock, not those of all together."""
        burst = [slow(DISK, 250, NOW - 100 + number / 1000) for number in range(200)]
        found = bottleneck((), [*burst, slow(TURN, 1000), slow(TURN, 1000, NOW - 50)], NOW, "100")
        self.assertEqual(found.cause, "network")
        self.assertAlmostEqual(found.seconds[DISK], 0.449)
        self.assertAlmostEqual(found.seconds[TURN], 2.0)

    def test_present(self) -> None:
        """What has lasted for a second comes before slow requests and the network; the disk before the queue."""
        peer = PeerDelay("c:1", 6.0, 0.3)
        for waits, said in (
            ([PresentWait(SYNC, 12.4), PresentWait(ROOM, 15.0)],
             "the disk: the write and the sync of the journal have lasted for 12 s"),
            ([PresentWait(SYNC, 2.0), PresentWait(DISK, 3.0)], "the disk: a read of the disk has lasted for 3 s"),
            ([PresentWait(SYNC, 0.99), PresentWait(ROOM, 1.0)], f"the queue: adds have waited for 1 s for {ROOM}"),
            ([PresentWait(DISK, 0.9), PresentWait(THREAD, 3.0)],
             f"the queue: reads have waited for 3 s for {THREAD}"),
            ([PresentWait(SYNC, 0.99)], f"the network: slow requests waited longest for {TURN}"),
        ):  # fmt: skip
            for threshold in ("500", "0"):
                found = bottleneck((), [slow(TURN)], NOW, threshold, peer, waits)
                self.assertEqual(found.text, said)
                self.assertEqual(found.text.split(":")[0], f"the {found.cause}")

    def test_old(self) -> None:
        """What was slow long ago does not count."""
        found = bottleneck([group(9, 9, 1.0)], [slow(DISK, 9000, 1.0)], NOW, "500")
        self.assertEqual((found.cause, found.queue_ms), ("none", None))
        self.assertIn("no request took 500 ms", found.text)

    def test_held_up(self) -> None:
        """A stop of the process is the cause if no request is slow: by the bookie's clock, what arrived then is not."""
        old, busy = LoopDelay(NOW - WINDOW - 5, NOW - WINDOW - 1, STOPPED), LoopDelay(NOW - 9, NOW - 7, LOOP)
        stop, held = LoopDelay(NOW - 5, NOW - 1.8, STOPPED), LoopDelay(NOW - 6, NOW - 2, HELD)
        for delays, cause, said in (
            ([old], "none", "nothing in this bookie: "),
            ([old, busy], "processor", f"until 00:26:33 UTC, for 2.0 s, clients waited for {LOOP}"),
            ([busy, stop], "system", f"until 00:26:38 UTC, for 3.2 s, clients waited for {STOPPED}"),
            ([stop, held], "disk", f"until 00:26:38 UTC, for 4.0 s, clients waited for {HELD}"),
        ):
            found = bottleneck((), (), NOW, "200", PeerDelay("c:1", 0.0, 0.2) if cause != "none" else None, (), delays)
            self.assertEqual(found.cause, cause)
            self.assertIn(said, found.text)
        self.assertEqual(bottleneck((), [slow(DISK)], NOW, "200", None, (), [stop]).cause, "disk")
        unread = bottleneck((), (), NOW, "200", PeerDelay("c:1", 6.0, 0.2), (), [stop])
        self.assertEqual(unread.cause, "network", "what lasts comes before what is over")
        self.assertIn("for 6 s; in this bookie: the system: until 00:26:38 UTC, for 3.2 s", unread.text)

    def test_network(self) -> None:
        """If no request is slow, a client that does not read, or is far away, is named; slow requests come first."""
        for peer, said in (
            (PeerDelay("c:1", 6.0, 0.3), "the network: c:1 has read nothing of the replies that wait for 6 s; "),
            (PeerDelay("c:1", 0.9, 0.2), "the network: a round trip to c:1 takes 200 ms; "),
        ):
            found = bottleneck((), (), NOW, "500", peer)
            self.assertEqual(found.cause, "network")
            self.assertEqual(found.text, said + "in this bookie: no request took 500 ms in the last ten minutes")
            self.assertEqual(bottleneck((), [slow(DISK, 1000)], NOW, "500", peer).cause, "disk")
            found = bottleneck([group(0.5, 0.1)], (), NOW, "0", peer)
            self.assertEqual((found.cause, found.text.startswith(said)), ("network", True))
        for near in (PeerDelay("c:1", 0.9, 0.09), PeerDelay("c:1", 0.0, None), None):
            found = bottleneck((), (), NOW, "500", near)
            self.assertEqual((found.cause, found.text.startswith("nothing in this bookie: ")), ("none", True))

    def test_without_threshold(self) -> None:
        """If no request counts as slow, the groups of the journal decide, and the verdict says so."""
        for groups, cause in (([group(0.5, 0.1)], "queue"), ([group(0.1, 0.5)], "disk"), ([], "none")):
            found = bottleneck(groups, (), NOW, "0")
            self.assertEqual(found.cause, cause)
            self.assertIn("slowRequestThresholdMs is 0", found.text)

    def test_means(self) -> None:
        """The mean times are those of the groups; groups without a sync do not count for its mean."""
        found = bottleneck([group(0.1, None), group(0.3, 0.5)], (), NOW, "1")
        self.assertEqual((found.queue_ms, found.write_ms, found.sync_ms), (200.0, 0.0, 500.0))


class SpaceTests(SynchronousTestCase):
    """What a compaction wins, and when a disk is full."""

    def test_gain(self) -> None:
        """The dead bytes of the logs are freed, and their live bytes are copied."""
        found = compaction_gain([EntryLogSpace("/l", number, 100, live) for number, live in enumerate((10, 50))])
        self.assertEqual((found.logs, found.freed, found.copied), (2, 140, 60))
        self.assertEqual(compaction_gain([]).logs, 0)

    def test_filling(self) -> None:
        """Samples of a disk that fills give the time until its threshold, to the last seconds, and then it is full."""
        clock, day, total = Clock(), 86400.0, 1000 << 30
        history, speed = DiskHistory(clock.seconds), total / (10 * day)
        left = []
        for _ in range(int(9.5 * day / STEP)):
            used = int(speed * clock.seconds())
            history.record(used)
            left.append(full_forecast(usage_of(history, total, total - used), 0.95).days)
            clock.advance(STEP)
        self.assertEqual(left[:3], [None] * 3)
        for number in range(3, len(left)):
            self.assertAlmostEqual(left[number] or 0.0, 9.5 - number * STEP / day, places=3)
        used = int(speed * clock.seconds())
        for free, expected in ((total - used + 1, 0.0001), (total - used, 0.0)):
            disk = DirectoryUsage("/l", total, free, speed)
            self.assertEqual(full_forecast(disk, used / total).days, expected)

    def test_faster(self) -> None:
        """A disk that has begun to fill faster is full by the growth of the last hour, which is named."""
        clock, total = Clock(), 100 << 30
        history, used = DiskHistory(clock.seconds), 0.0
        for minute in range(31 * 60):
            used += (10 << 20) if minute >= 30 * 60 else (1 << 20)
            history.record(int(used))
            clock.advance(60)
        found = full_forecast(usage_of(history, total, 2000 << 20), 1.0)
        self.assertLess(abs((found.days or 0.0) * 1440 - 200), 1)
        self.assertRegex(found.text, r"^by the growth of the last hour; by that of the last 31 hours: \d+\.\d days$")

    def test_ended(self) -> None:
        """Of a disk that does not fill any more, the forecast names its days, and that the last hour says otherwise."""
        clock, total = Clock(), 100 << 30
        history, used = DiskHistory(clock.seconds), 0
        for minute in range(40 * 60):
            used += (10 << 20) if minute < 30 * 60 else 0
            history.record(used)
            clock.advance(60)
        found = full_forecast(usage_of(history, total, total - used), 1.0)
        self.assertIsNotNone(found.days)
        self.assertEqual(found.text, "by the growth of the last 40 hours; by that of the last hour: not filling")

    def test_hour(self) -> None:
        """If the last hour is much of the time that was measured and shows no growth, the disk is not filling."""
        few = DirectoryUsage("/l", 1000, 250, 100 / 86400, None, 3 * 3600.0, 0.0)
        self.assertEqual(full_forecast(few, 0.95), FullForecast(None, "by the growth of the last hour"))
        self.assertEqual(full_forecast(attrs.evolve(few, span=5 * 3600.0), 0.95).days, 2.0)

    def test_full(self) -> None:
        """A disk is full at the threshold, not when its last byte is used; one that does not grow is never full."""
        day = 86400.0
        self.assertEqual(full_forecast(DirectoryUsage("/l", 1000, 250, 100 / day), 0.95).days, 2.0)
        self.assertEqual(full_forecast(DirectoryUsage("/l", 1000, 50, 0.0), 0.95), FullForecast(0.0, ""))
        self.assertEqual(full_forecast(DirectoryUsage("/l", 1000, 250), 0.95), FullForecast(None, ""))
        for growth in (0.0, -5.0):
            self.assertIsNone(full_forecast(DirectoryUsage("/l", 1000, 250, growth), 0.95).days)
        hour = full_forecast(DirectoryUsage("/l", 1000, 250, 1.0, None, 3600.0, 100 / day), 0.95)
        self.assertEqual(hour, FullForecast(2.0, "by the growth of the last hour"))

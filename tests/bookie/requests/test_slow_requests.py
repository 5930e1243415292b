"""Lines of the log about requests that take long."""

import time
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.group_commit import HELD, LOOP, QUEUE, SYNC, CommitOptions
from bookkeeper_twisted.bookie.requests import loop_watch
from bookkeeper_twisted.bookie.requests.loop_watch import (
    LONG_DELAY,
    PERIOD,
    RARE_PERIOD,
    STANDSTILL,
    STOPPED,
    LoopWatch,
)
from bookkeeper_twisted.bookie.requests.slow_requests import THREAD, SlowRequests
from bookkeeper_twisted.codec.messages import ForceLedgerRequest, Header, ReadRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.v3 import requests_out as v3
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ..rig import KEY, Peer, Rig, adds, batch, reads, run

STEP = 1 / 64
"""Seconds between turns of the event loop, which is not late then."""


class SlowRequestTests(SynchronousTestCase):
    """A bookie that logs requests of 100 ms and more."""

    def setUp(self) -> None:
        self.use(Rig())

    def use(self, rig: Rig) -> None:
        """A bookie, and a client at 10.0.0.7."""
        self.rig = rig
        rig.engine.context.slow.limit(100)
        self.peer = self.connect("10.0.0.7")

    def connect(self, host: str) -> Peer:
        """A client at an address."""
        return Peer(self.rig.engine.factory.buildProtocol(IPv4Address("TCP", host, 5)))

    def restart(self) -> None:
        """Entries 0..9 of ledger 1 on disk, and not in memory."""
        self.rig.add(run(1, 0, 10))
        self.rig.drain()
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.use(self.rig.restart())

    def turns(self, seconds: float) -> None:
        """The event loop runs for some seconds."""
        steps, rest = divmod(seconds, STEP)
        self.rig.clock.pump([STEP] * int(steps) + [rest])

    def slow(self, data: bytes, seconds: float = 0.25, peer: Peer | None = None) -> list[str]:
        """What is logged when a request waits so long."""
        with capturedLogs() as events:
            (peer or self.peer).send(data)
            self.turns(seconds)
            self.rig.drain()
        self.events = [event for event in events if "slow_requests" in event["log_namespace"]]
        return [str(formatEvent(event)) for event in self.events]

    def watches(self) -> int:
        """The number of timers that watch the event loop."""
        return str(self.rig.clock.getDelayedCalls()).count("LoopWatch")

    def test_add(self) -> None:
        """A slow run of adds is one line, with its client, its ledger and first entry, and how many there are."""
        self.assertEqual(
            self.slow(adds(run(7, 3, 20))),
            [
                "slow ADD_ENTRY of 10.0.0.7:5: ledger 7, entry 3, 20 in all, 250 ms, "
                "most of it for its turn in the queue of the journal"
            ],
        )
        (event,) = self.events
        fields = {name: event[name] for name in ("operation", "peer", "ledger_id", "entry_id", "count", "millis")}
        self.assertEqual(
            fields,
            {"operation": "ADD_ENTRY", "peer": "10.0.0.7:5", "ledger_id": 7, "entry_id": 3, "count": 20,
             "millis": 250.0},
        )  # fmt: skip

    def test_recent(self) -> None:
        """Each slow request is kept, also one whose line is omitted because its host has had one."""
        self.slow(adds(run(7, 3, 20)))
        self.slow(adds(run(7, 23, 1)))
        first, second = self.rig.engine.context.slow.recent.after(0)
        self.assertEqual(first[1:7], ("ADD_ENTRY", "10.0.0.7:5", 7, 3, 20, 250.0))
        self.assertEqual((second.entry_id, second.ended), (23, self.rig.clock.seconds()))

    def test_threshold(self) -> None:
        """A request that is quicker is no line, and none is where the threshold is 0, as it is at first."""
        self.assertEqual(self.slow(adds(run(7, 0)), 0.099), [])
        self.assertEqual(len(self.slow(adds(run(7, 1)), 0.1)), 1)
        self.rig.engine.context.slow.limit(0)
        self.assertEqual(self.slow(adds(run(8, 0)), 60), [])
        self.use(Rig())
        self.assertEqual(SlowRequests(Clock()).threshold, float("inf"))

    def test_once_a_minute(self) -> None:
        """One line of an operation a minute for each host; the next one says how many were left out."""
        for first in range(3):
            self.assertEqual(len(self.slow(adds(run(7, first)))), first == 0)
        (line,) = self.slow(adds(run(8, 0)), peer=self.connect("10.0.0.8"))
        self.assertTrue(line.endswith("(2 such lines were left out before this one)"), line)
        self.rig.clock.advance(60)
        self.assertEqual(len(self.slow(adds(run(7, 3)))), 1)

    def test_sync(self) -> None:
        """An add that waits for the disk of the journal says so."""
        write = self.rig.store.journals[0].write_group

        def slowly(*args: Any, **options: Any) -> Any:
            self.turns(0.25)
            return write(*args, **options)

        self.patch(self.rig.store.journals[0], "write_group", slowly)
        (line,) = self.slow(adds(run(7, 0)), STEP)
        self.assertIn("266 ms, most of it for the write and the sync of the journal", line)

    def test_behind_a_slow_sync(self) -> None:
        """An add in the queue, behind a write that hangs, waits for the disk, too, and not for its turn."""
        write = self.rig.store.journals[0].write_group

        def slowly(*args: Any, **options: Any) -> Any:
            self.peer.send(adds(run(8, 0)))
            self.turns(2.0)
            self.patch(self.rig.store.journals[0], "write_group", write)
            return write(*args, **options)

        self.patch(self.rig.store.journals[0], "write_group", slowly)
        self.rig.engine.context.slow.limit(0.01)
        self.slow(adds(run(7, 0)), 0.05)
        found = [(each.ledger_id, each.waited_for) for each in self.rig.engine.context.slow.recent.after(0)]
        self.assertEqual(found, [(7, SYNC), (8, SYNC)])

    def test_room(self) -> None:
        """An add that waits before it is given to the journal waits for room."""
        has_room = self.rig.bookie._has_room
        self.patch(self.rig.bookie, "_has_room", lambda entries: False)
        self.assertEqual(self.slow(adds(run(7, 0)), 0.5), [])
        self.patch(self.rig.bookie, "_has_room", has_room)
        with capturedLogs() as events:
            self.rig.bookie.resume_adds()
            self.rig.drain()
        lines = [str(formatEvent(event)) for event in events]
        self.assertEqual(len(lines), 1)
        self.assertIn("500 ms, most of it for room in the write cache or in the queue of the journal", lines[0])

    def fill(self) -> None:
        """Adds that fill both write caches, and are in the journal; the disk of a ledger directory hangs meanwhile."""
        self.use(Rig(storage=StorageSettings(write_cache_bytes=4000)))
        for number in range(2):
            self.peer.send(adds(run(7, 100 * number, 60)))
            while self.rig.executor.step("journal-0"):
                pass
        self.assertEqual(self.rig.executor.busy_threads(), ["flush-0"])

    def test_room_on_disk(self) -> None:
        """An add that waits for the write cache, because its checkpoint hangs on the disk, waits for the disk."""
        for seconds in (0.5, 8, 15):  # in the last case, it is refused before the checkpoint ends
            self.fill()
            (line,) = self.slow(adds(run(7, 900)), seconds)
            self.assertIn(", most of it for room in the write cache, while its checkpoint is written to the disk", line)

    def test_room_in_queue(self) -> None:
        """An add that waits for the queue of the journal does not wait for the checkpoint in progress."""
        self.rig.add(run(7, 0))
        self.rig.drain()
        self.rig.engine.checkpointer.checkpoint()
        commit = self.rig.engine.commits[0]
        self.patch(commit, "_options", CommitOptions(max_queued_bytes=0))
        self.peer.send(adds(run(7, 1)))
        self.turns(0.5)
        self.patch(commit, "_options", CommitOptions())
        with capturedLogs() as events:
            self.rig.bookie.resume_adds()
            self.rig.executor.step("journal-0")
        self.assertEqual(self.rig.executor.busy_threads(), ["flush-0"])
        (line,) = [str(formatEvent(event)) for event in events]
        self.assertIn(", most of it for room in the write cache or in the queue of the journal", line)

    def test_held_up(self) -> None:
        """A request that took long because the event loop was busy waited for it, whatever else it waited for."""
        self.work(1.0)
        for data in (adds(run(7, 0)), adds(run(8, 0))):
            self.rig.clock.advance(60)
            self.turns(1)
            with capturedLogs() as events:
                self.peer.send(data)
                self.rig.clock.advance(0.5)
                self.rig.drain()
            (line,) = [str(formatEvent(event)) for event in events]
            self.assertIn("500 ms, most of it for the event loop, which was busy", line)

    def work(self, share: float) -> None:
        """The process uses so much of the time, and the event loop is watched anew."""
        slow = self.rig.engine.context.slow
        slow.stop()
        self.patch(slow._loop, "_worked", lambda: share * self.rig.clock.seconds())
        slow.limit(100)

    def test_stopped(self) -> None:
        """A request that took long while the process used no processor waited for a stop, or for a system call."""
        for share, said in ((0.0, "used no processor"), (0.4, "used no processor"), (0.6, "was busy")):
            self.work(share)
            self.rig.clock.advance(60)  # long ago, and a stop
            self.turns(1)
            with capturedLogs() as events:
                self.peer.send(adds(run(int(10 * share), 0)))
                self.rig.clock.advance(0.5)
                self.rig.drain()
            (line,) = [str(formatEvent(event)) for event in events]
            self.assertIn(f"500 ms, most of it for the event loop, which {said}", line)

    def test_stop_and_work(self) -> None:
        """Of several delays, the longer ones decide; that of a stop that has not ended yet counts."""
        watch = LoopWatch(self.rig.clock, lambda: self.worked)
        self.worked, clock = 0.0, self.rig.clock
        watch.start()
        began = clock.seconds()
        self.worked += 2.0
        clock.advance(2.0)  # a busy loop: the timer is 1.95 s late
        clock.advance(3.0)
        self.assertEqual(watch.late_since(began), {LOOP: 1.95, STOPPED: 2.95})
        self.assertEqual(watch.late_since(began + 2.0), {STOPPED: 2.95})
        clock.rightNow += 1.05  # the timer is due, and was not called yet
        for worked, cause in ((0.0, STOPPED), (1.0, LOOP)):
            self.worked += worked
            (found,) = watch.late_since(clock.seconds() - 1.0).items()
            self.assertEqual((found[0], round(found[1], 6)), (cause, 1.0))
        watch.stop()

    def test_clock_step(self) -> None:
        """If the clock of the system is set, and the calls of the reactor with it, nothing was held up."""
        watch, clock = LoopWatch(self.rig.clock, lambda: 0.0), self.rig.clock
        watch.start()
        self.addCleanup(watch.stop)
        (call,) = [each for each in clock.getDelayedCalls() if each is watch._call]
        clock.rightNow += 7200.0
        call.reset(PERIOD)
        clock.advance(PERIOD)
        self.assertEqual((watch.late_since(0.0), list(watch.long)), ({}, []))

    def test_standstill(self) -> None:
        """A delay of some seconds is a line of the log, which does not say that clients waited, as nobody knows whether
        there were any; a shorter one is none."""
        for worked, held, why in (
            (0.0, 0.4, "it used no processor: it was stopped, or a system call did not return"),
            (1.0, 0.4, "it was busy, or waited for a processor"),
            (0.0, 0.6, "the journal's file system held up the write"),
        ):  # fmt: skip
            clock = Clock()
            shares = [lambda clock=clock, share=share: share * clock.seconds() for share in (worked, held)]
            watch = LoopWatch(clock, *shares)
            watch.start()
            self.addCleanup(watch.stop)
            with capturedLogs() as events:
                for seconds in (LONG_DELAY, STANDSTILL + 31.5):
                    clock.advance(PERIOD + seconds)
            text = f"the event loop answered nobody for 36.5 s, as {why}"
            self.assertEqual([formatEvent(each) for each in events], [text])

    def test_waiting_for_a_processor(self) -> None:
        """Time in which the main thread was ready to run counts like CPU time, where the system counts it."""
        before = time.process_time()
        for content, waited in ((b"7000000000 2000000000 9\n", 2.0), (b"", 0.0)):
            self.patch(loop_watch, "content_of", lambda path, content=content: content)
            found = loop_watch.processor_seconds() - waited
            self.assertTrue(before <= found <= time.process_time(), found)

    def test_long_ago(self) -> None:
        """A request does not wait for a delay of the event loop that was over before the request came."""
        self.rig.clock.advance(5)
        (line,) = self.slow(adds(run(7, 0)), 0.25)
        self.assertIn("for its turn in the queue of the journal", line)

    def test_busy_with_the_add(self) -> None:
        """An add that did not wait for room took the time of the event loop before it came to the journal."""
        self.patch(self.rig.engine.context.slow, "_waits", lambda ledger_id: {QUEUE: 0.01})
        (line,) = self.slow(adds(run(7, 0)), 0.25)
        self.assertIn("for the event loop, which was busy", line)

    def test_frozen_file_system(self) -> None:
        """An add is slow because of the journal's file system, if that has held up the event loop itself; and that is
        the reason for the delay, whether or not a request was slow."""
        slow, (commit, *_) = self.rig.engine.context.slow, self.rig.engine.commits
        for held, reason in ((1.5, HELD), (0.5, STOPPED), (0.0, STOPPED)):
            self.patch(slow, "_waits", lambda ledger_id, held=held: {HELD: held, SYNC: 2.0 - held})
            self.peer.send(adds(run(7, len(slow.recent.after(0)))))
            commit.held_seconds += held
            self.rig.clock.advance(2.0)
            self.rig.drain()
            self.assertEqual(slow.recent.after(0)[-1].waited_for, reason)
            self.assertEqual(slow.long_delays[-1].cause, reason)
            self.turns(3.0)

    def test_long_delays(self) -> None:
        """A long delay of the event loop is kept, whether or not a request was slow; a short one is not."""
        slow = self.rig.engine.context.slow
        self.turns(1.0)
        self.rig.clock.advance(0.9)
        self.assertEqual(slow.long_delays, ())
        self.rig.clock.advance(3.2)
        (delay,) = slow.long_delays
        self.assertEqual((round(delay.end - delay.start, 2), delay.end), (3.15, self.rig.clock.seconds()))
        slow.limit(0)
        self.rig.clock.advance(RARE_PERIOD + 5.0)
        self.assertEqual([round(each.end - each.start, 2) for each in slow.long_delays], [3.15, 5.0])

    def test_watched(self) -> None:
        """The event loop is watched until the bookie stops, and often while there is a threshold."""
        slow = self.rig.engine.context.slow
        for threshold, period in ((100, PERIOD), (200, PERIOD), (0, RARE_PERIOD), (100, PERIOD)):
            slow.limit(threshold)
            self.assertEqual(self.watches(), 1)
            (call,) = [each for each in self.rig.clock.getDelayedCalls() if "LoopWatch" in str(each)]
            self.assertAlmostEqual(call.getTime() - self.rig.clock.seconds(), period)
        slow.stop()
        self.assertEqual(self.watches(), 0)

    def test_reads(self) -> None:
        """A slow run of reads has its first entry; it waits for the disk."""
        self.restart()
        self.assertEqual(
            self.slow(reads(1, range(2, 5))),
            ["slow READ_ENTRY of 10.0.0.7:5: ledger 1, entry 2, 3 in all, 250 ms, most of it for a read of the disk"],
        )
        self.assertEqual(self.slow(reads(1, range(2, 5))), [])

    def behind_reads(self, data: bytes, took: float, count: int, damaged: int = -1) -> list[str]:
        """What is logged of a request behind some reads that take ``took`` seconds each; one entry may be damaged."""
        self.restart()
        storage = self.rig.storage
        load = storage.load

        def slowly(ledger_id: int, entry_id: int, max_bytes: int) -> Any:
            self.turns(took)
            if entry_id == damaged:
                raise StorageError("damaged")
            return load(ledger_id, entry_id, max_bytes)

        self.patch(storage, "load", slowly)
        for number in range(count):
            self.rig.bookie.load([(1, number % 2, 0)])
        return self.slow(data, 0)

    def test_read_thread(self) -> None:
        """Reads behind many short reads wait for a read thread; behind few that take long, for the disk."""
        for data in (reads(1, range(2, 5)), batch(1, 4, 3, 10_000)):
            (line,) = self.behind_reads(data, STEP, 30)
            self.assertIn("484 ms, most of it for a free read thread", line)
            (line,) = self.behind_reads(data, 0.25, 3)
            self.assertIn("1000 ms, most of it for a read of the disk", line)
            (line,) = self.behind_reads(data, 0.25, 0)
            self.assertIn("250 ms, most of it for a read of the disk", line)

    def test_batch_behind_another(self) -> None:
        """A batch read that waits for the load of another one waits for what that load waits for."""
        self.behind_reads(batch(1, 4, 3, 10_000) * 2, STEP, 30)
        self.assertEqual([each.waited_for for each in self.rig.engine.context.slow.recent.after(0)], [THREAD] * 2)

    def test_second_load(self) -> None:
        """Reads that are loaded anew, because the first of them is damaged, have waited for what the first load has."""
        self.behind_reads(reads(1, range(2, 5)), STEP, 30, damaged=2)
        waits = [(each.entry_id, each.waited_for) for each in self.rig.engine.context.slow.recent.after(0)]
        self.assertEqual(waits, [(entry_id, THREAD) for entry_id in range(2, 5)])

    def test_batch(self) -> None:
        """A slow batch read has the number of entries in its reply."""
        self.restart()
        self.assertEqual(
            self.slow(batch(1, 4, 3, 10_000)),
            [
                "slow BATCH_READ_ENTRY of 10.0.0.7:5: ledger 1, entry 4, 3 in all, 250 ms, "
                "most of it for a read of the disk"
            ],
        )

    def test_rare(self) -> None:
        """A force and a fence that take long wait for the journal."""
        self.slow(adds(run(1, 0)), 0)
        force = ForceLedgerRequest(Header(V3, 3, Operation.FORCE_LEDGER, 1), 1)
        fence = ReadRequest(Header(V3, 3, Operation.READ, 2), 1, 0, fence=True, master_key=KEY)
        self.peer = self.connect("10.0.0.7")
        self.assertEqual(
            self.slow(v3.encode_request(force)),
            ["slow FORCE_LEDGER of 10.0.0.7:5: ledger 1, entry -1, 1 in all, 250 ms, most of it for the journal"],
        )
        (line,) = self.slow(v3.encode_request(fence))
        self.assertRegex(line, "^slow READ_ENTRY of 10.0.0.7:5: ledger 1, entry 0, .* for the journal$")

    def test_long_poll(self) -> None:
        """A read that asks to wait for the LAC is not slow because it waits."""
        self.slow(adds(run(1, 0)), 0)
        poll = ReadRequest(
            Header(V3, 3, Operation.READ, 1), 1, -1, previous_lac=5, timeout_ms=1000, piggyback=True
        )
        self.peer = self.connect("10.0.0.7")
        self.assertEqual(self.slow(v3.encode_request(poll), 1.0), [])

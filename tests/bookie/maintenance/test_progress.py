"""How far a piece of background work has come, and its suspension."""

import math

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance.progress import Progress, Suspension
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import Throttle


class ProgressTests(SynchronousTestCase):
    """The time to the end."""

    def _steps(self, progress: Progress, begin: int, end: int, n_bytes: int) -> None:
        for second in range(begin, end):
            progress.advance(n_bytes, second + 1.0)

    def test_even(self) -> None:
        """At an even speed it is what is left by the speed; before the first step it is not known."""
        progress = Progress(0.0, left=1000)
        self.assertIsNone(progress.eta(1.0))
        self._steps(progress, 0, 40, 10)
        self.assertEqual((progress.done, progress.left), (400, 600))
        self.assertAlmostEqual(progress.eta(40.0) or 0.0, 60)

    def test_slowed_down(self) -> None:
        """A speed that changes shows within a minute."""
        progress = Progress(0.0, left=100_000)
        self._steps(progress, 0, 100, 100)
        self._steps(progress, 100, 160, 1)
        expected = progress.left / 1
        self.assertLess(progress.eta(160.0) or math.inf, expected)
        self.assertGreater(progress.eta(160.0) or 0.0, expected / 4)

    def test_stopped(self) -> None:
        """Work that takes no steps is farther from its end with every second."""
        progress = Progress(0.0, left=100)
        progress.advance(50, 1.0)
        etas = [progress.eta(now) or 0.0 for now in (1.0, 2.0, 60.0)]
        self.assertEqual(etas, sorted(etas))
        self.assertGreater(etas[2], 60)

    def test_steps_at_once(self) -> None:
        """Steps that take no time, a clock that goes back, and more bytes than were expected do no harm."""
        progress = Progress(5.0, left=10)
        for now in (5.0, 5.0, 4.0):
            progress.advance(10, now)
        self.assertEqual((progress.done, progress.left, progress.eta(5.0)), (30, 0, 0.0))

    def test_long_steps(self) -> None:
        """If steps are long, the speed is the mean of several of them."""
        progress = Progress(0.0, left=100_000)
        for number in range(50):
            progress.advance(100 if number % 2 else 300, 20.0 * (number + 1))
        eta = progress.eta(1000.0) or 0.0
        self.assertLess(abs(eta - progress.left / 10), 0.1 * progress.left / 10)

    def test_shared_limit(self) -> None:
        """Two jobs that share a limit of entries end when its entries are granted, whatever single steps took."""
        clock = Clock()
        limit = Throttle(clock, "shared", Rate(entries=100))
        jobs = [Progress(0.0, [limit], left=left << 20, entries_left=left * 1000) for left in (6, 10)]
        ends: dict[int, float] = {}
        told: list[tuple[int, float, float]] = []

        async def work(number: int) -> None:
            while jobs[number].left:
                await jobs[number].acquire(limit, (1 << 20, 1000), f"job {number}", clock, 1 << 20)
                jobs[number].advance(1 << 20, clock.seconds(), 1000)
            ends[number] = clock.seconds()

        for number in range(2):
            Deferred.fromCoroutine(work(number))
        while len(ends) < 2:
            now, running = clock.seconds(), [job for job in jobs if job.left]
            told += [(jobs.index(job), now, now + (job.eta(now, running) or 0.0)) for job in running]
            clock.advance(1)
        self.assertEqual(jobs[0].eta(clock.seconds(), jobs), 0.0)
        self.assertGreater(ends[1] - ends[0], 30)
        wrong = [(number, now, end - ends[number]) for number, now, end in told if abs(end - ends[number]) > 21]
        self.assertEqual(wrong, [])

    def test_changed_limit(self) -> None:
        """A limit that is raised or lowered counts at once."""
        clock = Clock()
        limit = Throttle(clock, "changed", Rate(entries=100))
        progress = Progress(0.0, [limit], left=10_000, entries_left=1000)
        self.assertEqual(progress.eta(0.0), 10.0)

        async def work() -> None:
            for _ in range(5):
                await progress.acquire(limit, (1000, 100), "job", clock, 1000)
                progress.advance(1000, clock.seconds(), 100)

        working = Deferred.fromCoroutine(work())
        clock.pump([1.0] * 4)
        self.successResultOf(working)
        for entries, eta in ((100, 5.0), (10, 50.0), (500, 1.0)):
            limit.change(Rate(entries=entries))
            self.assertEqual(progress.eta(clock.seconds()), eta)

    def test_long_step(self) -> None:
        """During the wait for a long step, the end comes nearer with each second, and it is the true one."""
        clock = Clock()
        limit = Throttle(clock, "slow", Rate(entries=20))
        jobs = [Progress(0.0, [limit], left=1000, entries_left=n_entries) for n_entries in (500, 2500)]

        async def work(number: int, *steps: int) -> None:
            for entries in steps:
                await jobs[number].acquire(limit, (1000, entries), f"job {number}", clock, 1000 // len(steps))
                jobs[number].advance(1000 // len(steps), clock.seconds(), entries)

        for number, steps in enumerate(((500,), (100, 2400))):
            Deferred.fromCoroutine(work(number, *steps))
        told = []
        while jobs[1].left:
            told.append((clock.seconds(), clock.seconds() + (jobs[1].eta(clock.seconds(), jobs[1:]) or 0.0)))
            clock.advance(1)
        self.assertEqual(clock.seconds(), 30.0)
        self.assertEqual([end for at, end in told if at >= 25], [30.0] * 5)
        self.assertEqual({end for at, end in told if at < 25}, {145.0}, "the size of the last step is not known yet")

    def test_idle(self) -> None:
        """A pause does not count for the speed, not even while it lasts or if it is cancelled."""
        for ends in (lambda pause: pause.callback(None), lambda pause: pause.cancel()):
            clock, pause = Clock(), Deferred[None]()
            progress = Progress(0.0, left=1000)
            clock.advance(10)
            progress.advance(500, clock.seconds())
            idle = Deferred.fromCoroutine(progress.idle(pause, clock))
            clock.advance(100)
            self.assertEqual(progress.eta(clock.seconds()), 10.0)
            ends(pause)
            idle.addErrback(lambda failure: failure.trap(CancelledError))
            self.assertEqual(progress.eta(clock.seconds()), 10.0)
            clock.advance(1)
            self.assertGreater(progress.eta(clock.seconds()) or 0.0, 10.0)


class SuspensionTests(SynchronousTestCase):
    """The pause between two steps."""

    def test_passes(self) -> None:
        """Work that is not suspended goes on at once; work that is waits until it is resumed."""
        suspension = Suspension()
        self.successResultOf(Deferred.fromCoroutine(suspension.passed()))
        suspension.suspend()
        waiting = Deferred.fromCoroutine(suspension.passed())
        self.assertNoResult(waiting)
        suspension.resume()
        self.successResultOf(waiting)
        suspension.resume()

    def test_cancelled(self) -> None:
        """Work that is cancelled while it is suspended ends; resuming afterwards does no harm."""
        suspension = Suspension()
        suspension.suspend()
        waiting = Deferred.fromCoroutine(suspension.passed())
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        suspension.resume()

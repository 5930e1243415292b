"""Background work that yields to clients, on a disk of one line of arithmetic."""

import random
from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import NoSuchThrottleError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.adaptive import (
    LEAST_FACTOR,
    AdaptiveThrottles,
    ISpeedLimits,
    RunningJob,
    SpeedLimits,
    YieldController,
)
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.metrics import new_registry, render

MIB = 1 << 20


class ControllerTests(SynchronousTestCase):
    """The factor alone."""

    def setUp(self) -> None:
        self.controller = YieldController(10.0)

    def _after(self, *latencies: float | None) -> float:
        for latency in latencies:
            self.controller.observe(latency)
        return self.controller.factor

    def test_lowers(self) -> None:
        """A latency above the bound lowers the factor in proportion, at most to a half at a time, never to nothing."""
        self.assertEqual(self._after(12.5), 0.8)
        self.assertEqual(self._after(12.5), 0.8 * 0.8)
        self.assertEqual(self._after(10_000), 0.8 * 0.8 * 0.5)
        self.assertEqual(self._after(*[100] * 20), LEAST_FACTOR)

    def test_single(self) -> None:
        """A single slow second costs a fifth at most, however slow it was."""
        self.assertEqual(self._after(10_000, 9), 0.8)
        self.assertEqual(self._after(10_000), 0.8 * 0.8)

    def test_holds(self) -> None:
        """A latency within the bound and not well below it changes nothing."""
        self._after(20)
        self.assertEqual(self._after(*[7.0, 8.5, 10.0] * 10), 0.8)

    def test_raises(self) -> None:
        """The factor grows the faster, the further the latency is below the bound, and fastest without clients."""
        grown = []
        for latency in (6.9, 3.4, None):
            self.controller.factor = 0.1
            grown.append(self._after(latency))
        self.assertEqual([round(factor, 4) for factor in grown], [0.11, 0.125, 0.2])
        self.assertEqual(self._after(*[None] * 4), 1.0)

    def test_nothing_at_work(self) -> None:
        """A slow foreground beside no background work lowers nothing, as less of nothing would help nobody."""
        self.assertEqual(self.controller.observe(100, at_work=False), 1.0)

    def test_no_bound(self) -> None:
        """Without a bound the factor is 1, whatever the latency; a bound that is taken away sets it to 1."""
        self._after(100)
        self.controller.change(0)
        self.assertEqual(self._after(1e9), 1.0)


class Disk:
    """A disk whose latency grows with its use, as a queue's does.

    :ivar foreground: bytes a second of clients.
    :ivar noise: by which factor a sample may differ.
    :ivar spikes: the share of samples that are three times as slow, for reasons of their own.
    """

    capacity = 100 * MIB
    base = 1.0

    def __init__(self, foreground: float, noise: float = 0.0, spikes: float = 0.0) -> None:
        self.foreground = foreground
        self.noise = noise
        self.spikes = spikes
        self.background = 0
        self.latencies: list[float] = []
        self._random = random.Random(7)

    def observe(self) -> float | None:
        """The p99 of the last second, in milliseconds."""
        used = (self.foreground + self.background) / self.capacity
        self.background = 0
        if not self.foreground:
            return None
        latency = self.base / max(1 - used, 0.01) * self._random.uniform(1 - self.noise, 1 + self.noise)
        if self._random.random() < self.spikes:
            latency *= 3
        self.latencies.append(latency)
        return latency


class ThrottlesTests(SynchronousTestCase):
    """Limiters and a worker beside clients; the bound is passed when nine tenths of the disk are used."""

    bound = 10.0
    speed = 80 * MIB

    def setUp(self) -> None:
        self.clock = Clock()
        self.instruments = Instruments()

    def begin(self, limit: Rate = Rate(), disk: Disk | None = None, working: bool = True) -> None:  # noqa: B008
        """Clients want three fifths of the disk unless another one is given."""
        self.disk = disk or Disk(60 * MIB)
        self.throttles = Throttles(self.clock, {"scrub": limit, "gc-metadata": Rate(1000)}, self.instruments)
        self.adaptive = AdaptiveThrottles(
            self.clock, self.throttles, lambda: self.disk.observe(), self.bound, self.instruments
        )
        self.working = working
        self.adaptive.start()
        self.addCleanup(self.adaptive.stop)
        self._work()

    def _work(self, _: object = None) -> None:
        """Reads a quarter of a MiB, as fast as the limiter and the worker allow."""
        if self.working:
            self.throttles.get("scrub").acquire(MIB // 4).addCallback(self._read)

    def _read(self, _: object) -> None:
        self.disk.background += MIB // 4
        pause: Deferred[None] = Deferred()
        self.clock.callLater(MIB / 4 / self.speed, pause.callback, None)
        pause.addCallback(self._work)

    def run_for(self, seconds: int) -> list[float]:
        """The factor after each second."""
        factors = []
        for _ in range(seconds):
            self.clock.pump([0.005] * 200)
            factors.append(self.adaptive.status.factor)
        return factors

    def share_above(self, latencies: Sequence[float]) -> float:
        """How many of the samples passed the bound."""
        return sum(latency > self.bound for latency in latencies) / len(latencies)

    def test_converges(self) -> None:
        """A worker without a limit is slowed down until the bound holds, and then neither starves nor swings."""
        self.begin()
        self.run_for(20)
        self.disk.latencies.clear()
        factors = self.run_for(100)
        self.assertEqual(self.share_above(self.disk.latencies), 0)
        self.assertLess(max(factors) / min(factors), 1.1)
        speed = self.throttles.get("scrub").rate.bytes
        self.assertGreater(speed, 20 * MIB)  # 30 MiB are left to it
        self.assertLess(speed, 31 * MIB)

    def test_noise(self) -> None:
        """Samples that differ by a quarter neither starve the worker nor leave the bound passed for long."""
        self.begin(disk=Disk(60 * MIB, noise=0.25))
        self.run_for(20)
        self.disk.latencies.clear()
        factors = self.run_for(300)
        self.assertLess(self.share_above(self.disk.latencies), 0.25)
        self.assertLess(max(factors) / min(factors), 3)
        self.assertGreater(min(factors) * 80, 10)

    def test_spikes(self) -> None:
        """A disk that is slow now and then for other reasons costs the worker some of its speed, not most of it."""
        self.begin(disk=Disk(60 * MIB, noise=0.2, spikes=0.05))
        self.run_for(20)
        factors = self.run_for(300)
        self.assertGreater(sum(factors) / len(factors) * 80, 20)  # 30 MiB are left to it

    def test_limited(self) -> None:
        """The part is one of the operator's limit, which is shown beside it; limiters of other work yield too."""
        self.begin(Rate(bytes=70 * MIB))
        self.run_for(30)
        status = self.throttles.get("scrub").status
        self.assertEqual(status.limit, Rate(bytes=70 * MIB))
        factor = self.adaptive.status.factor
        self.assertLess(factor, 0.5)
        self.assertAlmostEqual(status.in_force.bytes, 70 * MIB * factor)
        self.assertAlmostEqual(self.throttles.get("gc-metadata").rate.entries, 1000 * factor)

    def test_limit_changed(self) -> None:
        """A limit that an operator sets while the work yields is granted in the same part."""
        self.begin()
        self.run_for(20)
        self.throttles.get("scrub").change(Rate(bytes=40 * MIB))
        self.assertAlmostEqual(self.throttles.get("scrub").rate.bytes, 40 * MIB * self.adaptive.status.factor)

    def test_recovers(self) -> None:
        """When clients want less, the work speeds up, and has no limit again in the end; likewise without clients."""
        self.begin()
        self.run_for(20)
        for foreground in (5 * MIB, 0):
            self.disk.foreground = foreground
            self.run_for(30)
            self.assertEqual(self.throttles.get("scrub").rate, Rate())
            self.disk.foreground = 60 * MIB
            self.run_for(20)
            self.assertLess(self.adaptive.status.factor, 0.6)

    def test_foreground_alone(self) -> None:
        """A worker that begins beside a slow foreground starts at its full speed and yields from then on."""
        self.begin(disk=Disk(95 * MIB), working=False)
        self.run_for(20)
        self.assertEqual(self.adaptive.status.factor, 1.0)
        self.working = True
        self._work()
        self.run_for(20)
        self.assertEqual(self.adaptive.status.factor, LEAST_FACTOR)
        self.assertLess(self.throttles.get("scrub").rate.bytes, 2 * MIB)

    def test_turned_off_and_on(self) -> None:
        """Without a bound nothing is sampled and the limits are whole; with one it goes on; a stop leaves no timer."""
        self.begin()
        self.run_for(20)
        self.adaptive.change(0)
        self.assertEqual((self.adaptive.status.factor, self.throttles.get("scrub").rate), (1.0, Rate()))
        sampled = len(self.disk.latencies)
        self.run_for(3)
        self.assertEqual(len(self.disk.latencies), sampled)
        self.adaptive.change(20)
        self.run_for(20)
        self.assertLess(self.adaptive.status.factor, 1)
        self.adaptive.stop()
        self.assertEqual(self.throttles.get("scrub").rate, Rate())
        self.adaptive.change(30)
        self.working = False
        self.run_for(2)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_failure(self) -> None:
        """A latency that cannot be had is logged, and the limits are whole."""
        self.begin()
        self.run_for(20)

        def fail() -> float:
            raise ValueError("no latency")

        self.disk.observe = fail  # type: ignore[method-assign]
        self.run_for(1)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assertEqual(self.throttles.get("scrub").rate, Rate())

    def test_metrics(self) -> None:
        """Factor, bound and latency are exported."""
        self.begin()
        self.run_for(20)
        text = render(new_registry(self.instruments)).decode()
        self.assertIn(f"throttle_factor {self.adaptive.status.factor!r}\n", text)
        self.assertIn("throttle_latency_bound_ms 10.0\n", text)
        self.assertIn(f"throttle_foreground_p99_ms {self.disk.latencies[-1]!r}\n", text)


class SpeedLimitsTests(SynchronousTestCase):
    """Limiters and their latency bound for an operator."""

    def test_changed_together(self) -> None:
        """Rates and bound change at once; with an unknown name neither does."""
        clock = Clock()
        throttles = Throttles(clock, {"b": Rate(1), "a": Rate(2)})
        limits = SpeedLimits(throttles, AdaptiveThrottles(clock, throttles, lambda: None))
        verifyObject(ISpeedLimits, limits)
        limits.set_limits({"b": Rate(3)}, 7.0)
        self.assertRaises(NoSuchThrottleError, limits.set_limits, {"b": Rate(4), "none": Rate(1)}, 8.0)
        status = limits.limits()
        self.assertEqual([(each.name, each.limit) for each in status.throttles], [("a", Rate(2)), ("b", Rate(3))])
        self.assertEqual(status.adaptive.bound, 7.0)
        limits.set_limits({})
        self.assertEqual(limits.limits().adaptive.bound, 7.0)

    def test_unasked_jobs(self) -> None:
        """The jobs, of which there may be very many, are listed only for those who want them, and not all of them."""
        clock, asked = Clock(), list[int | None]()

        def find(most: int | None = None) -> list[RunningJob]:
            asked.append(most)
            return [RunningJob("one", "waiting", "", 0.0)]

        throttles = Throttles(clock, {"a": Rate(2)})
        limits = SpeedLimits(throttles, AdaptiveThrottles(clock, throttles, lambda: None), find)
        limits.set_limits({"a": Rate(3)})
        status = limits.limits()
        self.assertEqual(asked, [])
        self.assertEqual((len(status.find_jobs(7)), len(status.jobs), asked), (1, 1, [7, None]))

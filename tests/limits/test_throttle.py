"""Named limiters on a clock."""

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import NoSuchThrottleError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import MOST_USERS, USED_SECONDS, Throttle, Throttles
from bookkeeper_twisted.metrics import new_registry, render


class ThrottleTests(SynchronousTestCase):
    """One limiter."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.instruments = Instruments()
        self.throttle = Throttle(self.clock, "scrub", Rate(bytes=100), self.instruments)
        self.granted: list[str] = []

    def _acquire(self, name: str, n_bytes: int) -> Deferred[None]:
        return self.throttle.acquire(n_bytes).addCallback(lambda _: self.granted.append(name))

    def _metric(self, name: str) -> float:
        text = render(new_registry(self.instruments)).decode()
        (line,) = [line for line in text.splitlines() if line.startswith(f'{name}{{throttle="scrub"}}')]
        return float(line.split()[1])

    def test_unlimited(self) -> None:
        """Without a limit everything is granted at once and no timer is set."""
        throttle = Throttle(self.clock, "scan")
        for _ in range(3):
            self.successResultOf(throttle.acquire(10**9, 10**6))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_in_turn(self) -> None:
        """Requests are granted in the order in which they came, whatever their size."""
        for name, n_bytes in (("large", 200), ("small", 1), ("middle", 99), ("last", 1)):
            self._acquire(name, n_bytes)
        self.assertEqual(self.granted, ["large"])
        self.clock.advance(1.9)
        self.assertEqual(self.granted, ["large"])
        self.clock.advance(0.1)
        self.assertEqual(self.granted, ["large", "small"])
        self.clock.advance(0.01)
        self.assertEqual(self.granted, ["large", "small", "middle"])
        self.clock.advance(1)
        self.assertEqual(self.granted, ["large", "small", "middle", "last"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_users(self) -> None:
        """The jobs that asked lately are its users, the newest first; one that waits stays until it is granted."""
        self.assertEqual(self.throttle.status.users, ())
        self.throttle.acquire(10, user="a")
        self.throttle.acquire(2000, user="b")
        self.throttle.acquire(10, user="a")
        self.throttle.acquire(10)
        self.assertEqual(self.throttle.status.users, ("a", "b"))
        self.clock.advance(USED_SECONDS + 1)
        self.assertEqual(self.throttle.status.users, ("a",))
        self.clock.advance(100)
        self.assertEqual(self.throttle.status.users, ())
        for number in range(2 * MOST_USERS):
            self.throttle.acquire(user=str(number))
        self.assertEqual(self.throttle.status.users[0], str(2 * MOST_USERS - 1))
        self.assertEqual(len(self.throttle.status.users), MOST_USERS)

    def test_asking_again(self) -> None:
        """A callback that asks again is granted after requests that waited already."""
        self._acquire("first", 100)
        again = self.throttle.acquire(100).addCallback(lambda _: self._acquire("again", 100))
        self._acquire("second", 100)
        self.clock.pump([1, 1, 1])
        self.successResultOf(again)
        self.assertEqual(self.granted, ["first", "second", "again"])

    def test_cancelled(self) -> None:
        """A cancelled request takes nothing and leaves no timer; the others keep their order."""
        self._acquire("first", 100)
        doomed, kept = self.throttle.acquire(10**6), self._acquire("kept", 100)
        doomed.cancel()
        self.failureResultOf(doomed, CancelledError)
        self.clock.advance(1)
        self.assertEqual(self.granted, ["first", "kept"])
        self.successResultOf(kept)
        alone = self.throttle.acquire(1)
        alone.cancel()
        self.failureResultOf(alone, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_settled(self) -> None:
        """Work that came to more than its estimate delays the next request, and one that came to less lets it pass."""
        self._acquire("first", 100)
        self._acquire("second", 100)
        self.throttle.correct(100, 3)
        self.clock.advance(1.9)
        self.assertEqual(self.granted, ["first"])
        self.clock.advance(0.1)
        self.assertEqual(self.granted, ["first", "second"])
        self._acquire("third", 1)
        self.throttle.correct(-100)
        self.assertEqual(self.granted, ["first", "second", "third"])
        status = self.throttle.status
        self.assertEqual((status.granted_bytes, status.granted_entries, status.waiting), (300, 6, 0))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_settled_counters(self) -> None:
        """What is given back makes no counter go down: it is not counted when it is granted again."""
        found = []
        for n_bytes in (100, -60, 40, 30, -30, 50):
            self.throttle.correct(n_bytes)
            found.append(self.throttle.status.granted_bytes)
        self.assertEqual(found, [100, 100, 100, 110, 110, 130])

    def test_live_change(self) -> None:
        """A changed limit holds for requests that wait already, in both directions."""
        self._acquire("first", 1000)
        self._acquire("second", 1)
        self.throttle.change(Rate(bytes=1000))
        self.clock.advance(0.5)
        self.throttle.change(Rate(bytes=100))
        self.clock.advance(4.9)
        self.assertEqual(self.granted, ["first"])
        self.clock.advance(0.1)
        self.assertEqual(self.granted, ["first", "second"])

    def test_limit_lifted(self) -> None:
        """Without a limit, requests that wait are granted at once."""
        for _ in range(3):
            self._acquire("x", 1000)
        self.throttle.change(Rate())
        self.assertEqual(len(self.granted), 3)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_yields(self) -> None:
        """A part of the limit is granted until the factor is 1 again; a limit that changes meanwhile is granted so."""
        self.throttle.yield_to(0.5, Rate(7, 7))
        self.assertEqual((self.throttle.rate, self.throttle.limit), (Rate(bytes=50), Rate(bytes=100)))
        self.throttle.change(Rate(entries=10))
        self.assertEqual(self.throttle.rate, Rate(5))
        self.throttle.yield_to(1, Rate(7, 7))
        self.assertEqual(self.throttle.rate, Rate(10))

    def test_yields_without_a_limit(self) -> None:
        """Without a limit, a part of the speed is granted that was measured first; then there is no limit again."""
        throttle = Throttle(self.clock, "scan")
        throttle.yield_to(0.5, Rate())
        self.assertEqual(throttle.rate, Rate())
        for speed in (Rate(0, 800), Rate(20, 300), Rate(9, 9)):
            throttle.yield_to(0.5, speed)
        self.assertEqual(throttle.rate, Rate(10, 400))
        throttle.yield_to(1.0, Rate(9, 9))
        self.assertEqual((throttle.rate, throttle.limit), (Rate(), Rate()))

    def test_yields_at_once(self) -> None:
        """A request that waits is granted by the part that is in force."""
        self._acquire("first", 200)
        self._acquire("second", 1)
        self.throttle.yield_to(0.5, Rate())
        self.clock.advance(3.9)
        self.assertEqual(self.granted, ["first"])
        self.clock.advance(0.2)
        self.assertEqual(self.granted, ["first", "second"])

    def test_cancelled_by_a_callback(self) -> None:
        """A callback may cancel the next request."""
        self._acquire("first", 100)
        requests = [self.throttle.acquire(0), self.throttle.acquire(100)]

        def cancel(_: None) -> None:
            requests[1].cancel()

        requests[0].addCallback(cancel)
        self.clock.advance(1)
        self.failureResultOf(requests[1], CancelledError)
        self.assertEqual(self.throttle.waiting, 0)

    def test_rate_over_time(self) -> None:
        """Twenty seconds of a limit grant twenty seconds' amount."""
        total = 0

        def go_on(_: object = None) -> None:
            nonlocal total
            total += 7
            self.throttle.acquire(7).addCallback(go_on)

        go_on()
        self.clock.pump([0.013] * 1538)
        self.assertLess(abs(total - 2000), 40)

    def test_metrics(self) -> None:
        """Grants, the time waited, the requests that wait and the limit are exported; the status has running waits."""
        self._acquire("first", 200)
        self._acquire("second", 30)
        cancelled = self.throttle.acquire(10)
        self.assertEqual(self._metric("throttle_waiting"), 2)
        self.assertEqual(self._metric("throttle_limit_bytes"), 100)
        self.assertEqual(self._metric("throttle_limit_entries"), 0)
        self.clock.advance(1)
        self.assertEqual((self.throttle.status.waited, self.throttle.status.waiting), (2, 2))
        cancelled.cancel()
        self.failureResultOf(cancelled, CancelledError)
        self.clock.advance(1)
        self.assertEqual(self._metric("throttle_waiting"), 0)
        self.assertEqual(self._metric("throttle_granted_bytes"), 230)
        self.assertEqual(self._metric("throttle_granted_entries"), 2)
        self.assertEqual(self._metric("throttle_waited_seconds"), 3)
        status = self.throttle.status
        self.assertEqual((status.granted_bytes, status.granted_entries, status.waited, status.waiting), (230, 2, 3, 0))


class ThrottlesTests(SynchronousTestCase):
    """All limiters of a process."""

    def setUp(self) -> None:
        self.throttles = Throttles(Clock(), {"compaction-write": Rate(1000)})

    def test_same_name(self) -> None:
        """Two users of a name share one limit."""
        self.assertIs(self.throttles.get("scrub"), self.throttles.get("scrub"))

    def test_rates(self) -> None:
        """A configured limit is in force from the start; another limiter starts without one."""
        self.assertEqual(self.throttles.get("compaction-write").rate, Rate(1000))
        self.assertEqual(self.throttles.get("scrub").rate, Rate())

    def test_unknown(self) -> None:
        """An operator's request for an unknown name fails and lists the known ones."""
        error = self.assertRaises(NoSuchThrottleError, self.throttles.find, "compaction")
        self.assertEqual(str(error), "no limiter is named 'compaction'; there are compaction-write")

    def test_listed(self) -> None:
        """They are listed by name."""
        self.throttles.get("zzz")
        self.throttles.get("aaa")
        self.assertEqual([throttle.name for throttle in self.throttles], ["aaa", "compaction-write", "zzz"])

"""The token bucket."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.limits.ratelimit import Rate, TokenBucket

_requests = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5000), st.floats(0, 3)), max_size=40)


class RateTests(SynchronousTestCase):
    """The value."""

    def test_no_limit(self) -> None:
        """A rate without numbers is no limit; a part of it isn't one either."""
        self.assertFalse(Rate())
        self.assertFalse(Rate() * 0.5)
        self.assertTrue(Rate(bytes=1))

    def test_part(self) -> None:
        """A quarter of a limit is a quarter of both numbers."""
        self.assertEqual(Rate(100, 4000) * 0.25, Rate(25, 1000))

    def test_seconds(self) -> None:
        """Work takes as long as the stricter limit says; without a limit, no time is known."""
        self.assertEqual(Rate(10, 4).seconds(20, 20), 5.0)
        self.assertEqual(Rate(1, 4).seconds(20, 20), 20.0)
        self.assertEqual(Rate().seconds(20, 20), 0.0)

    def test_negative(self) -> None:
        """A negative number is refused."""
        self.assertRaises(ValueError, Rate, -1)


class TokenBucketTests(SynchronousTestCase):
    """Entries and bytes on a clock that is an argument."""

    def test_unlimited(self) -> None:
        """Without a limit nothing waits."""
        bucket = TokenBucket(Rate(), 0)
        self.assertEqual([bucket.reserve(10**6, 10**9, 0) for _ in range(3)], [0, 0, 0])

    def test_large_request(self) -> None:
        """A request of three seconds' amount passes at once and delays the next by three seconds."""
        bucket = TokenBucket(Rate(bytes=100), 0)
        self.assertEqual(bucket.reserve(1, 300, 0), 0)
        self.assertEqual(bucket.delay(0), 3)
        self.assertEqual(bucket.delay(1), 2)
        self.assertEqual(bucket.delay(3), 0)

    def test_starts_empty(self) -> None:
        """A new bucket grants one request, not the savings of a second."""
        bucket = TokenBucket(Rate(10), 50)
        self.assertEqual(bucket.reserve(1, 0, 50), 0)
        self.assertAlmostEqual(bucket.delay(50), 0.1)

    def test_burst(self) -> None:
        """An hour of silence saves the amount of one second, which is granted at once; the next waits."""
        bucket = TokenBucket(Rate(10), 0)
        delays = [bucket.reserve(1, 0, 3600) for _ in range(12)]
        self.assertEqual(delays[:11], [0] * 11)
        self.assertAlmostEqual(delays[11], 0.1)

    def test_given_back(self) -> None:
        """What was taken by too high an estimate is given back, and not more than a second's amount is saved."""
        bucket = TokenBucket(Rate(bytes=100), 0)
        bucket.reserve(1, 500, 0)
        bucket.reserve(0, -300, 0)
        self.assertEqual(bucket.delay(0), 2)
        bucket.reserve(0, -10_000, 0)
        bucket.reserve(0, 200, 1)
        self.assertEqual(bucket.delay(1), 1)

    def test_slower_of_two(self) -> None:
        """With both limits set the one further in debt counts."""
        bucket = TokenBucket(Rate(10, 1000), 0)
        bucket.reserve(1, 5000, 0)
        self.assertEqual(bucket.delay(0), 5)
        bucket.reserve(99, 0, 0)
        self.assertEqual(bucket.delay(0), 10)

    def test_higher_rate(self) -> None:
        """A debt keeps its amount: ten times the rate pays it in a tenth of the time."""
        bucket = TokenBucket(Rate(bytes=100), 0)
        bucket.reserve(1, 1000, 0)
        bucket.change(Rate(bytes=1000), 0)
        self.assertEqual(bucket.delay(0), 1)

    def test_lower_rate(self) -> None:
        """Savings above the new second's amount are gone."""
        bucket = TokenBucket(Rate(1000), 0)
        bucket.change(Rate(10), 100)
        bucket.reserve(11, 0, 100)
        self.assertAlmostEqual(bucket.delay(100), 0.1)

    def test_limit_lifted(self) -> None:
        """Without a limit a debt is forgotten, and doesn't come back with the next limit."""
        bucket = TokenBucket(Rate(1), 0)
        bucket.reserve(100, 0, 0)
        bucket.change(Rate(), 0)
        self.assertEqual(bucket.delay(0), 0)
        bucket.change(Rate(1), 0)
        self.assertEqual(bucket.delay(0), 0)

    def test_clock_set_back(self) -> None:
        """A clock that goes back grants nothing twice."""
        bucket = TokenBucket(Rate(10), 100)
        bucket.reserve(20, 0, 100)
        self.assertEqual(bucket.delay(90), 2)
        self.assertEqual(bucket.delay(101), 1)

    @given(_requests)
    def test_rate_holds(self, requests: list[tuple[int, int, float]]) -> None:
        """Whatever is asked when, no time span grants more than its rate, one burst and the last request."""
        bucket = TokenBucket(Rate(20, 2000), 0)
        now = 0.0
        granted: list[tuple[float, int, int]] = []
        for entries, n_bytes, pause in requests:
            now += pause
            now += bucket.delay(now)
            bucket.reserve(entries, n_bytes, now)
            granted.append((now, entries, n_bytes))
        for i, (start, _, _) in enumerate(granted):
            for j in range(i, len(granted)):
                allowed = granted[j][0] - start + 1 + 1e-6
                self.assertLessEqual(sum(g[1] for g in granted[i:j]), allowed * 20)
                self.assertLessEqual(sum(g[2] for g in granted[i:j]), allowed * 2000)

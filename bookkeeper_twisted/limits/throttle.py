"""Named speed limits of background work, with metrics; they can be changed at any time.

Each background reader or writer of entry files and of metadata has its own limiter, and asks it before each piece of
work::

    await throttle.acquire(n_bytes, user="scrub of /ledgers")

Requests are granted in the order in which they were made.  If the amount of work is only known after the work, the
caller first requests an estimate, and corrects it after the work::

    await throttle.acquire(expected)
    throttle.correct(found - expected)

:mod:`bookkeeper_twisted.limits.ratelimit` has the arithmetic.  :mod:`bookkeeper_twisted.limits.adaptive` has the
controller that slows the work down while clients wait too long.
"""

from collections import deque
from collections.abc import Iterator, Mapping

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..errors import NoSuchThrottleError
from ..instruments import Instruments
from ..metrics import ThrottleMetrics
from .ratelimit import UNLIMITED, Rate, TokenBucket

__all__ = ["UNLIMITED", "Rate", "Throttle", "Throttles"]

USED_SECONDS = 10.0
"""Seconds for which a job counts as a user of a limiter after its last request."""

MOST_USERS = 20
"""Maximum number of users of a limiter that are remembered."""


@attrs.frozen
class ThrottleStatus:
    """The state of a limiter: its limits, and the amounts that it has granted so far.

    :ivar limit: the limit set by the operator.
    :ivar in_force: the present limit, which is below ``limit`` while clients wait too long for replies.
    :ivar waited: total number of seconds that requests have waited, those that wait now included.
    :ivar waiting: number of requests that wait now.
    :ivar users: the jobs that made requests in the last :data:`USED_SECONDS`, or wait, the newest first.
    """

    name: str
    limit: Rate
    in_force: Rate
    granted_entries: int
    granted_bytes: int
    waited: float
    waiting: int
    users: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class _Waiter:
    entries: int
    n_bytes: int
    since: float
    granted: Deferred[None]
    user: str


class Throttle:
    """A named limit of entries and bytes per second.

    :ivar name: the name of the limit in metrics, HTTP and the shell.
    :ivar limit: the limit set by the operator.
    :param rate: the initial limit.
    """

    def __init__(
        self, clock: IReactorTime, name: str, rate: Rate = UNLIMITED, instruments: Instruments | None = None
    ) -> None:
        self.name = name
        self.limit = rate
        self._factor = 1.0
        self._speed = UNLIMITED
        self._clock = clock
        self._bucket = TokenBucket(rate, clock.seconds())
        self._waiters: deque[_Waiter] = deque()
        self._timer: IDelayedCall | None = None
        self._entries = self._bytes = 0
        self._users: dict[str, float] = {}
        self._metrics = ThrottleMetrics(instruments or Instruments(), name)
        self._metrics.watch(lambda: len(self._waiters), lambda: self.rate.entries, lambda: self.rate.bytes)

    @property
    def rate(self) -> Rate:
        """The present speed limit."""
        return self._bucket.rate

    @property
    def status(self) -> ThrottleStatus:
        """Return the present limit of this limiter, and how much work it has granted and delayed."""
        metrics = self._metrics
        entries, n_bytes = int(metrics.granted_entries.value), int(metrics.granted_bytes.value)
        now, users = self._clock.seconds(), self._present_users()
        waited = metrics.waited.value + sum([now - waiter.since for waiter in self._waiters])
        return ThrottleStatus(self.name, self.limit, self.rate, entries, n_bytes, waited, self.waiting, users)

    def _present_users(self) -> tuple[str, ...]:
        since = self._clock.seconds() - USED_SECONDS
        waiting = {waiter.user for waiter in self._waiters}
        self._users = {user: at for user, at in self._users.items() if at >= since or user in waiting}
        return tuple(reversed(self._users))

    def _used_by(self, user: str, now: float) -> None:
        if user:
            self._users.pop(user, None)  # keep users in the order of their last requests, the newest last
            self._users[user] = now
            if len(self._users) > MOST_USERS:
                del self._users[next(iter(self._users))]

    @property
    def waiting(self) -> int:
        """Return the number of requests that wait now."""
        return len(self._waiters)

    def backlog(self, user: str = "") -> tuple[float, float]:
        """Return the numbers of entries and bytes that pass before the next request, or before one that waits.

        :param user: the job whose first waiting request is meant; empty for a request that is made now.
        :returns: 0 and 0 if the job has no waiting request.
        """
        entries, n_bytes = self._bucket.debt(self._clock.seconds())
        for waiter in self._waiters:
            if user and waiter.user == user:
                return entries, n_bytes
            entries, n_bytes = entries + waiter.entries, n_bytes + waiter.n_bytes
        return (0.0, 0.0) if user else (entries, n_bytes)

    def acquire(self, n_bytes: int = 0, entries: int = 1, user: str = "") -> Deferred[None]:
        """Wait until a piece of work may begin.

        The limiter takes the tokens for the work when it grants the request.  A request that is cancelled before it is
        granted takes no tokens.

        :param n_bytes: number of bytes that the work reads or writes.
        :param entries: number of entries in the work.
        :param user: name of the job that does the work; operators see it.
        :returns: fires once the work may begin; requests are granted in the order of the calls.
        """
        now = self._clock.seconds()
        self._used_by(user, now)
        if not self._waiters and not self._bucket.delay(now):
            self._count(entries, n_bytes, now)
            return succeed(None)
        waiter = _Waiter(entries, n_bytes, now, Deferred(lambda _: self._give_up(waiter)), user)
        self._waiters.append(waiter)
        self._schedule()
        return waiter.granted

    def correct(self, n_bytes: int = 0, entries: int = 0) -> None:
        """Correct the estimate of granted work: take the missing tokens, or return the tokens that were not needed.

        :param n_bytes: number of bytes by which the work exceeded its estimate; negative if the work was smaller.
        :param entries: number of entries by which the work exceeded its estimate; negative if the work was smaller.
        """
        self._count(entries, n_bytes, self._clock.seconds())
        if self._waiters:
            self._stop_timer()
            self._grant()

    def change(self, rate: Rate) -> None:
        """Change the limit, also for requests that wait already.

        :param rate: entries and bytes per second, 0 for no limit.
        """
        self.limit = rate
        self._apply()

    def yield_to(self, factor: float, speed: Rate) -> None:
        """Grant only the fraction ``factor`` of the limit, so that requests of clients have to wait less.

        :param factor: the part of the limit to grant, above 0; 1 to grant the full limit again.
        :param speed: the present speed of the work.  If the limiter has no limit, this speed is multiplied by the
            factor instead.  Only the first speed above 0 is used; later speeds are ignored until the factor is 1 again,
            because the factor has already lowered them.
        """
        known = self._speed
        if factor >= 1:
            self._speed = UNLIMITED
        else:
            self._speed = Rate(known.entries or speed.entries, known.bytes or speed.bytes)
        if factor != self._factor or self._speed != known:
            self._factor = factor
            self._apply()

    def _apply(self) -> None:
        self._bucket.change((self.limit or self._speed) * self._factor, self._clock.seconds())
        self._stop_timer()
        self._grant()

    def _count(self, entries: int, n_bytes: int, now: float) -> None:
        self._bucket.reserve(entries, n_bytes, now)
        self._entries += entries
        self._bytes += n_bytes
        # a Prometheus counter must never decrease, so returned tokens are not subtracted from it
        metrics = self._metrics
        metrics.granted_entries.value = max(metrics.granted_entries.value, self._entries)
        metrics.granted_bytes.value = max(metrics.granted_bytes.value, self._bytes)

    def _grant(self) -> None:
        """Grant the waiting requests in order, until the limit is reached."""
        self._timer = None
        while self._waiters:
            now = self._clock.seconds()
            if self._bucket.delay(now):
                break
            waiter = self._waiters.popleft()
            self._count(waiter.entries, waiter.n_bytes, now)
            self._metrics.waited.value += now - waiter.since
            waiter.granted.callback(None)
        self._schedule()

    def _schedule(self) -> None:
        if self._waiters and self._timer is None:
            self._timer = self._clock.callLater(self._bucket.delay(self._clock.seconds()), self._grant)

    def _give_up(self, waiter: _Waiter) -> None:
        self._waiters.remove(waiter)
        self._metrics.waited.value += self._clock.seconds() - waiter.since
        if not self._waiters:
            self._stop_timer()

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()


class Throttles:
    """All limiters of one process, by name.

    :param rates: the limits at the start, by name; a limiter that is not among them starts without a limit.
    """

    def __init__(
        self, clock: IReactorTime, rates: Mapping[str, Rate] | None = None, instruments: Instruments | None = None
    ) -> None:
        self._clock = clock
        self._rates = dict(rates or {})
        self._instruments = instruments or Instruments()
        self._by_name: dict[str, Throttle] = {}
        for name in self._rates:
            self.get(name)

    def get(self, name: str) -> Throttle:
        """Return the limiter ``name``, for the work that it limits; the first call creates it.

        :param name: the name in metrics and in the administration.  If no rate is configured for the name, there is no
            limit.
        """
        if name not in self._by_name:
            rate = self._rates.get(name, UNLIMITED)
            self._by_name[name] = Throttle(self._clock, name, rate, self._instruments)
        return self._by_name[name]

    def find(self, name: str) -> Throttle:
        """Return the existing limiter ``name``, for an operator who reads or changes its limit.

        :raises NoSuchThrottleError: no work uses a limiter of that name.
        """
        if name not in self._by_name:
            known = ", ".join(sorted(self._by_name)) or "none"
            raise NoSuchThrottleError(f"no limiter is named {name!r}; there are {known}")
        return self._by_name[name]

    def __iter__(self) -> Iterator[Throttle]:
        return iter([self._by_name[name] for name in sorted(self._by_name)])

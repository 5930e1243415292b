"""The watches of an embedded store, which find changed values by reading all watched values in rounds.

Each round reads the watched values that depend on live sessions: bookies, locks, votes.  If the store was written since
the last round, the round also reads all other watched values: ledgers, settings.  Then it calls the listeners of the
values that have changed.  Rounds never overlap.

:meth:`Watches.wake` starts a round.  If the store cannot report changes, a round also starts every ``interval`` seconds
while there are listeners.  A failed round is repeated, because a store reports each change only once.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import MetadataError
from ..model import LedgerMetadata
from .interfaces import Versioned

Bookies = tuple[frozenset[str], frozenset[str]]
StoredLedger = Versioned[LedgerMetadata] | None

_NOTHING = object()

RETRY_SECONDS = 1.0
"""Seconds after which all watched values are read again because a read failed, if no polling interval is set."""


@attrs.define(eq=False)
class _Watch:
    """A listener for the changes of one value in the store.

    :ivar key: name of the watched value; the value is read once for all listeners with the same key.
    :ivar of_sessions: whether the value also changes when a session ends, without a write to the store.
    :ivar ends: whether the watch ends when the value becomes None.
    :ivar reported: the value with which the listener was last called.
    """

    key: Hashable
    read: Callable[[], Awaitable[object]]
    tell: Callable[..., None]
    of_sessions: bool = False
    ends: bool = False
    reported: object = _NOTHING


class Watches:
    """All watches of one driver on an embedded store.

    :param interval: seconds between two rounds of reads; None if the store reports every change.
    """

    _log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        interval: float | None,
        read_revision: Callable[[], Awaitable[object]],
        read_bookies: Callable[[], Awaitable[Bookies]],
        read_ledger: Callable[[int], Awaitable[StoredLedger]],
    ) -> None:
        self._clock = clock
        self._interval = interval
        self._read_revision = read_revision
        self._read_bookies = read_bookies
        self._read_ledger = read_ledger
        self._watches: list[_Watch] = []
        self._timer: IDelayedCall | None = None
        self._revision: object = None
        self._round: Deferred[None] | None = None
        self._again = False
        self._stopped = self._failing = False

    def watch_bookies(self, listener: Callable[[frozenset[str], frozenset[str]], None]) -> Callable[[], None]:
        """Call ``listener(writable, read_only)`` with two sets of bookie ids: now, and again after each change.

        :returns: a function that ends the watch.
        """
        return self._add(_Watch("bookies", self._read_bookies, lambda bookies: listener(*bookies), of_sessions=True))

    def watch_ledger(self, ledger_id: int, listener: Callable[[StoredLedger], None]) -> Callable[[], None]:
        """Call ``listener`` with the metadata of ``ledger_id``: first the present metadata, then after each change.

        After the deletion of the ledger, the listener is called with None, and the watch ends.

        :returns: a function that ends the watch.
        :raises MetadataError: the driver is closed.
        """

        async def read() -> StoredLedger:
            return await self._read_ledger(ledger_id)

        return self._add(_Watch(ledger_id, read, listener, ends=True))

    def watch(
        self,
        key: str,
        read: Callable[[], Awaitable[object]],
        listener: Callable[[Any], None],
        of_sessions: bool = False,
    ) -> Callable[[], None]:
        """Call the listener with the value that ``read`` returns: first the present value, then after each change.

        :param key: name of the value.
        :param of_sessions: whether the value also changes when a session ends, without a write to the store.
        """
        return self._add(_Watch(key, read, listener, of_sessions))

    def wake(self) -> None:
        """Read all watched values soon; call this when the store may have changed.  Without watches, do nothing."""
        if self._round is not None:
            self._again = True
        elif self._watches:
            self._schedule(0)

    def stop(self) -> None:
        """End all watches, and refuse new ones."""
        self._stopped = True
        self._watches.clear()
        self._cancel_timer()
        if self._round is not None:
            self._round.cancel()

    def _add(self, watch: _Watch) -> Callable[[], None]:
        if self._stopped:
            raise MetadataError("the metadata driver is closed")
        self._watches.append(watch)
        self.wake()

        def end() -> None:
            if watch in self._watches:
                self._watches.remove(watch)
            if not self._watches:
                self._cancel_timer()

        return end

    def _schedule(self, delay: float) -> None:
        self._cancel_timer()
        self._timer = self._clock.callLater(delay, self._start)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        self._timer = None
        self._again = False
        self._round = running = Deferred.fromCoroutine(self._tell_all())
        running.addCallbacks(self._delivered, self._failed)
        running.addCallback(self._ended)

    def _delivered(self, _: None) -> float | None:
        if self._failing:
            self._failing = False
            self._log.info("metadata watch: the store can be read again")
        return self._interval

    def _failed(self, failure: Failure) -> float:
        """Log that a round of reads has failed; return the seconds until the next round.

        If the store fails in several rounds, only the first failure is logged.
        """
        if not self._stopped and failure.check(MetadataError) is None:
            self._log.failure("metadata watch: reading failed", failure=failure)
        elif not self._stopped and not self._failing:
            self._failing = True
            self._log.warn("metadata watch: {error}; trying again", error=failure.value)
        return RETRY_SECONDS if self._interval is None else self._interval

    def _ended(self, pause: float | None) -> None:
        """Schedule the next round of reads.

        :param pause: seconds until the next round; None to wait for :meth:`wake`.
        """
        self._round = None
        if not self._watches:
            return
        if self._again:
            self._schedule(0)
        elif pause is not None:
            self._schedule(pause)

    async def _tell_all(self) -> None:
        watches = list(self._watches)
        await self._read_and_tell(watch for watch in watches if watch.of_sessions)
        # Read the revision of the store before the values: if a write comes in between, the next poll finds a newer
        # revision, and reads the values again.
        revision = await self._read_revision()
        changed, self._revision = revision != self._revision, None
        others = [watch for watch in watches if not watch.of_sessions]
        await self._read_and_tell(watch for watch in others if changed or watch.reported is _NOTHING)
        self._revision = revision

    async def _read_and_tell(self, watches: Iterable[_Watch]) -> None:
        for key, watch in {watch.key: watch for watch in watches}.items():
            self._tell(key, await watch.read())

    def _tell(self, key: Hashable, news: object) -> None:
        for watch in [w for w in self._watches if w.key == key and w.reported != news]:
            if watch not in self._watches:
                continue  # a listener called earlier in this loop has ended this watch
            watch.reported = news
            if news is None and watch.ends:
                self._watches.remove(watch)
            try:
                watch.tell(news)
            except Exception:
                self._log.failure("metadata watch: a listener failed")

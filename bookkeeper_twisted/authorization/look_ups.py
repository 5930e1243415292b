"""Reads of the custom metadata of ledgers from the metadata store, for authorization rules that depend on them.

The custom metadata of a ledger never change after its creation, so they are cached.  To save memory, only the keys on
which rules depend are cached.  Reads for different principals alternate, so that a principal with requests for many
ledgers does not delay other principals.
"""

from collections import OrderedDict, deque
from collections.abc import Collection, Hashable, Mapping

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import MetadataError
from .interfaces import ReadCustomMetadata
from .rules import MOST_VALUE

MOST_KEPT = 10_000
AT_ONCE = 32
TIME_LIMIT = 5.0
"""Maximum number of seconds for one look-up, including the wait for earlier reads of the metadata store."""

REFUSED_FOR = 1.0
"""Seconds after a failed read in which the same ledger is not read again, so that peers cannot overload the store."""

_QUIET = 60.0


class CustomMetadata:
    """A cache of the custom metadata of ledgers, which reads missing metadata from the metadata store."""

    _log = Logger()

    def __init__(self, read: ReadCustomMetadata, clock: IReactorTime) -> None:
        self._read = read
        self._clock = clock
        self._keys: frozenset[str] = frozenset()
        self._known: OrderedDict[int, Mapping[str, bytes]] = OrderedDict()
        self._failed: OrderedDict[int, float] = OrderedDict()
        self._waiting: dict[int, list[Deferred[None]]] = {}
        # For each principal, a queue of the ids of ledgers to read.  The next id is taken from the first principal's
        # queue; after that, the principal moves to the end, so that all principals get their turn.
        self._queues: OrderedDict[Hashable, deque[int]] = OrderedDict()
        self._reading: dict[int, Deferred[None]] = {}
        self._logged_at: float | None = None
        self._left_out = 0

    def keep_only(self, keys: Collection[str]) -> None:
        """Clear the cache; from now on, cache only the custom metadata with these ``keys``."""
        self._keys = frozenset(keys)
        self._known.clear()

    def known(self, ledger_id: int) -> Mapping[str, bytes] | None:
        """Return the cached custom metadata of the ledger ``ledger_id``; None if they are not in the cache."""
        found = self._known.get(ledger_id)
        if found is not None:
            self._known.move_to_end(ledger_id)
        return found

    def look_up(self, ledger_id: int, principal: Hashable) -> "Deferred[None]":
        """Read the custom metadata of a ledger into the cache; when the Deferred fires, :meth:`known` returns them.

        The Deferred fails if the ledger does not exist, or if the store does not reply in time.  If a caller cancels
        its Deferred, other callers that wait for the same ledger still get the metadata.

        :param ledger_id: the id of the ledger.
        :param principal: the principal whose request needs the custom metadata.
        """
        failed_at = self._failed.get(ledger_id)
        if failed_at is not None and self._clock.seconds() - failed_at < REFUSED_FOR:
            return fail(MetadataError(f"the look-up of ledger {ledger_id} has just failed"))
        return self._wait(ledger_id, principal)

    def _wait(self, ledger_id: int, principal: Hashable) -> "Deferred[None]":
        waiter: Deferred[None] = Deferred()
        if ledger_id not in self._reading:
            # Add the ledger even if it is already in another principal's queue, because that queue may be much longer.
            self._queues.setdefault(principal, deque()).append(ledger_id)
        self._waiting.setdefault(ledger_id, []).append(waiter)
        limit = self._clock.callLater(TIME_LIMIT, self._late, ledger_id, waiter)
        waiter.addBoth(self._ended, ledger_id, waiter, limit)
        self._begin()
        return waiter

    def _ended(
        self, outcome: Failure | None, ledger_id: int, waiter: "Deferred[None]", limit: IDelayedCall
    ) -> Failure | None:
        waiters = self._waiting.get(ledger_id, [])
        if waiter in waiters:
            waiters.remove(waiter)
        if limit.active():
            limit.cancel()
        return outcome

    def _late(self, ledger_id: int, waiter: "Deferred[None]") -> None:
        reading = self._reading.get(ledger_id)
        if reading is not None:
            reading.cancel()  # this fails the Deferreds of all callers that wait for this ledger
        if not waiter.called:
            self._log_failure(ledger_id, "too many other look-ups are under way")
            waiter.errback(MetadataError(f"no answer about ledger {ledger_id} in {TIME_LIMIT:g} s"))

    def _begin(self) -> None:
        while self._queues and len(self._reading) < AT_ONCE:
            principal, queue = next(iter(self._queues.items()))
            ledger_id = queue.popleft()
            if queue:
                self._queues.move_to_end(principal)
            else:
                del self._queues[principal]
            if ledger_id in self._reading:
                continue
            if self._waiting.get(ledger_id):
                self._start(ledger_id)
            else:
                self._waiting.pop(ledger_id, None)

    def _start(self, ledger_id: int) -> None:
        async def read() -> None:
            custom = await self._read(ledger_id)
            keys = self._keys
            self._keep(ledger_id, {k: v for k, v in custom.items() if k in keys and len(v) <= MOST_VALUE})

        reading = Deferred.fromCoroutine(read())
        self._reading[ledger_id] = reading
        reading.addErrback(self._not_read, ledger_id).addBoth(self._read_ended, ledger_id)

    def _keep(self, ledger_id: int, custom: Mapping[str, bytes]) -> None:
        self._known[ledger_id] = custom
        if len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)

    def _not_read(self, failure: Failure, ledger_id: int) -> Failure:
        self._failed.pop(ledger_id, None)
        self._failed[ledger_id] = self._clock.seconds()
        if len(self._failed) > MOST_KEPT:
            self._failed.popitem(last=False)
        late = failure.check(CancelledError)
        error = f"no answer in {TIME_LIMIT:g} s" if late else failure.getErrorMessage()
        self._log_failure(ledger_id, error)
        return Failure(MetadataError(f"ledger {ledger_id}: {error}"))

    def _log_failure(self, ledger_id: int, error: str) -> None:
        """Log that the metadata of a ledger could not be read, at most once a minute."""
        now = self._clock.seconds()
        if self._logged_at is not None and now - self._logged_at < _QUIET:
            self._left_out += 1
            return
        self._log.warn(
            "the custom metadata of ledger {ledger_id} cannot be looked up, requests are refused: {error}"
            " ({left_out} such look-ups were not logged before)",
            ledger_id=ledger_id, error=error, left_out=self._left_out,
        )  # fmt: skip
        self._logged_at, self._left_out = now, 0

    def _read_ended(self, outcome: "Failure | None", ledger_id: int) -> None:
        del self._reading[ledger_id]
        for waiter in list(self._waiting.pop(ledger_id, ())):
            if not waiter.called:
                waiter.callback(outcome)  # type: ignore[arg-type]  # a Failure starts the errbacks
        self._begin()

    def stop(self) -> None:
        """Cancel all reads of metadata, so that the Deferreds of their callers fail."""
        self._queues.clear()
        for reading in list(self._reading.values()):
            reading.cancel()
        for waiters in list(self._waiting.values()):
            for waiter in list(waiters):
                waiter.cancel()
        self._waiting.clear()

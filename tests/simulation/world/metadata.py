"""A metadata store that is far away: it answers late or not at all, ends sessions, gives stale values.

It is the store in memory behind a worker that misbehaves as drawn.  Compare-and-set itself is right:
whatever happens, the store changes in one order, and :attr:`SimMetadata.observer` sees each change.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar, cast

import attrs
from twisted.internet.defer import Deferred, execute
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.interfaces import IMetadataStore, IWorker
from bookkeeper_twisted.metadata.embedded.ledgers import EmbeddedLedgers
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.session import EmbeddedSession
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.testing.streams import Random

T = TypeVar("T")

Observer = Callable[[int, Versioned[bytes] | None], None]

_CHANGES = frozenset(
    {"register", "unregister", "write_cookie", "remove_cookie", "next_ledger_id", "create_ledger", "write_ledger"}
    | {"remove_ledger", "write_mark", "remove_mark", "lock_ledger", "unlock_ledger", "describe_lock"}
    | {"vote", "withdraw_vote", "write_setting"}
)
_RETRY = 1.0


@attrs.define
class MetadataFaults:
    """What goes wrong now; probabilities where nothing else is said.

    :ivar delay: seconds a call takes on average, 0: none at all.
    :ivar lost: of a call that ends with an error; a change may have been applied.
    :ivar stale: of a read that gives what was there before, unless the session has synced since.
    :ivar watch_delay: seconds until watchers are called after a change, on average.
    :ivar down: every call fails.
    """

    delay: float = 0.0
    lost: float = 0.0
    stale: float = 0.0
    watch_delay: float = 0.0
    down: bool = False

    def heal(self) -> None:
        """Everything works; delays stay."""
        self.lost = self.stale = 0.0
        self.down = False


class _Ledgers(dict[int, Versioned[bytes]]):
    """The stored ledgers; every change is seen, and the value before it is kept.

    :ivar before: by ledger the value before the last change, and the number of that change.
    """

    def __init__(self) -> None:
        self.before: dict[int, tuple[Versioned[bytes], int]] = {}
        self.changes = 0
        self.observer: Observer = lambda ledger_id, value: None

    def __setitem__(self, ledger_id: int, value: Versioned[bytes]) -> None:
        if ledger_id in self:
            self.changes += 1
            self.before[ledger_id] = self[ledger_id], self.changes
        super().__setitem__(ledger_id, value)
        self.observer(ledger_id, value)

    def __delitem__(self, ledger_id: int) -> None:
        super().__delitem__(ledger_id)
        self.observer(ledger_id, None)


class SimMetadata:
    """One store for all nodes.

    :ivar faults: what goes wrong; shared by all drivers.
    :ivar lost: how many calls ended with an unknown outcome.
    """

    def __init__(self, chance: Random, faults: MetadataFaults | None = None) -> None:
        self.faults = faults or MetadataFaults()
        self.chance = chance
        self.lost = 0
        self._ledgers = _Ledgers()
        self.store = MemoryStore(ledgers=self._ledgers)

    def observe(self, observer: Observer) -> None:
        """Has a function called with every change of a ledger's metadata: None where it was removed."""
        self._ledgers.observer = observer

    def driver(self, clock: IReactorTime) -> "SimDriver":
        """One more session, not yet open."""
        session = SimSession(self, clock)
        return SimDriver(clock, session, SimWorker(self, clock, session))

    def remind(self) -> None:
        """Make watchers read again: one that was given a stale value gets the new one in the end."""
        self.store.revision += 1
        for changed in list(self.store.sessions.values()):
            changed()

    @property
    def changes(self) -> int:
        """How often the metadata of a ledger were replaced."""
        return self._ledgers.changes

    def before(self, ledger_id: int, since: int) -> Versioned[bytes] | None:
        """What was stored of a ledger before its last change; None if ``since`` counts that change already."""
        value, change = self._ledgers.before.get(ledger_id, (None, 0))
        return value if change > since else None


class SimDriver(EmbeddedDriver):
    """A connection to the store."""

    def __init__(self, clock: IReactorTime, session: "SimSession", worker: "SimWorker") -> None:
        super().__init__(clock, "sim:", session, worker)
        self.ledgers: SimLedgers = SimLedgers(self._session, session.catch_up)
        self._sim_session = session

    def expire(self) -> None:
        """The store ends the session, with what is registered in it; the driver begins another one, later."""
        self._sim_session.expire()

    def vanish(self) -> None:
        """The process is gone and the store has noticed."""
        self._sim_session.vanish()


class SimLedgers(EmbeddedLedgers):
    """The ledger side of a driver on a store that may lag behind.

    :param catch_up: brings the session up to date, at the store.
    """

    def __init__(self, session: EmbeddedSession, catch_up: Callable[[], None]) -> None:
        super().__init__(session)
        self._catch_up = catch_up

    async def sync(self) -> None:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.sync`."""
        await self._session.read(self._catch_up)


@implementer(IMetadataStore)
class SimSession(MemorySession):
    """A session that can expire; what was registered in it is registered again in the next one, a moment later.

    :ivar synced: the changes of ledgers that it has seen for certain.
    :ivar number: of the session, from 1 on; 0 while there is none.
    """

    def __init__(self, metadata: SimMetadata, clock: IReactorTime) -> None:
        super().__init__(metadata.store)
        self.synced = 0
        self.number = 0
        self._count = 0
        self._metadata = metadata
        self._clock = clock
        self._tell: Callable[[], None] | None = None
        self._registered: dict[str, tuple[bool, bytes]] = {}

    def open(self, changed: Callable[[], None], expired: Callable[[], None]) -> bool:
        self._tell = changed
        return super().open(self._changed_late, expired)

    def _begin(self) -> bool:
        self._count += 1
        self.number = self._count
        return super()._begin()

    def _end(self) -> None:
        self.number = 0
        super()._end()

    def _changed_late(self) -> None:
        delay = self._metadata.faults.watch_delay
        if self._tell is None:
            return
        if delay:
            self._clock.callLater(self._metadata.chance.expovariate(1 / delay), self._tell)
        else:
            self._tell()

    def close(self) -> None:
        self._tell = None
        super().close()

    def register(self, bookie_id: str, read_only: bool, info: bytes) -> None:
        super().register(bookie_id, read_only, info)
        self._registered[bookie_id] = (read_only, info)

    def unregister(self, bookie_id: str) -> None:
        self._registered.pop(bookie_id, None)
        super().unregister(bookie_id)

    def catch_up(self) -> None:
        """See everything that was written until now."""
        self.synced = self._metadata.changes

    def expire(self) -> None:
        """Ends the session; a new one follows."""
        if self._tell is not None and self.number:
            self._end()
            self._clock.callLater(_RETRY, self._begin_again)

    def _begin_again(self) -> None:
        if self._tell is not None:  # not closed meanwhile
            self._expired()
            self._begin()
            self._register_again()

    def _register_again(self) -> None:
        for bookie_id, (read_only, info) in self._registered.items():
            try:
                super().register(bookie_id, read_only, info)
            except MetadataError:
                self._clock.callLater(_RETRY, self._register_again)
                return
        if self._tell is not None:
            self._tell()

    def vanish(self) -> None:
        """Ends the session for good."""
        self.close()


@implementer(IWorker)
class SimWorker:
    """The calls of one session, one after the other, each with its delay and its fate."""

    def __init__(self, metadata: SimMetadata, clock: IReactorTime, session: SimSession) -> None:
        self._metadata = metadata
        self._clock = clock
        self._session = session
        self._requests: deque[tuple[Deferred[Any], int, Callable[..., Any], tuple[object, ...]]] = deque()
        self._replies: deque[tuple[object, Deferred[Any]]] = deque()
        self._last_there = self._last_back = 0.0

    def call(self, work: Callable[..., T], *args: object) -> "Deferred[T]":
        number = self._session.number
        if not self._metadata.faults.delay:
            return execute(self._fated, number, work, args)
        result: Deferred[T] = Deferred(lambda _: None)
        self._requests.append((result, number, work, args))
        self._last_there = self._travel(self._last_there, self._arrive)
        return result

    def _travel(self, not_before: float, then: Callable[[], None]) -> float:
        """Half of the way, behind what is on it already."""
        now = self._clock.seconds()
        arrival = max(not_before, now + self._metadata.chance.expovariate(2 / self._metadata.faults.delay))
        self._clock.callLater(arrival - now, then)
        return arrival

    def _arrive(self) -> None:
        result, number, work, args = self._requests.popleft()
        try:
            outcome = self._fated(number, work, args)
        except Exception:  # kept as it is: a run may end before it is delivered, and then it is not handled
            outcome = Failure()
        self._replies.append((outcome, result))
        self._last_back = self._travel(self._last_back, self._return)

    def _return(self) -> None:
        outcome, result = self._replies.popleft()
        if not result.called:  # not cancelled
            result.callback(outcome)

    def _fated(self, number: int, work: Callable[..., Any], args: tuple[object, ...]) -> Any:
        """
        :param number: of the session in which the call was made.
        """
        faults, chance = self._metadata.faults, self._metadata.chance
        if work.__name__ in ("open", "close"):
            return work(*args)
        if not number or number != self._session.number:
            raise MetadataError("the session has ended")
        if faults.down:
            raise MetadataError("the metadata store is not there")
        if faults.lost and chance.random() < faults.lost:
            if work.__name__ in _CHANGES and chance.random() < 0.5:
                execute(work, *args).addErrback(lambda _: None)  # applied, without an answer
            self._metadata.lost += 1
            raise MetadataError("the connection to the metadata store was lost")
        result = work(*args)
        if work.__name__ == "read_ledger" and faults.stale and chance.random() < faults.stale:
            self._clock.callLater(_RETRY, self._metadata.remind)
            (ledger_id,) = args
            return self._metadata.before(cast(int, ledger_id), self._session.synced) or result
        return result

    read = call

    def serve_reads(self) -> None:
        """No call waits for another process: each has its delay, reads too."""

    def stop(self) -> None:
        """There is nothing to end."""

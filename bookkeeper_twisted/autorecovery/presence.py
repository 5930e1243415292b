"""A test for lost bookies, which are bookies that are registered neither as writable nor as read-only."""

from collections.abc import Collection

from twisted.internet.interfaces import IReactorTime

from ..limits.throttle import Throttle
from ..metadata.interfaces import IRegistration
from ..metadata.registered import bookies_by_mode
from ..placement.bookie_watcher import BookieWatcher

_FRESH_SECONDS = 1.0


class Presence:
    """Tests whether bookies are registered; asks the metadata store before it reports a bookie as lost.

    The client watches the registered bookies, and keeps a list of them in memory.  This list is empty when the client
    starts, and outdated after its session was lost.  So a bookie that is not in the list counts as lost only if the
    metadata store confirms that the bookie is not registered.

    :param throttle: the speed limit of requests to the store.
    """

    def __init__(
        self, clock: IReactorTime, watcher: BookieWatcher, registration: IRegistration, throttle: Throttle
    ) -> None:
        self._clock = clock
        self._watcher = watcher
        self._registration = registration
        self._throttle = throttle
        self._writable: frozenset[str] = frozenset()
        self._read_only: frozenset[str] = frozenset()
        self._asked_at = -_FRESH_SECONDS

    async def gone(self, bookies: Collection[str], suspects: Collection[str] = ()) -> frozenset[str]:
        """Return those of the ``bookies`` that are not registered, as confirmed by the metadata store.

        :param suspects: bookies that another process, such as the auditor, may have found to be lost.  The store is
            asked about them even if the client's list in memory still shows them as registered.
        :raises bookkeeper_twisted.errors.MetadataError: the store failed.
        """
        missing = frozenset(bookies) - self._watcher.writable - self._watcher.read_only
        named = frozenset(suspects).intersection(bookies)
        doubtful = missing | named
        if doubtful:
            await self._ask(anew=bool(named))
        return doubtful - self._writable - self._read_only if doubtful else doubtful

    async def unwritable(self, bookies: Collection[str]) -> frozenset[str]:
        """Return those of the ``bookies`` that are lost or read-only, as confirmed by the metadata store.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed.
        """
        missing = frozenset(bookies) - self._watcher.writable
        if missing:
            await self._ask()
        return missing - self._writable if missing else missing

    async def _ask(self, anew: bool = False) -> None:
        if anew or self._clock.seconds() - self._asked_at >= _FRESH_SECONDS:
            await self._throttle.acquire(user="the list of bookies")
            self._writable, self._read_only = await bookies_by_mode(self._registration)
            self._asked_at = self._clock.seconds()

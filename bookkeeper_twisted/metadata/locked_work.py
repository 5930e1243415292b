"""Work under the replication lock of a ledger: if the lock is lost, the work is cancelled."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

from ..errors import MetadataError
from ..shared_result import ended_within
from .interfaces import IUnderreplication

T = TypeVar("T")

RELEASE_SECONDS = 1.0
"""Seconds for which cancelled work waits until the store has released its lock."""


class LedgerLock:
    """The replication lock of a ledger that this process holds; :meth:`take` acquires it."""

    def __init__(self, locks: IUnderreplication, ledger_id: int) -> None:
        self._locks = locks
        self._ledger_id = ledger_id
        self._is_lost = False
        self._running: Deferred[Any] | None = None
        self._end = locks.watch_lost_locks(self._lost)

    @classmethod
    async def take(cls, locks: IUnderreplication, ledger_id: int, holder: str) -> "LedgerLock":
        """Take the replication lock of the ledger ``ledger_id``.

        :param locks: the metadata driver whose session takes the lock.
        :param holder: text that is stored with the lock, for people to read.
        :raises bookkeeper_twisted.errors.LedgerLockedError: another process or this one holds the lock.
        """
        await locks.lock(ledger_id, holder)
        return cls(locks, ledger_id)

    def _lost(self) -> None:
        self._is_lost = True
        if self._running is not None:
            self._running.cancel()

    async def run(self, work: Callable[[], Coroutine["Deferred[Any]", Any, T]]) -> T:
        """Run a coroutine while this process holds the replication lock; if the lock is lost, cancel the coroutine.

        Only one coroutine may run at a time.

        :param work: a function that returns the coroutine; it is not called if the lock is already lost.
        :raises bookkeeper_twisted.errors.MetadataError: the lock was lost.
        """
        lost = MetadataError(f"the replication lock of ledger {self._ledger_id} was lost with its session")
        if self._is_lost:
            raise lost
        self._running = Deferred.fromCoroutine(work())
        try:
            found: T = await self._running
            return found
        except CancelledError:
            if self._is_lost:
                raise lost from None
            raise
        finally:
            self._running = None

    async def release(self) -> None:
        """Release the lock; do nothing if the lock was lost.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed.  The lock stays until the session ends, or
            until :meth:`~.interfaces.IUnderreplication.unlock` succeeds.
        """
        self._end()
        await self._locks.unlock(self._ledger_id)


async def under_lock(
    locks: IUnderreplication, ledger_id: int, holder: str, work: Callable[[], Coroutine["Deferred[Any]", Any, T]],
    clock: IReactorTime | None = None,
) -> T:  # fmt: skip
    """Take the replication lock of a ledger, run ``work``, and release the lock; if the lock is lost, cancel the work.

    :param holder: text that is stored with the lock, for people to read.
    :param clock: if this coroutine is cancelled, the clock by which it waits for the release, but for
        :data:`RELEASE_SECONDS` at most: the store removes the lock when the session ends.  None to wait for the end.
    :raises bookkeeper_twisted.errors.LedgerLockedError: another process or this one holds the lock.
    :raises bookkeeper_twisted.errors.MetadataError: the lock was lost, or cannot be released.
    """
    lock = await LedgerLock.take(locks, ledger_id, holder)
    try:
        result = await lock.run(work)
    except CancelledError:
        releasing = Deferred.fromCoroutine(lock.release())
        if clock is None:
            await releasing
        else:
            await ended_within(releasing, clock, RELEASE_SECONDS)
            releasing.addErrback(lambda _: None).cancel()
        raise
    except BaseException:
        await lock.release()
        raise
    await lock.release()
    return result

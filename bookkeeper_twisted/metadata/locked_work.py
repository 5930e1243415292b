"""Work under the replication lock of a ledger, which ends with the lock."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from ..errors import MetadataError
from .interfaces import IUnderreplication

T = TypeVar("T")


async def under_lock(
    locks: IUnderreplication, ledger_id: int, holder: str, work: Callable[[], Coroutine["Deferred[Any]", Any, T]]
) -> T:
    """Do some work under the lock of a ledger; it is cancelled if the lock is lost with its session.

    :param holder: what the lock says, for people to read.
    :raises bookkeeper_twisted.errors.LedgerLockedError: another process does some.
    :raises bookkeeper_twisted.errors.MetadataError: the lock was lost, or cannot be released: it stays until its
        session ends, or :meth:`~.interfaces.IUnderreplication.unlock` is called.
    """
    await locks.lock(ledger_id, holder)
    is_lost = False

    def lost() -> None:
        nonlocal is_lost
        is_lost = True
        running.cancel()

    running = Deferred.fromCoroutine(work())
    end = locks.watch_lost_locks(lost)
    try:
        return await running
    except CancelledError:
        if is_lost:
            raise MetadataError(f"the replication lock of ledger {ledger_id} was lost with its session") from None
        raise
    finally:
        end()
        await locks.unlock(ledger_id)

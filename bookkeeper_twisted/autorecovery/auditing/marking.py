"""Marks of under-replication as the auditor makes them: under a limit, and counted."""

from collections.abc import Callable, Collection

from ...limits.throttle import Throttle
from ...metadata.interfaces import IUnderreplication


class Marker:
    """Marks ledgers for one audit or check.

    :param operations: limit of requests about marks.
    :param now_ms: the time in ms since the epoch; None: marks carry no time.
    :ivar marked: how many ledgers were marked; ``n_bytes``: their lengths.
    """

    def __init__(
        self, underreplication: IUnderreplication, operations: Throttle, now_ms: Callable[[], int] | None
    ) -> None:
        self.marked = 0
        self.n_bytes = 0
        self._underreplication = underreplication
        self._operations = operations
        self._now_ms = now_ms

    async def mark(self, ledger_id: int, length: int, replicas: Collection[str]) -> None:
        """Mark a ledger.

        :param length: of the ledger in bytes, as far as it is known.
        :param replicas: ids of the bookies that lack entries, none if it is not known which.
        """
        await self._operations.acquire(entries=1)
        ctime = None if self._now_ms is None else self._now_ms()
        await self._underreplication.mark(ledger_id, sorted(replicas), ctime)
        self.marked += 1
        self.n_bytes += length

"""The connections of a process: at most one idle connection for each bookie and version of the wire protocol."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..ledger.batch_support import BatchSupport
from ..ledger.bookie_health import BookieHealth
from .connection import Address, IBookieConnection

FAILURE_REMEMBERED = 60.0
"""Seconds for which a bookie that failed is asked only after the other replicas."""

Dial = Callable[[Address, int], IBookieConnection]
"""A function that opens a connection, given the address of a bookie and the version of the wire protocol."""


class SocketPool:
    """The idle connections of a process, by bookie and version of the wire protocol; any thread may use the pool.

    A connection has only one user at a time.  When the use ends without an error, it goes back to the pool.

    :ivar batch_support: the record of the bookies that do not support batch reads.
    :ivar health: the record of the bookies that failed a short time ago.
    :param dial: a function that opens a connection.
    :param now: a function that returns the seconds of a monotonic clock.
    """

    def __init__(self, dial: Dial, now: Callable[[], float]) -> None:
        self.batch_support = BatchSupport(now)
        self.health = BookieHealth(now, FAILURE_REMEMBERED)
        self._dial = dial
        self._lock = threading.Lock()
        self._idle: dict[tuple[Address, int], IBookieConnection] = {}

    @contextmanager
    def use(self, address: Address, wire: int, fresh: bool = False) -> Iterator[IBookieConnection]:
        """Take a connection out of the pool for a ``with`` block; if the block raises an error, close the connection.

        :param wire: version of the protocol, 2 or 3.
        :param fresh: whether to open a new connection, because the bookie may have closed an idle one.
        :raises bookkeeper_twisted.errors.BookieHandleNotAvailableError: no connection could be made.
        """
        connection = self.take(address, wire, fresh)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self.give_back(address, connection)

    def take(self, address: Address, wire: int, fresh: bool = False) -> IBookieConnection:
        """Take a connection out of the pool, or open a new connection.

        After use, the caller must call :meth:`give_back` or close the connection.

        :param wire: version of the protocol, 2 or 3.
        :param fresh: as in :meth:`use`.
        :raises bookkeeper_twisted.errors.BookieHandleNotAvailableError: no connection could be made.
        """
        with self._lock:
            idle = self._idle.pop((address, wire), None)
        if idle is not None:
            if not fresh:
                return idle
            idle.close()
        return self._dial(address, wire)

    def give_back(self, address: Address, connection: IBookieConnection) -> None:
        """Keep a connection for the next user; if the pool has an idle one to this bookie already, close it.

        :param connection: a connection that expects no more replies.
        """
        with self._lock:
            kept = self._idle.setdefault((address, connection.wire), connection)
        if kept is not connection:
            connection.close()

    def is_suspect(self, address: Address) -> bool:
        """Test whether the bookie at an ``address`` failed a short time ago, so that others should be asked first."""
        return self.health.failed_at(address.bookie_id) is not None

    def __del__(self) -> None:
        self.close()  # a process keeps a few pools only, and drops the others with their idle connections

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = list(self._idle.values()), {}
        for connection in idle:
            connection.close()

"""The connections of a process: at most one idle connection for each bookie and version of the wire protocol."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ..errors import BookieError, BookKeeperError
from ..ledger.batch_support import BatchSupport
from ..ledger.bookie_health import NO_REPLY, BookieHealth
from .connection import Address, IBookieConnection

T = TypeVar("T")

FAILURE_REMEMBERED = 60.0
"""Seconds for which a bookie that failed is asked only after the other replicas."""

Dial = Callable[[Address, int], IBookieConnection]
"""A function that opens a connection, given the address of a bookie and the version of the wire protocol."""


class SocketPool:
    """The idle connections of a process, by bookie and version of the wire protocol; any thread may use the pool.

    :ivar batch_support: the record of the bookies that do not support batch reads.
    :ivar health: the record of the bookies that failed a short time ago.
    :ivar dial: a function that opens a connection.
    :param now: a function that returns the seconds of a monotonic clock.
    """

    def __init__(self, dial: Dial, now: Callable[[], float]) -> None:
        self.batch_support = BatchSupport(now)
        self.health = BookieHealth(now, FAILURE_REMEMBERED)
        self.dial = dial
        self._lock = threading.Lock()
        self._idle: dict[tuple[Address, int], IBookieConnection] = {}

    def idle(self, address: Address, wire: int) -> IBookieConnection | None:
        """Take the idle connection to a bookie out of the pool; return None if there is none.

        :param wire: version of the protocol, 2 or 3.
        """
        with self._lock:
            return self._idle.pop((address, wire), None)

    def give_back(self, address: Address, connection: IBookieConnection) -> None:
        """Put a connection back into the pool; close it if the pool has another idle connection to this bookie.

        :param connection: a connection that expects no more replies.
        """
        with self._lock:
            kept = self._idle.setdefault((address, connection.wire), connection)
        if kept is not connection:
            connection.close()

    def is_suspect(self, address: Address) -> bool:
        """Test whether the bookie at ``address`` failed a short time ago; other bookies should be asked first."""
        return self.health.failed_at(address.bookie_id) is not None

    def __del__(self) -> None:
        self.close()  # close the connections of a pool that nobody uses any more

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = list(self._idle.values()), {}
        for connection in idle:
            connection.close()


class OutstandingRequest(Generic[T]):
    """A request that was sent to a bookie, and whose reply was not received yet.

    No other request uses the connection before the reply.  After a complete reply, the connection is returned to the
    pool, even if the reply says that the request failed.  After any other error, it is closed.
    """

    def __init__(
        self, pool: SocketPool, address: Address, wire: int, send: Callable[[IBookieConnection], object],
        receive: Callable[[IBookieConnection], T],
    ) -> None:  # fmt: skip
        """Send the request; an error of the sending is raised only by :meth:`reply`.

        :param wire: version of the protocol, 2 or 3.
        :param send: sends the request over a connection; called a second time if the first connection is lost.
        :param receive: receives the reply, and returns the result.
        """
        self._pool = pool
        self._address = address
        self._wire = wire
        self._send = send
        self._receive = receive
        self._failure: BookKeeperError | None = None
        self._connection = pool.idle(address, wire)
        self._was_idle = self._connection is not None
        self._begin()

    def _begin(self) -> None:
        try:
            if self._connection is None:
                self._connection = self._pool.dial(self._address, self._wire)
            self._send(self._connection)
        except BookKeeperError as error:
            self._failure = error

    def reply(self) -> T:
        """Receive the reply; if a connection from the pool is lost, repeat the request over a new connection.

        A bookie or a firewall may close a connection that was idle for long, even if the bookie works.

        :raises bookkeeper_twisted.errors.BookKeeperError: no connection could be made, no reply came, or the reply is
            an error.
        """
        try:
            return self._received()
        except NO_REPLY:
            if not self._was_idle:
                raise
        self._was_idle, self._failure = False, None
        self._begin()
        return self._received()

    def _received(self) -> T:
        try:
            if self._failure is not None:
                raise self._failure
            assert self._connection is not None
            found = self._receive(self._connection)
        except BookieError:
            self._give_back()
            raise
        except BaseException:
            self.abandon()
            raise
        self._give_back()
        return found

    def _give_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(self._address, connection)

    def abandon(self) -> None:
        """Close the connection, because nobody needs the reply."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

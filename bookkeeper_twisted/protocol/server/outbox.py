"""Writes the replies of each connection by one ``transport.write``, when many requests have been answered together."""

from collections.abc import Callable
from typing import Protocol

from twisted.logger import Logger


class Flushable(Protocol):
    """A connection with replies to write."""

    def flush(self) -> None: ...
    def abort(self) -> None: ...


class Outbox:
    """The connections of a bookie that have queued replies.

    A connection is added when it queues its first reply.  :meth:`flush` then writes the replies of all connections.  It
    is called after each step that may answer many requests, for example after a journal write, after the requests in
    one received chunk of bytes, and after reads on a read thread.
    """

    __slots__ = ("_enrolled", "_after")
    _log = Logger()

    def __init__(self) -> None:
        self._enrolled: list[Flushable] = []
        self._after: list[Callable[[], None]] = []

    def enrol(self, connection: Flushable) -> None:
        """Register a ``connection``, so that the next :meth:`flush` writes its replies.

        It must not be registered already.
        """
        self._enrolled.append(connection)

    def after_flush(self, call: Callable[[], None]) -> None:
        """Register a function for the end of the next :meth:`flush`.

        :param call: called once; it must not raise.
        """
        self._after.append(call)

    def flush(self) -> None:
        """Write the replies of every enrolled connection, in the order of enrolment.

        If the write of a connection raises an error, this connection is dropped, and its peer has to repeat its
        requests.  The other connections are still flushed.
        """
        while self._enrolled:
            enrolled, self._enrolled = self._enrolled, []
            for connection in enrolled:
                try:
                    connection.flush()
                except Exception:
                    self._log.failure("the replies of a connection could not be written")
                    connection.abort()
        if self._after:
            after, self._after = self._after, []
            for call in after:
                call()

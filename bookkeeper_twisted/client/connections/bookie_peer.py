"""The sockets to one bookie in one wire protocol: chooses a socket for each ledger handle, opens and closes sockets.

A flow is the requests of one ledger handle.  A flow gets a new socket if each existing socket has a flow and the limit
allows another socket.  Otherwise it gets the least busy socket.  A socket that is still being connected can get flows,
too.  A flow adds to the load of its socket even before its first request.  So flows that are made at the same time are
spread over all sockets.  After a failed attempt to connect, no socket is made for some time, which doubles with each
failure up to a limit.  If there is no socket in this time, requests fail immediately, because other bookies can serve
them.
"""

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from ...codec.wire_protocol import IWireProtocol
from ...protocol.client.request_ids import RequestIds
from ...protocol.peer_lines import PeerLines
from ...security.reasons import BrokenTlsError
from ...shared_result import end_of
from .bookie_socket import BookieSocket, SocketSettings

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 3.0
LOG_PAUSE = 60.0
"""Minimum number of seconds between two log lines about overdue replies of the same bookie."""


def least_busy(sockets: "list[BookieSocket]") -> BookieSocket:
    """Choose the least busy of several ``sockets`` to a bookie.

    This is the socket with the fewest unacknowledged and recently written bytes.  Among equal sockets, it is the one
    with the fewest ledger handles, and then the one that was not chosen for the longest time.

    :param sockets: the sockets, at least one.
    """
    return min(sockets, key=lambda socket: (socket.traffic.load(), len(socket.flows), socket.chosen))


@attrs.frozen
class PeerCounts:
    """The numbers of connections to one bookie, and of bytes and replies in flight on them.

    :ivar open: established connections.
    :ivar sockets: established connections, and connections that are being made.
    :ivar queued: number of bytes that wait to be written.
    :ivar unacknowledged: size in bytes of all requests that wait for their replies.
    :ivar orphans: replies that can still arrive although no request waits for them any more.
    """

    open: int
    sockets: int
    flows: int
    queued: int
    unacknowledged: int
    orphans: int


class BookiePeer:
    """The sockets to one bookie in one wire protocol.

    :ivar sockets: the usable sockets.
    :ivar key: bookie id and wire protocol.
    :ivar n_lost: number of established connections that ended although this client did not close them.
    :ivar n_broken_tls: number of connections that ended because of an error of TLS, for example because bytes were
        changed or cut off.
    :ivar n_failed: number of attempts to connect that failed.
    :ivar n_reconnects: number of attempts to connect that followed a lost connection or a failed attempt.
    """

    _log = Logger()

    def __init__(self, settings: SocketSettings, bookie_id: str, wire: IWireProtocol, limit: int) -> None:
        """:param limit: maximum number of sockets at a time; 0 for one socket for each ledger handle."""
        self.sockets: list[BookieSocket] = []
        self.key = bookie_id, wire
        self.n_lost = self.n_broken_tls = self.n_failed = self.n_reconnects = 0
        self._settings = settings
        self._clock = settings.clock
        self._limit = limit
        self._pause = 0.0
        self._lines = PeerLines(settings.clock.seconds)
        self._overdue = 0
        self._overdue_silent_until = 0.0
        self._paused_until = 0.0
        self._last_error: Exception | None = None
        self._all: dict[BookieSocket, None] = {}

    def choose(self, ids: RequestIds) -> BookieSocket:
        """Choose a socket for a ledger handle, or make a new one.

        :param ids: the request ids of the handle.
        :raises bookkeeper_twisted.errors.BookKeeperError: no socket is usable, and it is too early to connect again.
        """
        sockets = self.sockets
        paused = self._last_error is not None and self._clock.seconds() < self._paused_until
        may_open = not paused and (not self._limit or len(sockets) < self._limit)
        opens = may_open and (not self._limit or all(socket.flows for socket in sockets))
        if opens:
            socket = self._open()
        elif sockets and self._limit:
            socket = self._least_busy()
        else:
            assert self._last_error is not None
            raise self._last_error
        socket.join(ids)
        if opens:
            socket.connect()
        return socket

    def _least_busy(self) -> BookieSocket:
        """Choose the least busy socket for a new ledger handle, and raise the load of this socket.

        The load is raised by the number of bytes that an average handle wrote recently.  So handles that are made at
        the same time get different sockets, although they have not sent requests yet.
        """
        sockets = self.sockets
        socket = least_busy(sockets)
        n_flows = sum(len(each.flows) for each in sockets)
        if n_flows:
            socket.traffic.wrote(sum(each.traffic.recent() for each in sockets) / n_flows)
        return socket

    def _open(self) -> BookieSocket:
        if self.n_reconnects < self.n_lost + self.n_failed:
            self.n_reconnects += 1
        socket = BookieSocket(self._settings, self.key, self._ended, self._count_overdue, bool(self._limit))
        self.sockets.append(socket)
        self._all[socket] = None
        socket.gone.addCallback(lambda _: self._all.pop(socket))
        return socket

    def _ended(self, socket: BookieSocket) -> None:
        self.sockets.remove(socket)
        if not socket.dismissed:
            self._log_lost(socket)
        if socket.connection is not None:
            self.n_lost += not socket.dismissed
            self.n_broken_tls += _has_broken_tls(socket)
            self._pause, self._last_error = 0.0, None
            return
        if socket.dismissed:
            return
        self.n_failed += 1
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._paused_until = self._clock.seconds() + self._pause
        self._last_error = socket.error

    def _log_lost(self, socket: BookieSocket) -> None:
        """Log a lost socket, at most one line a minute for this bookie; log each new error of TLS."""
        cause = str(socket.error) if _has_broken_tls(socket) else ""
        self._lines.log(self._log.warn, "bookie {peer}: {error}", self.key[0], cause=cause, error=socket.error)

    def _count_overdue(self, count: int) -> None:
        """Count requests that had no reply in time; log their number at most once in :data:`LOG_PAUSE` seconds."""
        self._overdue += count
        now = self._clock.seconds()
        if now >= self._overdue_silent_until:
            self._overdue_silent_until, n, self._overdue = now + LOG_PAUSE, self._overdue, 0
            self._log.warn("bookie {bookie_id}: {n} requests had no reply in time", bookie_id=self.key[0], n=n)

    def tick(self, idle_limit: float, minimum: int, error: Exception) -> None:
        """Close sockets that no ledger handle has used for some time, and test whether the other connections are alive.

        :param idle_limit: seconds without a ledger handle after which a socket is closed.
        :param minimum: number of sockets that stay open even if no ledger handle uses them.
        :param error: the error with which requests on closed sockets fail.
        """
        for socket in list(self.sockets):
            spare = len(self.sockets) > minimum and not socket.flows
            if spare and self._clock.seconds() - socket.idle_since >= idle_limit:
                socket.close(error)
            else:
                socket.tick()

    def counts(self) -> PeerCounts:
        """Return the numbers of sockets, and of bytes and replies in flight on them."""
        connections = [socket.connection for socket in self.sockets if socket.connection is not None]
        return PeerCounts(
            open=len(connections),
            sockets=len(self.sockets),
            flows=sum(len(socket.flows) for socket in self.sockets),
            queued=sum(connection.writer.queue.size for connection in connections),
            unacknowledged=sum(socket.traffic.unacknowledged for socket in self.sockets),
            orphans=sum(connection.in_flight.orphans for connection in connections),
        )

    def close(self, error: Exception, grace: float = 0.0) -> "Deferred[None]":
        """Close all sockets; return a Deferred that fires when they are closed.

        :param grace: seconds that outstanding requests may still take.
        """
        gone = [end_of(socket.gone) for socket in self._all]
        for socket in list(self.sockets):
            socket.close(error, grace)
        return gatherResults(gone).addCallback(lambda _: None)


def _has_broken_tls(socket: BookieSocket) -> bool:
    return socket.error is not None and isinstance(socket.error.__cause__, BrokenTlsError)

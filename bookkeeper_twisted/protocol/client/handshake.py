"""The client's protocols for the beginning of a connection: TLS, then authentication, then requests.

Each of the three is a protocol of its own; when it is complete, it passes the connection to the next protocol.
"""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from ...errors import RequestTimeoutError
from ...security.reasons import tls_reason


class Handshake(Protocol):
    """The base class of a protocol that begins a connection (TLS, authentication), then passes it to the next protocol.

    :ivar ready: fires with the next protocol when the connection was passed to it; fails if the connection cannot be
        used.  If the Deferred is cancelled, the connection is dropped.
    :cvar expects_more: tells the TLS layer that bytes from the bookie are missing if the connection ends now; True,
        because during a handshake the bookie must still answer.
    """

    expects_more = True

    def __init__(self, clock: IReactorTime, timeout: float, late: str) -> None:
        """:param timeout: maximum number of seconds from the start of this protocol until it passes the connection on.
        :param late: the text of the error if this time is exceeded; a subclass may change it as the handshake advances.
        """
        self.ready: Deferred[Protocol] = Deferred(lambda _: self.transport.abortConnection())  # type: ignore[union-attr]
        self._clock = clock
        self._timeout = timeout
        self._late = late
        self._timer: IDelayedCall | None = None

    def connectionMade(self) -> None:
        self._timer = self._clock.callLater(self._timeout, lambda: self._fail(RequestTimeoutError(self._late)))

    def _pass_on(self, make: Callable[[], Protocol]) -> None:
        """Pass the connection to the protocol that ``make`` returns; this protocol receives all bytes from now on."""
        self._end_timer()
        protocol = make()
        self.transport.protocol = protocol  # type: ignore[union-attr]
        protocol.makeConnection(self.transport)  # type: ignore[arg-type]
        self.ready.callback(protocol)

    def _fail(self, error: Exception) -> None:
        """Drop the connection because of an ``error``, unless it is lost or was passed to the next protocol."""
        self._end_timer()
        if not self.ready.called:
            self.ready.errback(error)
            self.transport.abortConnection()  # type: ignore[union-attr]

    def _end_timer(self) -> None:
        timer, self._timer = self._timer, None  # the timer refers to this object: avoid a reference cycle
        if timer is not None and timer.active():
            timer.cancel()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._end_timer()
        if not self.ready.called:
            self.ready.errback(self._loss(tls_reason(reason.value)))

    def _loss(self, reason: str) -> Exception:
        """Return the error for a connection that was lost while this protocol used it.

        :param reason: why the connection was lost.
        """
        raise NotImplementedError

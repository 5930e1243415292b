"""The TLS layer of a bookie's connections; its work counts against the time limits of a reactor turn.

A handshake takes about a millisecond.  A record takes some ten microseconds even if it carries no data, as a KeyUpdate.
So if the time of a reactor turn is used up when bytes arrive, they are stored encrypted, and the transport is not read
until :class:`.Turns` calls the connection.  While records are decrypted, the clock is read after every few records.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

from twisted.internet.interfaces import IProtocol, IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure

from ...security.records import RecordEnds
from ..tls_layer import TlsLayer
from ..turns import Turns

SMALL = 32 * 1024
"""A waiting connection with at most this number of encrypted bytes comes before connections with more bytes.

How many requests they have is known only after decryption.  A record has 16 KiB at most.
"""

MOST_RECORDS = 128
"""Maximum number of TLS records that are decrypted between two tests of the time limit.

To decrypt this many short records takes a millisecond or two.
"""


class TurnTaking(Protocol):
    """A connection, such as a :class:`.ServerConnection`, whose records are decrypted when :class:`.Turns` allows."""

    @property
    def turns(self) -> Turns: ...

    @property
    def is_untrusted(self) -> bool: ...

    @property
    def expects_more(self) -> bool: ...

    def fit_chunk(self, n_bytes: int, seconds: float) -> None:
        """See :meth:`.ServerConnection.fit_chunk`."""


class ServerTlsLayer(TlsLayer):
    """The TLS layer of one connection of a bookie.

    :param protocol: the connection; the time for decryption counts as time that this connection has used.
    """

    def __init__(
        self, factory: TLSMemoryBIOFactory, protocol: TurnTaking, transport: Any, clock: IReactorTime,
        answers_wait: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        super().__init__(factory, cast(IProtocol, protocol), transport, clock, answers_wait)
        self._connection: Any = protocol
        self._turns = protocol.turns
        self._ends = RecordEnds()
        self._arrived = b""
        self._at = 0  # number of received bytes that are decrypted already
        self._waits = False
        self._works = False

    def dataReceived(self, data: bytes) -> None:
        turns, connection = self._turns, self._connection
        untrusted = connection.is_untrusted
        if self._arrived or self._below.reading_paused or turns.is_spent_for(untrusted):
            if not self._below.is_closing:
                self._arrived, self._at = self._arrived[self._at :] + data, 0
                self._wait()
            return
        counts = turns.begin(untrusted)
        try:
            end = self._ends.find(data, 0, MOST_RECORDS)
            if end == len(data):
                super().dataReceived(data)
            else:
                self._arrived = data
                self._work(end)
        finally:
            if counts:
                connection.fit_chunk(len(data), turns.end())

    def _work(self, end: int = 0) -> None:
        """Decrypt received bytes until the connection has used up its time in this reactor turn.

        Also stop if the bookie must not read from the connection now.

        :param end: offset in the received bytes up to which to decrypt before the time is tested; 0 to compute it here.
        """
        below, self._works = self._below, True
        try:
            while self._arrived and not below.reading_paused and not below.is_closing:
                data, at = self._arrived, self._at
                end = end or self._ends.find(data, at, MOST_RECORDS)
                self._arrived, self._at = (data, end) if end < len(data) else (b"", 0)
                super().dataReceived(data[at:end])
                end = 0
                if self._arrived and self._turns.is_over():
                    break
        finally:
            self._works = False
        if self._arrived:
            self._wait(is_stopped=True)

    def _wait(self, is_stopped: bool = False) -> None:
        """Decrypt the remaining bytes in a later turn of the reactor; until then, do not read from the transport.

        If the bookie must not read from the connection now, decryption continues when reading is resumed.

        :param is_stopped: whether some of the received bytes were decrypted in this reactor turn, and the others had to
            wait because the time was used up.
        """
        if self._waits or self._works or self._below.reading_paused or self._below.is_closing:
            return
        self._waits = True
        self._below.put_off(True)
        if self._connection.is_untrusted:
            self._turns.wait_untrusted(self)
        else:
            self._turns.wait(self, len(self._arrived) - self._at <= SMALL, is_stopped)

    def take_turn(self) -> None:
        self._waits = False
        self._work()
        if not self._waits:
            self._below.put_off(False)

    def abort(self) -> None:
        """Drop the connection, because :meth:`take_turn` has raised an error."""
        self.abortConnection()

    def resumeProducing(self) -> None:
        super().resumeProducing()
        if self._arrived:
            self._wait()

    def loseConnection(self) -> None:
        super().loseConnection()
        if self._arrived:
            self._wait()

    @property
    def expects_more(self) -> bool:
        """Whether the peer has sent only a part of a TLS record or of a frame.

        While received bytes wait to be decrypted, it is False, because they may contain the rest.
        """
        return not self._arrived and (self._ends.is_inside or super().expects_more)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._turns.withdraw(self)
        super().connectionLost(reason)
        self._arrived = b""
        self._connection = None

"""What tests of turns share: a clock that work moves, a socket that knows how much it receives, a short request."""

from typing import Any

from twisted.internet.interfaces import ITCPTransport
from zope.interface import alsoProvides

from bookkeeper_twisted.codec.messages import ReadRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wires import V3

from ...bookie.rig import Rig
from ..tls_ends import QueueTransport


class TcpTransport(QueueTransport):
    """A transport whose protocol sets how many bytes are received at a time."""

    bufferSize = 1 << 16

    def __init__(self) -> None:
        super().__init__()
        alsoProvides(self, ITCPTransport)

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass


class Costs:
    """A clock by which time passes only when the bookie does what is counted.

    :ivar done: how often each connection, by number, has done it.
    """

    def __init__(self, rig: Rig) -> None:
        self.now = 0.0
        self.done: list[object] = []
        self._clock = rig.clock
        turns: Any = rig.engine.factory.turns
        turns._clock = self

    def seconds(self) -> float:
        return self.now

    def callLater(self, delay: float, function: Any, *args: Any) -> Any:
        return self._clock.callLater(delay, function, *args)

    def pay(self, what: object, seconds: float) -> None:
        """Let the time pass that a piece of work takes."""
        self.done.append(what)
        self.now += seconds

    def turn(self) -> int:
        """One turn of the reactor.

        :returns: how many pieces of work were done in it.
        """
        due = [call for call in self._clock.calls if call.getTime() <= self._clock.seconds()]
        before = len(self.done)
        for call in due:
            self._clock.calls.remove(call)
            call.called = 1
            call.func(*call.args, **call.kw)
        return len(self.done) - before


def read(number: int) -> bytes:
    """A V3 read of a ledger that does not exist."""
    return requests_out.encode_request(ReadRequest(V3.header(Operation.READ, number, 0), 1, 1))

"""Requests to a site in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import LogEvent, formatEvent
from twisted.trial.unittest import SynchronousTestCase

_VECTORS = Path(__file__).parent.parent / "vectors" / "http"


def captured(name: str) -> tuple[int, str]:
    """Status and body that Apache's bookie gave."""
    head, _, body = (_VECTORS / f"{name}.txt").read_text().partition("\n\n")
    status = head.split("-> HTTP ")[1].split()[0]
    return int(status), body.rstrip("\n")


def lines(events: Sequence[LogEvent]) -> list[str]:
    """The lines that log events of :mod:`bookkeeper_twisted` make."""
    ours = [event for event in events if event["log_namespace"].startswith("bookkeeper_twisted")]
    return [f"{event['log_level'].name}: {formatEvent(event)}" for event in ours]


@attrs.frozen
class Answered:
    """An answer as it was sent."""

    status: int
    head: str
    body: str


class HttpCase(SynchronousTestCase):
    """Sends requests as a client does.

    :ivar site: that answers, on a clock of its own or of its cluster.
    """

    site: Any

    def ask(self, path: str, method: str = "GET", body: str = "") -> Answered:
        """An answer that comes without waiting, or after :meth:`settle`."""
        channel, transport = self.site.buildProtocol(None), StringTransport()
        channel.makeConnection(transport)
        data = body.encode()
        channel.dataReceived(f"{method} {path} HTTP/1.0\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        self._turns()
        self.settle()
        self._turns()
        head, _, content = transport.value().partition(b"\r\n\r\n")
        channel.connectionLost(None)
        return Answered(int(head.split()[1]), head.decode(), content.decode(errors="replace"))

    def _turns(self) -> None:
        if isinstance(self.site.reactor, Clock):
            self.site.reactor.advance(0)

    def settle(self) -> None:
        """Lets what takes turns come to its end."""

"""A client's connection and the bookie's end of it, for the tests of connections."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.adds import Adds, stored_adds
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.instruments import Histogram
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.protocol.client.connection import ClientConnection, ConnectionOwner
from bookkeeper_twisted.protocol.client.connection_limits import ConnectionLimits
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.client.request_writer import WriteHistograms
from bookkeeper_twisted.protocol.client.traffic import Traffic
from bookkeeper_twisted.testing.sealing import sealed
from tests.wires import WIRES

LEDGER = 3
DIGESTER = Digester(DigestType.CRC32C, b"")
Answers = list[tuple[int, int, Exception | None]]


def run_of(first: int, count: int) -> EntryRun:
    return sealed(DIGESTER, LEDGER, first, -1, 0, [b"data"] * count)


class Recorded(Histogram):
    """A histogram that appends its values to a list."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(())
        self._values = values

    def record(self, value: float) -> None:
        self._values.append(value)


class ClosingTransport(StringTransport):
    """Counts writes, and tells the protocol when it is aborted."""

    writes = 0
    protocol: ClientConnection

    def write(self, data: bytes) -> None:
        self.writes += 1
        super().write(data)

    def abortConnection(self) -> None:
        self.aborting = True
        self.protocol.connectionLost(Failure(ConnectionDone()))


class ConnectedTestCase(SynchronousTestCase):
    """A connection and the bookie's end of it."""

    wire = 2

    def setUp(self) -> None:
        """Connects."""
        self.clock = Clock()
        self.lost: list[ClientConnection] = []
        limits = ConnectionLimits(add_timeout=4.0, read_timeout=8.0)
        self.flow_ids = FlowIds()
        self.ids = RequestIds(self.flow_ids.allocate())
        self.traffic = Traffic(self.clock.seconds)
        self.blocks: list[int] = []
        owner = ConnectionOwner(
            "bookie:1", self.flow_ids, self.traffic, lambda error: self.lost.append(self.connection),
            WriteHistograms(requests=Recorded(self.blocks)),
        )  # fmt: skip
        self.connection = ClientConnection(self.clock, WIRES[self.wire], limits, owner)
        self.transport = ClosingTransport()
        self.transport.protocol = self.connection
        self.connection.makeConnection(self.transport)
        self.server = ServerDecoder()

    def asked(self) -> list[Any]:
        """What arrived at the bookie since the last look."""
        self.clock.advance(0)
        sent = self.transport.value()
        self.transport.clear()
        return list(self.server.receive(sent))

    def adds(self, run: EntryRun) -> Adds:
        """A run as it is sent."""
        return stored_adds(DIGESTER.master_key, run)

    def add(self, run: EntryRun, answers: Answers | None = None) -> Answers:
        """Sends adds; the answers are first id, count and error."""
        seen: Answers = [] if answers is None else answers

        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            self.assertEqual(list(indexes), list(range(indexes[0], indexes[0] + len(indexes))))
            seen.append((run.first + indexes[0], len(indexes), error))

        self.connection.add(self.ids, self.adds(run), done)
        return seen

    def lose(self) -> None:
        """The peer closes."""
        self.connection.connectionLost(Failure(ConnectionDone()))

"""Which connection is ended for a new one, and how much work that is."""

import attrs
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import ConnectionMetrics
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.peer_lines import PeerLines
from bookkeeper_twisted.protocol.server.connected_peers import ConnectedPeers
from bookkeeper_twisted.protocol.server.limits import (
    ENTERING_SHARE,
    LEAST_ENTERING,
    MAX_FOUND,
    SECONDS_FOR_EACH,
    SECONDS_IN_USE,
    ServerLimits,
)
from bookkeeper_twisted.security.principals import NOBODY, Principal

MOST = 10 * ENTERING_SHARE
SHARE = 10


@attrs.define(eq=False)
class _Connection:
    """A connection that is idle for some seconds, or in use.

    :ivar asked: how often its idle time was asked for.
    """

    peer: str
    seconds: float | None
    host: str = "192.0.2.1"
    principal: Principal = NOBODY
    state: ConnectionState = ConnectionState.READY
    has_room: bool = True
    is_waiting: bool = True
    stalled_for: float = 0.0
    round_trip: float | None = None
    is_admitted: bool = False
    is_ended: bool = False
    asked: int = 0

    @property
    def idle_for(self) -> float | None:
        self.asked += 1
        return self.seconds

    def is_late(self, latest: float) -> bool:
        return False

    def end(self) -> None:
        self.is_ended = True

    def abort(self) -> None:
        self.is_ended = True


class EvictionTests(SynchronousTestCase):
    """A bookie with its maximum number of connections."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.fill(MOST)

    def fill(self, most: int) -> None:
        """Begin anew, with this maximum number of connections."""
        limits = ServerLimits(max_connections=most)
        self.metrics = ConnectionMetrics(Instruments())
        self.peers: ConnectedPeers[_Connection] = ConnectedPeers(
            self.clock, self.metrics, limits, PeerLines(self.clock.seconds)
        )
        self.addCleanup(self.peers.stop)

    def connect(self, count: int = 1, let_in: bool = True, idle: float | None = 60.0) -> list[_Connection]:
        """New connections, which are idle for some seconds."""
        made = [_Connection(f"192.0.2.1:{number}", idle) for number in range(count)]
        for connection in made:
            connection.is_admitted = self.peers.admit(connection)
            if let_in and connection.is_admitted:
                self.peers.identified(connection)
        return made

    def ended(self, connections: list[_Connection]) -> list[bool]:
        """Which of the connections were ended."""
        return [each.is_ended for each in connections]

    def asked(self, connections: list[_Connection]) -> int:
        """How often their idle times were asked for."""
        return sum([each.asked for each in connections])

    def test_strangers_first(self) -> None:
        """Where many peers are not let in, they go for new ones, the first of them first, however idle clients are."""
        clients = self.connect(MOST - SHARE - 1)
        strangers = self.connect(SHARE + 1, let_in=False, idle=0.0)
        again = self.connect(SHARE, let_in=False, idle=0.0)
        self.assertEqual(self.ended(clients), [False] * len(clients))
        self.assertEqual(self.ended(strangers), [True] * SHARE + [False])
        (newcomer,) = self.connect()
        self.assertEqual((newcomer.is_admitted, self.ended(strangers)[-1], any(self.ended(again))), (True, True, False))
        self.assertEqual(self.metrics.evicted.value, SHARE + 1)

    def test_few_strangers(self) -> None:
        """Few peers that are not let in stay: the idlest client goes, which is a line in the log."""
        clients = self.connect(MOST - SHARE)
        clients[3].seconds = 70.0
        strangers = self.connect(SHARE, let_in=False, idle=0.0)
        with capturedLogs() as logs:
            self.connect(let_in=False, idle=0.0)
        self.assertEqual([at for at, is_ended in enumerate(self.ended(clients)) if is_ended], [3])
        self.assertEqual(self.ended(strangers), [False] * SHARE)
        self.assertEqual(
            [formatEvent(event) for event in logs],
            [f"{MOST} connections: the idle one of 192.0.2.1:3 is closed for a new one"],
        )

    def test_small_limit(self) -> None:
        """Where few connections are allowed at all, a stranger may still connect beside another one."""
        self.fill(4)
        clients, strangers = self.connect(2), self.connect(LEAST_ENTERING, let_in=False, idle=0.0)
        self.connect(let_in=False, idle=0.0)
        self.assertEqual((self.ended(clients), self.ended(strangers)), ([True, False], [False, False]))

    def test_no_line_of_strangers(self) -> None:
        """That a peer which is not let in goes is no line in the log."""
        self.connect(MOST, let_in=False)
        with capturedLogs() as logs:
            self.connect()
        self.assertEqual(logs, [])

    def test_search(self) -> None:
        """One search finds connections for many new ones; those that are used again meanwhile stay."""
        clients = self.connect(MOST)
        self.connect()
        clients[1].seconds = None
        self.connect(5)
        self.assertEqual(self.ended(clients)[:8], [True, False, True, True, True, True, True, False])
        self.assertEqual(self.asked(clients), MOST + 7)

    def test_search_in_vain(self) -> None:
        """Where all connections are in use, new ones are refused, and the next search begins some time later."""
        clients = self.connect(MOST, idle=None)
        self.assertEqual([each.is_admitted for each in self.connect(100)], [False] * 100)
        self.assertEqual(self.asked(clients), MOST)
        self.clock.advance(MOST * SECONDS_FOR_EACH)
        self.connect()
        self.assertEqual((self.asked(clients), self.metrics.refused.value), (2 * MOST, 101))

    def test_most_found(self) -> None:
        """A search keeps a limited number of connections."""
        self.fill(MAX_FOUND + 10)
        clients = self.connect(MAX_FOUND + 10, idle=SECONDS_IN_USE)
        self.connect(MAX_FOUND + 1, idle=0.0)
        self.assertEqual(sum(self.ended(clients)), MAX_FOUND)

    def test_left(self) -> None:
        """A connection that has ended is ended for nobody."""
        clients = self.connect(MOST)
        self.connect()
        for each in clients[1:3]:
            self.peers.left(each)
        self.connect(3)
        self.assertEqual(self.ended(clients)[:5], [True, False, False, True, False])

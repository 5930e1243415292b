"""What the pool promises whatever the load: limits, exact failures, an even spread.  No network, no time."""

from collections.abc import Iterator, Sequence
from random import Random

from bookkeeper_twisted.client.connections.bookie_peer import BookiePeer
from bookkeeper_twisted.client.connections.bookie_socket import BookieSocket
from bookkeeper_twisted.codec.adds import stored_adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import BookieHandleNotAvailableError
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.protocol.client.request_ids import RequestIds
from bookkeeper_twisted.testing.sealing import sealed

from ..shared.silent_bookie import BOOKIE, SilentBookie

MAX_SOCKETS = 2
FLOWS = 300
SPREAD_SOCKETS = 10
PARETO_INDEX = 2
SEEDS = 5
_EACH = 3


class Peer(SilentBookie):
    """A bookie that never answers, and the sockets to it."""

    def __init__(self, limit: int) -> None:
        self.listen()
        self.sockets = BookiePeer(self.settings, BOOKIE, V2, limit)

    def flow(self) -> tuple[RequestIds, BookieSocket]:
        """Another flow and the socket it is on."""
        ids = self.ids()
        return ids, self.sockets.choose(ids)


def burst() -> int:
    """The attempts to connect that a burst of flows makes before the first one ends."""
    peer = Peer(MAX_SOCKETS)
    peer.hold()
    for _ in range(FLOWS):
        peer.flow()
    assert peer.held is not None
    return len(peer.held)


def wrong_failures() -> int:
    """How many requests fare otherwise than they should when one of the connections is lost."""
    peer = Peer(MAX_SOCKETS)
    digester, failed, expected = Digester(DigestType.CRC32C, b""), list[tuple[int, int]](), list[tuple[int, int]]()
    flows = [peer.flow() for _ in range(FLOWS)]
    lost = flows[0][1]
    for entry in range(_EACH):
        for ids, socket in flows:
            connection = socket.connection
            assert connection is not None

            def done(
                bookie: str, indexes: Sequence[int], error: Exception | None,
                key: tuple[int, int] = (ids.flow_id, entry),
            ) -> None:  # fmt: skip
                failed.append(key)

            run = sealed(digester, ids.flow_id, entry, -1, 0, [b""])
            connection.add(ids, stored_adds(digester.master_key, run), done)
            if socket is lost:
                expected.append((ids.flow_id, entry))
    peer.clock.advance(0)
    assert lost.connection is not None
    lost.connection.abort(BookieHandleNotAvailableError("lost"))
    missing = len(expected) - len(failed)
    return abs(missing) + sum(got != wanted for got, wanted in zip(failed, expected, strict=False))


def spread(seed: int) -> float:
    """The busiest socket's rate as a multiple of the mean, with flows of very unequal rates."""
    peer, chance = Peer(SPREAD_SOCKETS), Random(seed)
    flows: list[tuple[BookieSocket, float]] = []
    for _ in range(FLOWS):
        flows.append((peer.flow()[1], chance.paretovariate(PARETO_INDEX)))
        peer.clock.advance(1)
        for socket, rate in flows:
            socket.traffic.wrote(rate * 1000)
    rates: dict[BookieSocket, float] = {}
    for socket, rate in flows:
        rates[socket] = rates.get(socket, 0.0) + rate
    return max(rates.values()) * len(rates) / sum(rates.values())


def case_rows() -> Iterator[tuple[str, float, float, bool]]:
    """Name, bar, figure, whether the bar is a lower bound."""
    yield f"sockets opened by a burst of {FLOWS} flows", MAX_SOCKETS, burst(), False
    yield f"wrong failures of {FLOWS * _EACH} requests at the loss of 1 of {MAX_SOCKETS}", 0, wrong_failures(), False
    middle = sorted(spread(seed) for seed in range(SEEDS))[SEEDS // 2]
    yield f"Pareto {PARETO_INDEX}, {FLOWS} flows, {SPREAD_SOCKETS} sockets: busiest / mean", 1.25, middle, False

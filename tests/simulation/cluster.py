"""The nodes of a run: bookies as drawn, and clients that come and go."""

from collections.abc import Sequence

import attrs

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.testing.simulation import BookieNode, BookieSettings, ClientNode, World
from bookkeeper_twisted.testing.simulation.client_node import Connect

from .checker import Checker
from .history import History
from .scenario import Scenario


@attrs.frozen
class Parts:
    """What plants replace by something with a defect."""

    connect: Connect = BookKeeper
    bookie: type[BookieNode] = BookieNode


class Cluster:
    """Everything of one run.

    :ivar ledger_ids: of the ledgers that were created, in order.
    :ivar chaos: whether faults still strike.
    """

    def __init__(self, scenario: Scenario, parts: Parts, keep_lines: bool) -> None:
        self.scenario = scenario
        self.world = World(scenario.seed)
        self.checker = Checker()
        self.history = History(self.world, self.checker, keep_lines)
        self.ledger_ids: list[int] = []
        self.clients: dict[str, ClientNode] = {}
        self.chaos = True
        self._parts = parts
        self._n_clients = 0
        self.world.metadata.faults.delay = scenario.metadata_delay
        self.world.metadata.faults.watch_delay = scenario.watch_delay
        self.bookies = [self._bookie(n, scenario.bookie) for n in range(1, scenario.n_bookies + 1)]

    def _bookie(self, number: int, settings: BookieSettings) -> BookieNode:
        return self._parts.bookie(self.world, f"b{number}", settings, self.history)

    def new_client(self, role: str, number: int) -> ClientNode:
        """One more client process."""
        self._n_clients += 1
        wires: Sequence[str] = self.scenario.wires
        config = attrs.evolve(self.scenario.client, wire_protocol=wires[number % len(wires)])
        node = ClientNode(self.world, f"{role}{self._n_clients}", config, self._parts.connect)
        self.clients[node.name] = node
        self.history.note(node.name, "starts, wire protocol {}", config.wire_protocol)
        return node

    def living_clients(self) -> list[ClientNode]:
        """Those whose process is alive."""
        return [client for client in self.clients.values() if client.life.alive]

    def heal(self) -> None:
        """All faults end, everything that should run is started."""
        self.chaos = False
        self.world.network.links.heal()
        self.world.metadata.faults.heal()
        for bookie in self.bookies:
            bookie.disk.heal()
            bookie.disk.observer = None
            bookie.speed.scale = 1.0
            bookie.damage = 0.0
            bookie.resume()
            bookie.start()
        for client in self.living_clients():
            client.life.resume()

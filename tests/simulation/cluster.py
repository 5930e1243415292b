"""The nodes of a run: bookies as drawn, and clients that come and go."""

from collections.abc import Sequence
from typing import Any, Protocol

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.codec.adds import Adds
from bookkeeper_twisted.codec.operations import FENCE
from bookkeeper_twisted.codec.runs import BatchReply
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.protocol.client.sent_adds import AddsDone

from .checker import Checker
from .history import History
from .scenario import Scenario
from .world import AutorecoveryNode, BookieNode, BookieSettings, ClientNode, World
from .world.client_node import Connect


@attrs.frozen
class Parts:
    """What plants replace by something with a defect."""

    connect: Connect = BookKeeper
    bookie: type[BookieNode] = BookieNode


class Repairer(Protocol):
    """A process of autorecovery that is started again after it was killed."""

    def start(self) -> None:
        """Starts it, unless it runs."""

    def kill(self) -> None:
        """Ends it at once."""

    def expire(self) -> None:
        """The metadata store ends its session."""


class CountedBookies:
    """The bookies as a client calls them.

    Batch reads that gave several entries are counted by purpose, and of batches of many ledgers: that they are sent,
    that entries fail that are not acknowledged, and that entries are sent to a new bookie.

    :param client: stands for the client.
    """

    def __init__(self, inner: Any, history: History, client: object) -> None:
        self._inner = inner
        self._history = history
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open_flow(self) -> "CountedBookies":
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.open_flow`."""
        return CountedBookies(self._inner.open_flow(), self._history, self._client)

    def add(self, bookie_id: str, adds: Adds, done: AddsDone, fresh: bool = False) -> None:
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add`."""
        keys, history = list(zip(adds.ledger_ids, adds.entry_ids, strict=True)), self._history
        if not fresh and any(history.shared.get(key) is self._client for key in keys):
            history.count("ensemble change of a shared batch")
        if not fresh or len(set(adds.ledger_ids)) == 1:
            self._inner.add(bookie_id, adds, done, fresh)
            return
        history.count("shared batch")
        history.shared.update(dict.fromkeys(keys, self._client))

        def count(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            if error is not None:
                waiting = [index for index in indexes if history.checker.ledger(keys[index][0]).acked < keys[index][1]]
                if waiting:
                    history.count("failure in a shared batch")
            done(bookie_id, indexes, error)

        self._inner.add(bookie_id, adds, count, fresh)

    def read_batch(
        self, bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read_batch`."""

        def count(reply: BatchReply) -> BatchReply:
            if reply.entries is not None and reply.entries.count > 1:
                self._history.count(purpose)
            return reply

        purpose = "batch in recovery" if flags & FENCE else "batch read" if patience is None else "batch with news"
        asked: Deferred[BatchReply] = self._inner.read_batch(
            bookie_id, ledger_id, first, max_count, max_size, flags, master_key, patience
        )
        return asked.addCallback(count)


class Cluster:
    """Everything of one run.

    :ivar ledger_ids: of the ledgers that were created, in order.
    :ivar chaos: whether faults still strike.
    :ivar repairers: processes of autorecovery.
    """

    def __init__(self, scenario: Scenario, parts: Parts, keep_lines: bool) -> None:
        self.scenario = scenario
        self.world = World(scenario.seed)
        self.checker = Checker()
        self.history = History(self.world, self.checker, keep_lines)
        self.ledger_ids: list[int] = []
        self.clients: dict[str, ClientNode] = {}
        self.chaos = True
        self.repairers: list[Repairer] = []
        self._parts = parts
        self._n_clients = 0
        self.world.metadata.faults.delay = scenario.metadata_delay
        self.world.metadata.faults.watch_delay = scenario.watch_delay
        self.bookies = [self._bookie(n, scenario.bookie) for n in range(1, scenario.n_bookies + 1)]

    def _bookie(self, number: int, settings: BookieSettings) -> BookieNode:
        return self._parts.bookie(self.world, f"b{number}", settings, self.history)

    def config(self, number: int) -> ClientConfig:
        """Of an ordinary client."""
        wires: Sequence[str] = self.scenario.wires
        shared, wire = self.scenario.client, wires[number % len(wires)]
        alone = wire == "v2" and shared.max_connections_per_bookie == 1  # V2 does not do with one socket
        return attrs.evolve(shared, wire_protocol="auto" if alone else wire)

    def new_client(self, role: str, config: ClientConfig, repairs: AutorecoveryConfig | None = None) -> ClientNode:
        """One more client process.

        :param repairs: configuration of autorecovery, to be in it.
        """
        self._n_clients += 1
        name = f"{role}{self._n_clients}"
        if repairs is None:
            node = ClientNode(self.world, name, config, self._connect)
        else:
            node = AutorecoveryNode(self.world, name, config, self._connect, repairs)
        self.clients[node.name] = node
        self.history.note(node.name, "starts, wire protocol {}", config.wire_protocol)
        return node

    def _connect(self, clock: Any, driver: Any, bookies: Any, *parts: Any, **named: Any) -> BookKeeper:
        return self._parts.connect(clock, driver, CountedBookies(bookies, self.history, object()), *parts, **named)

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
        for repairer in self.repairers:
            repairer.start()

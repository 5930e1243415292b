"""The faults of a run: each kind strikes at drawn times, and ends by itself a while later."""

import errno
from collections.abc import Callable

from bookkeeper_twisted.model import LedgerMetadata

from .cluster import Cluster
from .scenario import FAULTS, STOP
from .world import BookieNode, ClientNode


class Chaos:
    """Strikes while the run is in its first phase."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._chance = cluster.world.stream("chaos")
        self._aims = False
        self._strikes: dict[str, Callable[[], None]] = dict(
            zip(
                FAULTS,
                (
                    self._kill, self._power, self._power_within, self._pause, self._slow_disk, self._disk_error,
                    self._disk_full, self._partition, self._one_way, self._slow_link, self._reset, self._refuse,
                    self._ignore, self._kill_client, self._pause_client, self._metadata_lost, self._metadata_stale,
                    self._metadata_down, self._expire, self._wrong_data,
                    self._aim,
                ),
                strict=True,
            )
        )  # fmt: skip

        self._strikes |= {
            "autorecovery kill": self._kill_repairer, "autorecovery expiry": self._expire_repairer,
            "bookie lost": self._lose, STOP: self._stop,
        }  # fmt: skip

    def start(self) -> None:
        """Begins."""
        self._cluster.history.announced = self._recovery_begins
        for kind in self._cluster.scenario.faults:
            self._again(kind)

    def _again(self, kind: str) -> None:
        self._world.after(self._chance.expovariate(1 / self._cluster.scenario.mean_fault), self._strike, kind)

    def _strike(self, kind: str) -> None:
        if self._cluster.chaos:
            self._cluster.history.count(f"fault: {kind}")
            self._strikes[kind]()
            self._again(kind)

    def _later(self, mean: float, function: Callable[[], object]) -> None:
        def end() -> None:
            if self._cluster.chaos:  # else everything has been healed
                function()

        self._world.after(self._chance.expovariate(1 / mean), end)

    def _note(self, text: str, *args: object) -> None:
        self._cluster.history.note("fault", text, *args)

    # -- bookies --

    def _bookie(self) -> BookieNode:
        return self._chance.choice(self._cluster.bookies)

    def _kill(self) -> None:
        bookie = self._bookie()
        self._note("kill {}", bookie.name)
        bookie.kill(power=False)
        self._later(2, bookie.start)

    def _stop(self) -> None:
        bookie = self._bookie()
        self._note("stop {}", bookie.name)
        bookie.stop()

    def _power(self) -> None:
        bookie = self._bookie()
        self._note("power of {} goes", bookie.name)
        bookie.kill(power=True)
        self._later(2, bookie.start)

    def _power_within(self) -> None:
        bookie = self._bookie()
        if bookie.running:
            operation = self._chance.randint(1, 12)
            self._note("power of {} goes before its {}th operation", bookie.name, operation)
            bookie.cut_power_at(operation)
            self._later(4, lambda: self._end_of_cut(bookie))

    def _end_of_cut(self, bookie: BookieNode) -> None:
        bookie.disk.observer = None
        bookie.start()

    def _pause(self) -> None:
        bookie = self._bookie()
        self._note("pause {}", bookie.name)
        bookie.pause()
        self._later(3, bookie.resume)

    def _slow_disk(self) -> None:
        bookie = self._bookie()
        scale = self._chance.choice((10, 100, 1000))
        self._note("disk of {} is {} times slower", bookie.name, scale)
        bookie.speed.scale = scale
        self._later(3, lambda: setattr(bookie.speed, "scale", 1.0))

    def _disk_error(self) -> None:
        bookie = self._bookie()
        kinds = ("pwrite",), ("sync", "commit"), ("pread", "committed"), ("rename", "create", "unlink")
        names = self._chance.choice(kinds)
        where = self._chance.choice(("/journal", "/ledgers"))
        times = self._chance.randint(1, 3)
        self._note("disk of {} fails {} in {}, {} times", bookie.name, names, where, times)
        bookie.disk.fail(errno.EIO, when=lambda op: op.name in names and op.path.startswith(where), times=times)
        self._later(3, bookie.disk.heal)

    def _disk_full(self) -> None:
        bookie = self._bookie()
        self._note("ledger disk of {} is full", bookie.name)
        bookie.disk.fail(
            errno.ENOSPC, when=lambda op: op.name in ("pwrite", "create") and op.path.startswith("/ledgers"), times=100
        )
        self._later(3, bookie.disk.heal)

    def _wrong_data(self) -> None:
        bookie = self._bookie()
        self._note("{} gives damaged entries", bookie.name)
        bookie.damage = 0.5
        self._later(3, lambda: setattr(bookie, "damage", 0.0))

    # -- network --

    def _pair(self) -> tuple[str, str]:
        clients = [client.name for client in self._cluster.living_clients()]
        bookie = self._bookie().name
        return (self._chance.choice(clients), bookie) if clients else (bookie, bookie)

    def _partition(self) -> None:
        one, other = self._pair()
        self._cut((one, other), (other, one))

    def _one_way(self) -> None:
        one, other = self._pair()
        self._cut((one, other) if self._chance.random() < 0.5 else (other, one))

    def _cut(self, *ways: tuple[str, str]) -> None:
        for way in ways:
            self._note("nothing gets from {} to {}", *way)
            link = self._world.network.links.between(*way)
            link.silent = True
            self._later(3, link.heal)

    def _slow_link(self) -> None:
        one, other = self._pair()
        scale = self._chance.choice((10, 100, 2000))
        for way in ((one, other), (other, one)):
            self._note("from {} to {} it takes {} times longer", *way, scale)
            link = self._world.network.links.between(*way)
            link.scale = scale
            self._later(3, link.heal)

    def _reset(self) -> None:
        one, other = self._pair()
        self._note("connections of {} and {} are reset", one, other)
        self._world.network.reset(one, other)

    def _refuse(self) -> None:
        one, other = self._pair()
        self._note("{} refuses {}", other, one)
        link = self._world.network.links.between(one, other)
        link.refuses = True
        self._world.network.reset(one, other)
        self._later(3, link.heal)

    def _ignore(self) -> None:
        one, other = self._pair()
        self._note("{} accepts connections of {} and ignores them", other, one)
        link = self._world.network.links.between(one, other)
        link.ignores = True
        self._world.network.reset(one, other)
        self._later(3, link.heal)

    def _aim(self) -> None:
        self._note("recoveries are aimed at")
        self._aims = True
        self._later(5, lambda: setattr(self, "_aims", False))

    def _recovery_begins(self, metadata: LedgerMetadata) -> None:
        """Whoever recovers is late at one bookie, and cannot reach another one at first; writers are late at
        that one and a third."""
        if not self._aims or metadata.ensemble_size < 3:
            return
        late, unreached, other = (b.partition(":")[0] for b in self._chance.sample(metadata.segments[-1].bookies, 3))
        for client in self._cluster.living_clients():
            if client.name.startswith("w"):
                self._slow_for_a_second(client.name, unreached, 1000)
                self._slow_for_a_second(client.name, other, 1000)
            else:
                self._slow_for_a_second(client.name, late, 400)
                self._world.network.links.between(client.name, unreached).refuses = True
                self._world.network.reset(client.name, unreached)
                self._world.after(0.05, self._world.network.links.between(client.name, unreached).heal)

    def _slow_for_a_second(self, one: str, other: str, scale: float) -> None:
        for way in ((one, other), (other, one)):
            link = self._world.network.links.between(*way)
            link.scale = scale
            self._world.after(1, link.heal)

    # -- clients --

    def _client(self) -> ClientNode | None:
        clients = self._cluster.living_clients()
        return self._chance.choice(clients) if clients else None

    def _kill_client(self) -> None:
        client = self._client()
        if client is not None:
            self._note("kill {}", client.name)
            client.kill()

    def _pause_client(self) -> None:
        client = self._client()
        if client is not None:
            self._note("pause {}", client.name)
            client.life.pause()
            self._later(3, client.life.resume)

    # -- autorecovery --

    def _kill_repairer(self) -> None:
        repairer = self._chance.choice(self._cluster.repairers)
        self._note("kill a process of autorecovery")
        repairer.kill()
        self._later(2, repairer.start)

    def _expire_repairer(self) -> None:
        self._note("the session of a process of autorecovery ends")
        self._chance.choice(self._cluster.repairers).expire()

    def _lose(self) -> None:
        """Once."""
        if not any(bookie.gone for bookie in self._cluster.bookies):
            bookie = self._bookie()
            self._note("{} is lost for good", bookie.name)
            bookie.lose()

    # -- metadata --

    def _metadata_lost(self) -> None:
        faults = self._world.metadata.faults
        faults.lost = self._chance.choice((0.1, 0.5))
        self._note("metadata calls are lost")
        self._later(3, lambda: setattr(faults, "lost", 0.0))

    def _metadata_stale(self) -> None:
        faults = self._world.metadata.faults
        faults.stale = 0.5
        self._note("metadata reads are stale")
        self._later(3, lambda: setattr(faults, "stale", 0.0))

    def _metadata_down(self) -> None:
        faults = self._world.metadata.faults
        faults.down = True
        self._note("metadata store is down")
        self._later(2, lambda: setattr(faults, "down", False))

    def _expire(self) -> None:
        bookie = self._bookie()
        self._note("metadata session of {} ends", bookie.name)
        if bookie.running and bookie.process is not None:
            bookie.process.driver.expire()

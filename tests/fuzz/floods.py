"""``python -m tests.fuzz.floods``: floods of a bookie with TLS and SASL.

Prints one JSON object: for each flood, of a bookie of its own, the memory above what the bookie had before, and how
long a healthy client waits for an answer before, while the connections open, and when all are open.  Before and when
all are open, it measures for the same time and in the same way, and also prints the CPU time that the reactor of the
bookie works for an answer, which the load of the machine hardly changes.  The status is 1 if more than 300 MiB were
taken, or if the p99 of the client or this CPU time was more than three times that without a flood.

``let-in`` are connections within TLS whose peers are authenticated, and silent then.

The connections of some floods are silent until all are open, and then send all at once.  For these it prints the most
CPU time that the reactor of the bookie worked while one read of a healthy client waited, which the load of the machine
hardly changes.  The status is 1, too, if that was more than 0.1 s, two turns of the reactor.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater, react
from twisted.python.failure import Failure

from bookkeeper_twisted.cli.main import begin
from examples.bookie_process import ROOT, BookieProcess

from ..integration.peer import Bystander, Peer, descriptors, resident_bytes
from .attacker import BURSTS
from .secured import SecuredRun

MIB = 1024 * 1024
MOST_MEMORY = 300
MOST_TIMES = 3.0
MOST_CPU = 0.1
_TURNS = 200
"""Turns of the healthy client before a flood, and at least as many with all connections open."""

_CLIENTS = 4
"""Healthy clients of a burst: the longest wait is that of the unluckiest."""

_SECONDS = 5.0


class Attacker(ProcessProtocol):
    """The process of :mod:`.attacker`."""

    def __init__(self) -> None:
        self.ready: Deferred[None] = Deferred()
        self.sent: Deferred[None] = Deferred()
        self.gone: Deferred[None] = Deferred()

    def outReceived(self, data: bytes) -> None:
        if not self.ready.called:
            self.ready.callback(None)
        elif not self.sent.called:
            self.sent.callback(None)

    def errReceived(self, data: bytes) -> None:
        sys.stderr.write(data.decode())

    async def end(self) -> None:
        """Let the process close its connections and end."""
        self.transport.closeStdin()  # type: ignore[union-attr]
        await self.gone

    def processEnded(self, reason: Failure) -> None:
        self.gone.callback(None)
        if not self.ready.called:
            self.ready.errback(reason)


class _LetIn:
    """Connections within TLS whose peers are authenticated, and send nothing then.

    :ivar ready: fires when all are open.
    """

    def __init__(self, run: "Floods", port: int, count: int) -> None:
        self._peers: list[Peer] = []
        self.ready = Deferred.fromCoroutine(self._open(run, port, count))

    async def _open(self, run: "Floods", port: int, count: int) -> None:
        for _ in range(count):
            self._peers.append(await run.connect(port))

    async def end(self) -> None:
        """Drop the connections."""
        for peer in self._peers:
            await peer.leave()


@attrs.frozen
class _Turn:
    """One request of the healthy client: the seconds until its answer, and the bytes of the bookie's memory then."""

    seconds: float
    memory: int


class Floods(SecuredRun):
    """One bookie after the other, and a flood of each."""

    turns, seconds = _TURNS, _SECONDS

    async def measure(self, kinds: dict[str, int]) -> dict[str, Any]:
        """Returns the figures of all floods."""
        return {
            kind: {"connections": count, **await (self._burst if kind in BURSTS else self._flood)(kind, count)}
            for kind, count in kinds.items()
        }

    async def _turn(self, process: BookieProcess, bystander: Bystander) -> _Turn:
        began = self.reactor.seconds()
        await bystander.is_served()
        return _Turn(float(self.reactor.seconds() - began), resident_bytes(process))

    async def _turns(self, process: BookieProcess, bystander: Bystander) -> tuple[list[_Turn], float]:
        """Return the turns of some time, and the seconds of CPU of the bookie's reactor in them."""
        until, cpu, turns = self.reactor.seconds() + self.seconds, _cpu_seconds(process), list[_Turn]()
        while self.reactor.seconds() < until or len(turns) < self.turns:
            turns.append(await self._turn(process, bystander))
        return turns, _cpu_seconds(process) - cpu

    def _attack(self, process: BookieProcess, kind: str, count: int) -> Attacker:
        attacker = Attacker()
        command = [sys.executable, "-m", "tests.fuzz.attacker", str(process.port), kind, str(count)]
        self.reactor.spawnProcess(attacker, sys.executable, command, env=None, path=str(ROOT))
        return attacker

    async def _burst(self, kind: str, count: int) -> dict[str, Any]:
        process = await self._start()
        clients = [Bystander(await self.connect(process.port)) for _ in range(_CLIENTS)]
        await clients[0].is_served()
        attacker = self._attack(process, kind, count)
        await attacker.ready
        waits: list[float] = []
        ending: list[bool] = []

        async def read(client: Bystander) -> None:
            while not ending:
                before = _cpu_seconds(process)
                await client.finds(0, 1)
                waits.append(_cpu_seconds(process) - before)
                await deferLater(self.reactor, 0.005)

        reading = gatherResults([Deferred.fromCoroutine(read(client)) for client in clients])
        base = resident_bytes(process)
        began = _cpu_seconds(process)
        attacker.transport.write(b"go\n")  # type: ignore[union-attr]
        await attacker.sent
        await deferLater(self.reactor, self.seconds)
        ending.append(True)
        await reading
        taken = _cpu_seconds(process) - began
        more = resident_bytes(process) - base
        await attacker.end()
        for client in clients:
            await client.peer.leave()
        await process.end()
        return {
            "mib_more": round(more / MIB, 1), "cpu_s": round(taken, 2), "reads": len(waits),
            "longest_wait_cpu_s": round(max(waits), 3),
        }  # fmt: skip

    async def _flood(self, kind: str, count: int) -> dict[str, Any]:
        process = await self._start()
        bystander = Bystander(await self.connect(process.port))
        await bystander.is_served()
        before = await self._turns(process, bystander)
        base = resident_bytes(process)
        flood = _LetIn(self, process.port, count) if kind == "let-in" else self._attack(process, kind, count)
        opening: list[_Turn] = []
        while not flood.ready.called:
            opening.append(await self._turn(process, bystander))
        await flood.ready
        held = await self._turns(process, bystander)
        sockets, _ = descriptors(process)
        shed = (await process.metrics())["bookie_connections_shed"]
        await flood.end()
        await bystander.peer.leave()
        await process.end()
        most = max(turn.memory for turn in (*opening, *held[0]))
        return {
            "base_mib": round(base / MIB, 1), "mib_more": round((most - base) / MIB, 1), "sockets": sockets,
            "shed": int(shed), "before": _waits(*before), "opening": _waits(opening), "open": _waits(*held),
        }  # fmt: skip


def _cpu_seconds(process: BookieProcess) -> float:
    """Returns the CPU time of the thread that runs the reactor of a bookie."""
    return int(Path(f"/proc/{process.transport.pid}/schedstat").read_text().split()[0]) / 1e9


def _waits(turns: Sequence[_Turn], cpu: float | None = None) -> dict[str, float]:
    ordered = sorted(turn.seconds for turn in turns)
    if not ordered:
        return {"turns": 0}
    return {
        "turns": len(ordered), "median_ms": round(ordered[len(ordered) // 2] * 1000, 1),
        "p99_ms": round(ordered[len(ordered) * 99 // 100] * 1000, 1),
        **({} if cpu is None else {"cpu_ms": round(cpu / len(ordered) * 1000, 3)}),
    }  # fmt: skip


def _is_slower(figures: dict[str, Any], name: str) -> bool:
    return float(figures["open"][name]) > MOST_TIMES * float(figures["before"][name])


def failures(found: dict[str, Any]) -> list[str]:
    """Names what is over the targets."""
    return [
        *(f"{kind}: memory" for kind, each in found.items() if each["mib_more"] > MOST_MEMORY),
        *(f"{kind}: p99" for kind, each in found.items() if "open" in each and _is_slower(each, "p99_ms")),
        *(f"{kind}: CPU" for kind, each in found.items() if "open" in each and _is_slower(each, "cpu_ms")),
        *(f"{kind}: CPU" for kind, each in found.items() if each.get("longest_wait_cpu_s", 0) > MOST_CPU),
    ]


def main(arguments: list[str]) -> int:
    """Runs what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.floods")
    floods = (("idle", 5000), ("let-in", 5000), ("half-open", 5000), ("long", 2000), ("slow", 500))
    bursts = (("refused", 20), ("updates", 20), ("first-flights", 5000))
    for kind, count in (*floods, *bursts):
        parser.add_argument(f"--{kind}", type=int, default=count, metavar="N", help="connections; 0: leave it out")
    options = parser.parse_args(arguments)
    kinds = {kind: int(getattr(options, kind.replace("-", "_"))) for kind, _ in (*floods, *bursts)}
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-floods-"))
    found: dict[str, Any] = {}

    async def once(reactor: Any) -> None:
        run = Floods(reactor, folder, 0, 1)
        found.update(await run.measure({kind: count for kind, count in kinds.items() if count}))

    try:
        react(lambda reactor: begin(reactor, once(reactor)))  # no process outlives Ctrl-C
    except SystemExit as end:
        if not found:
            return int(end.code or 1)
    finally:
        shutil.rmtree(folder)
    over = failures(found)
    print(json.dumps({**found, "over": over}, indent=1))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One run: a bookie process, peers that send what was drawn, a healthy client beside them, and the verdict."""

import re
import signal
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import attrs
from twisted.internet.defer import Deferred, TimeoutError, gatherResults

from bookkeeper_twisted.codec.runs import AddReplies, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import BookKeeperError, Status
from examples.bookie_process import BookieProcess

from ..integration.peer import Bystander, Peer, descriptors, open_files, resident_bytes
from .frames import KEY
from .model import LEDGERS, Model, content
from .peer import FuzzPeer, operate

WORKERS = 8
"""Connections at a time beside those that linger."""

LINGERING = 20
MIB = 1024 * 1024
GROWTH = 160 * MIB
"""What a run may add to the memory: caches of 24 MiB, the state of the ledgers, and what the allocator keeps of replies
that were not read."""

FILES = 10
"""What a run may add to the files, however long it is: entry logs and the index are opened when they are read."""

_LOOKS = 20
_SERVED_IN = 30.0
_ENDED_IN = 30.0
_READ_IN = 120.0
_P99_IN = 5.0
"""Seconds of the slowest turns of the healthy client, which has two and is beside peers that ask for megabytes."""

_OPTIONS = (
    *("--bookieId=b", "--advertisedAddress=127.0.0.1", "--allowLoopback=true", "--bookiePort=0"),
    *("--httpServerEnabled=true", "--httpServerHost=127.0.0.1", "--httpServerPort=0"),
    *("--dbStorage_writeCacheMaxSizeMb=8", "--dbStorage_readAheadCacheMaxSizeMb=8", "--journalMaxSizeMB=16"),
    *("--flushInterval=2000", "--gcWaitTime=3600000"),
    *("--journalMaxMemorySizeMb=8", "--maxAddsInProgressLimit=300", "--maxReadsInProgressLimit=300"),
)
_NOTHING_LEFT = {
    "bookkeeper_server_ADD_ENTRY_IN_PROGRESS": 0.0, "bookkeeper_server_READ_ENTRY_IN_PROGRESS": 0.0,
    "bookie_connections_active": 1.0, "bookie_connections_pending_bytes": 0.0,
}  # fmt: skip
_WRONG_LINES = re.compile(r"^.*(?:Traceback|#error\]|#critical\]|Unhandled|unforeseen).*(?:\n.*){0,25}", re.MULTILINE)


@attrs.frozen
class Outcome:
    """What a run has shown.

    :ivar figures: by name, for the reader.
    :ivar problems: what was wrong; none in a good run.
    """

    figures: dict[str, Any]
    problems: Sequence[str]


class Run:
    """One run in an empty folder.

    :param operations: connections that are made.
    :param seed: of everything that is drawn; the order in which the bookie gets it depends on the machine, too.
    :ivar options: of the bookie.
    :ivar figures: more of the outcome.
    """

    options: tuple[str, ...] = _OPTIONS

    def __init__(self, reactor: Any, folder: Path, operations: int, seed: int) -> None:
        self.reactor = reactor
        self._folder = folder
        self._names: Iterator[str] = (f"{seed}-{number}" for number in range(operations))
        self._operations = operations
        self.model = Model()
        self.lingering: list[FuzzPeer] = []
        self._served: list[float] = []
        self._done = False
        self.figures: Counter[str] = Counter()

    async def run(self) -> Outcome:
        """Fuzz, judge, restart, and read again what was acknowledged."""
        process = await self._start()
        bystander = Bystander(await self.connect(process.port))
        await bystander.is_served()
        await self._begin_ledgers(process.port)
        await bystander.is_served()
        await bystander.is_served()
        before, memory = descriptors(process), resident_bytes(process)
        healthy = Deferred.fromCoroutine(self._serve(bystander))
        await gatherResults([Deferred.fromCoroutine(self._work(process.port)) for _ in range(WORKERS)])
        await gatherResults([peer.leave() for peer in self.lingering])
        self._done = True
        await healthy
        growth = 0
        if process.status is None and not self.model.problems.get("the healthy client"):
            growth = await self._judge(process, bystander, before, memory)
            await self._read_in_time(process.port, "")
        await bystander.peer.leave()
        await self._end(process)
        if process.status == 0:
            process = await self._start()
            await self._read_in_time(process.port, " after a restart")
            await self._end(process)
        return self._outcome(growth)

    async def connect(self, port: int) -> Peer:
        """A connection of a healthy client."""
        return await Peer.connect(self.reactor, port)

    async def operate(self, port: int, name: str) -> None:
        """One connection of another peer.

        :param name: the seed of what it does.
        """
        await operate(self.reactor, port, self.model, name, self.lingering)

    async def _start(self) -> BookieProcess:
        return await BookieProcess.start(self.reactor, str(self._folder), *self.options).serving

    async def _begin_ledgers(self, port: int) -> None:
        """The ledgers of the model get their key from an entry each: from then on no other key opens them."""
        peer = await self.connect(port)
        for ledger_id in LEDGERS:
            peer.send(requests_out.encode_adds(KEY, EntryRun.of_entries(ledger_id, 0, [content(ledger_id, 0)])))
            replies = cast(list[AddReplies], await peer.take(1))
            assert replies[0].status is Status.EOK, replies[0].status
        self.model.heard([AddReplies(Status.EOK, LEDGERS, [0] * len(LEDGERS))])
        await peer.leave()

    async def _serve(self, bystander: Bystander) -> None:
        """The healthy client adds and reads all the time; each answer has to come."""
        while not self._done:
            began = self.reactor.seconds()
            try:
                await Deferred.fromCoroutine(bystander.is_served()).addTimeout(_SERVED_IN, self.reactor)
            except Exception as error:
                self.model.wrong("the healthy client", repr(error))
                return
            self._served.append(self.reactor.seconds() - began)

    async def _work(self, port: int) -> None:
        for name in self._names:
            if self.model.problems:
                return
            try:
                await self.operate(port, name)
            except (OSError, BookKeeperError) as error:
                self.model.wrong("a connection was refused", f"{name}: {error!r}")
                return
            while len(self.lingering) > LINGERING:
                await self.lingering.pop(0).leave()

    # -- the verdict --

    async def _judge(self, process: BookieProcess, bystander: Bystander, before: tuple[int, int], memory: int) -> int:
        """Look at the process; returns how much memory it has taken."""
        looks = []
        for _ in range(_LOOKS):  # at the second one the bookie has seen the end of every connection closed before
            await bystander.is_served()
            looks.append(resident_bytes(process))
        sockets, files = descriptors(process)
        if sockets > before[0] or files > before[1] + FILES:
            text = f"{before} sockets and files before, {(sockets, files)} afterwards: {open_files(process)}"
            self.model.wrong("descriptors", text)
        growth = min(looks) - memory
        if growth > GROWTH:
            self.model.wrong("memory", f"{growth / MIB:.0f} MiB more")
        metrics = await process.metrics()
        for name, expected in _NOTHING_LEFT.items():
            if metrics[name] != expected:
                self.model.wrong(name, f"{metrics[name]:g}, not {expected:g}")
        return growth

    async def _read_in_time(self, port: int, when: str) -> None:
        try:
            await Deferred.fromCoroutine(self._read_back(port, when)).addTimeout(_READ_IN, self.reactor)
        except TimeoutError:
            self.model.wrong(f"reading back{when}", f"it took more than {_READ_IN:g} s")

    async def _read_back(self, port: int, when: str) -> None:
        peer = await self.connect(port)
        for ledger_id, acknowledged in self.model.acknowledged.items():
            entry_ids = sorted(acknowledged)
            for begin in range(0, len(entry_ids), 100):
                part = entry_ids[begin : begin + 100]
                peer.send(requests_out.encode_reads(ledger_id, part))
                replies = cast(list[ReadReply], await peer.take(len(part)))
                found = {reply.entry_id: (reply.status, reply.entry) for reply in replies}
                for entry_id in part:
                    if found.get(entry_id) != (Status.EOK, content(ledger_id, entry_id)):
                        status = found.get(entry_id, ("no answer",))[0]
                        text = f"ledger {ledger_id} entry {entry_id}: {status!r}"
                        self.model.wrong(f"an acknowledged entry{when}", text)
        await peer.leave()

    async def _end(self, process: BookieProcess) -> None:
        try:
            status = await Deferred.fromCoroutine(process.end(signal.SIGTERM)).addTimeout(_ENDED_IN, self.reactor)
        except TimeoutError:
            status = await process.end(signal.SIGKILL)
        output = process.output.decode(errors="replace")
        if status != 0:
            self.model.wrong("the bookie's end", f"status {status}: {output[-1500:]}")
        wrong = _WRONG_LINES.search(output)
        if wrong is not None:
            self.model.wrong("the bookie's log", wrong[0])

    def _outcome(self, growth: int) -> Outcome:
        served = sorted(self._served or [0.0])
        p99 = served[len(served) * 99 // 100]
        if p99 > _P99_IN:
            self.model.wrong("the healthy client", f"p99 of {p99:.1f} s")
        figures = {
            "connections": self._operations,
            "replies": self.model.replies,
            "acknowledged entries": sum(map(len, self.model.acknowledged.values())),
            "healthy client, turns": len(self._served),
            "median, ms": round(statistics.median(served) * 1000, 1),
            "p99, ms": round(p99 * 1000, 1),
            "memory, MiB more": round(growth / MIB),
            **self.figures,
        }
        return Outcome(figures, [f"{kind}: {text}" for kind, text in self.model.problems.items()])

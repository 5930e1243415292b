"""Autorecovery under faults: bookies are lost for good while its processes are killed again and again."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from bookkeeper_twisted.autorecovery.metrics import CheckerMetrics
from bookkeeper_twisted.autorecovery.presence import Presence
from bookkeeper_twisted.autorecovery.replication.checker import CheckerSettings, LedgerChecker
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.throttle import Throttle
from examples.bookie_process import ROOT

from .cluster import ProcessCluster
from .run import Outcome

MIN_BOOKIES = 5
LEDGERS = 60
ENTRIES = 200
SHAPES = ((3, 3, 2), (3, 2, 2), (4, 3, 2), (2, 2, 2))
PROCESSES = 2
"""Processes of autorecovery, each with a candidate for the office of the auditor and a worker."""

_BETWEEN = (0.1, 1.0)
"""Seconds between two kills."""

_PATIENCE = 120.0
"""Seconds after the last kill within which everything must be repaired."""

_TWISTD = "from twisted.scripts.twistd import run; run()"
_OPTIONS = ("--allowLoopback=true", "--openLedgerRereplicationGracePeriod=500", "--rwRereplicateBackoffMs=200")


class AutorecoveryProcess(ProcessProtocol):
    """One life of ``twistd autorecovery``.

    :ivar working: fires when it is at work.
    """

    def __init__(self) -> None:
        self.working: Deferred[None] = Deferred()
        self.output = b""
        self._ended: list[Deferred[None]] = []
        self._gone = False

    @classmethod
    def start(cls, reactor: Any, uri: str, name: str) -> "AutorecoveryProcess":
        """Starts a process whose candidate has a name."""
        process = cls()
        options = (f"--metadataServiceUri={uri}", f"--bookieId={name}", "--advertisedAddress=127.0.0.1", *_OPTIONS)
        command = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "autorecovery", *options]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        reactor.spawnProcess(process, sys.executable, command, env=environ, path=str(ROOT))
        return process

    async def kill(self) -> None:
        """Ends it without warning."""
        if not self._gone:
            self._ended.append(Deferred())
            self.transport.signalProcess(signal.SIGKILL)  # type: ignore[union-attr]
            await self._ended[-1]

    def outReceived(self, data: bytes) -> None:
        self.output = (self.output + data)[-4000:]
        if b"ready: " in self.output and not self.working.called:
            self.working.callback(None)

    errReceived = outReceived

    def processEnded(self, reason: Failure) -> None:
        self._gone = True
        if not self.working.called:
            self.working.errback(RuntimeError(f"autorecovery ended: {self.output.decode()}"))
        for ended in self._ended:
            ended.callback(None)


@attrs.define
class _Counts:
    """What happened in a run."""

    kills: int = 0
    losses: int = 0


class RecoveryRun:
    """One run in an empty folder.

    :param rounds: kills of a process of autorecovery.
    """

    def __init__(self, reactor: Any, folder: Path, bookies: int, rounds: int, seed: int) -> None:
        self._reactor = reactor
        self._cluster = ProcessCluster(reactor, folder, bookies)
        self._rounds = rounds
        self._chance = Random(seed)
        self._processes: list[AutorecoveryProcess] = []
        self._lost: set[str] = set()
        self._ledgers: dict[int, list[bytes]] = {}
        self._counts = _Counts()

    async def run(self) -> Outcome:
        """Play it; no process is left behind."""
        try:
            await self._cluster.start()
            async with await BookKeeper.connect(self._reactor, self._cluster.uri) as client:
                await self._write(client)
                for number in range(PROCESSES):
                    self._processes.append(await self._started(number))
                while self._counts.kills < self._rounds:
                    await self._round(client)
                problems = await self._end(client)
        finally:
            for process in self._processes:
                await process.kill()
            await self._cluster.stop()
        figures = {
            "kills of autorecovery": str(self._counts.kills), "bookies lost": str(self._counts.losses),
            "ledgers": str(len(self._ledgers)), "entries": f"{sum(map(len, self._ledgers.values())):,}",
        }  # fmt: skip
        return Outcome(tuple(problems), figures)

    async def _started(self, number: int) -> AutorecoveryProcess:
        process = AutorecoveryProcess.start(self._reactor, self._cluster.uri, f"autorecovery-{number}")
        await process.working
        return process

    async def _write(self, client: BookKeeper) -> None:
        """Closed ledgers of several shapes."""
        for number in range(LEDGERS):
            writer = await client.create_ledger(*SHAPES[number % len(SHAPES)])
            payloads = [b"%d/%d" % (number, n) * (1 + n % 7) for n in range(ENTRIES)]
            await writer.append_many(payloads)
            await writer.close()
            self._ledgers[writer.ledger_id] = payloads

    async def _round(self, client: BookKeeper) -> None:
        """Lose a bookie if everything is whole, and kill one process of autorecovery."""
        if not [ledger_id async for ledger_id in self._incomplete(client)]:
            await self._lose_bookie()
        await deferLater(self._reactor, self._chance.uniform(*_BETWEEN))
        number = self._chance.randrange(PROCESSES)
        await self._processes[number].kill()
        self._counts.kills += 1
        self._processes[number] = await self._started(number)

    async def _lose_bookie(self) -> None:
        """A bookie never comes back; an empty one joins."""
        names = [name for name in self._cluster.names if name not in self._lost]
        lost = self._chance.choice(names)
        await self._cluster.add(f"b{len(self._cluster.names)}")
        await self._cluster.kill(lost)
        self._lost.add(lost)
        self._counts.losses += 1

    async def _incomplete(self, client: BookKeeper) -> AsyncIterator[int]:
        """Ledgers that name a lost bookie, or are marked."""
        marks: Any = client.metadata.underreplication
        marked = {ledger_id async for ledger_id in marks.marked_ledgers()}
        for ledger_id in self._ledgers:
            segments = (await client.ledger_metadata(ledger_id)).segments
            if ledger_id in marked or any(self._lost.intersection(segment.bookies) for segment in segments):
                yield ledger_id

    async def _end(self, client: BookKeeper) -> list[str]:
        """Wait for the last repair, then look at every replica; what is wrong."""
        until = self._reactor.seconds() + _PATIENCE
        left = [ledger_id async for ledger_id in self._incomplete(client)]
        while left and self._reactor.seconds() < until:
            await deferLater(self._reactor, 0.5)
            left = [ledger_id async for ledger_id in self._incomplete(client)]
        problems = [f"ledger {ledger_id} is not repaired" for ledger_id in left]
        checker = self._checker(client)
        for ledger_id, payloads in self._ledgers.items():
            stored = await client.context.ledgers.read(ledger_id)
            report = await checker.check(ledger_id, stored.value, stored.value.bookies)
            if not report.is_whole:
                problems.append(f"ledger {ledger_id} lacks replicas: {report.damaged}")
            problems += await self._compare(client, ledger_id, payloads)
        return problems

    def _checker(self, client: BookKeeper) -> LedgerChecker:
        limit, context = Throttle(self._reactor, "check"), client.context
        presence = Presence(self._reactor, context.watcher, client.metadata.registration, limit)
        return LedgerChecker(context, presence, limit, CheckerMetrics(Instruments()), CheckerSettings(percentage=100))

    async def _compare(self, client: BookKeeper, ledger_id: int, payloads: list[bytes]) -> list[str]:
        try:
            async with await client.open_ledger(ledger_id) as reader:
                found = [bytes(payload) async for batch in reader.batches() for payload in batch.payloads]
        except BookKeeperError as error:
            return [f"ledger {ledger_id} cannot be read: {error}"]
        return [] if found == payloads else [f"ledger {ledger_id} is not what was written"]

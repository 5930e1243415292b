"""A client that appends in a process of its own, for what other work on the same bookies costs it.

It writes down each second how many appends there were, and their latency: either with some of them always on their way,
which takes all of the machine that is left, or at a fixed rate.
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig

from ..shared.processes import ROOT, end
from .lost_bookies import SIZES, pause, reactor

_AT_ONCE = 100
_TICK = 0.002


@attrs.frozen
class Appended:
    """Appends between two moments: their number a second, and the median of the 99th percentiles of seconds in ms."""

    rate: float
    p99: float


async def append_for_ever(uri: str, size: int, report: Path, rate: float) -> None:
    """Append, and write down each second: when it ended, appends a second, 99th percentile in ms.

    :param rate: appends a second; 0: a hundred are always on their way.
    """
    client = await BookKeeper.connect(reactor, uri, ClientConfig())
    writer = await client.create_ledger(*SIZES)
    latencies: list[float] = []
    payload = bytes(size)

    async def one(began: float) -> None:
        await writer.append(payload)
        latencies.append(time.monotonic() - began)

    async def append_in_turn() -> None:
        while True:
            await one(time.monotonic())

    begun, sent = time.monotonic(), 0

    def send() -> None:
        nonlocal sent
        due = (time.monotonic() - begun) * rate
        while sent < due:  # latency counts from when it was due
            Deferred.fromCoroutine(one(begun + sent / rate))
            sent += 1

    running: list[Deferred[Any]]
    if rate:
        running = [LoopingCall(send).start(_TICK)]
    else:
        running = [Deferred.fromCoroutine(append_in_turn()) for _ in range(_AT_ONCE)]
    with report.open("a") as out:
        while not any(work.called for work in running):
            latencies.clear()
            began = time.monotonic()
            await pause(1.0)
            found, now = sorted(latencies), time.monotonic()
            late = found[int(len(found) * 0.99)] * 1000 if found else 0.0
            out.write(f"{now} {len(found) / (now - began)} {late}\n")
            out.flush()


class Appends:
    """That client as a process.

    :ivar pid: of the process.
    """

    def __init__(self, pid: int, report: Path) -> None:
        self.pid = pid
        self._report = report

    async def begun(self) -> None:
        """Wait until it appends."""
        while not self._report.exists() or not self._report.read_text():
            await pause(0.2)

    def between(self, since: float, until: float) -> Appended:
        """What there was in the whole seconds between two moments."""
        rows = [tuple(map(float, line.split())) for line in self._report.read_text().splitlines()]
        seconds = [row for row in rows if since + 1 <= row[0] <= until]
        return Appended(median(row[1] for row in seconds), median(row[2] for row in seconds))


@contextlib.contextmanager
def appends(uri: str, size: int, report: Path, rate: float) -> Iterator[Appends]:
    """Run that client.

    :param rate: appends a second; 0: a hundred are always on their way.
    """
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks", "rereplication", "--append-to", uri, "--report", str(report),
               "--size", str(size), "--append-rate", str(rate)]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT)
    try:
        yield Appends(process.pid, report)
    finally:
        end(process)

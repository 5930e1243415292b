"""``python -m benchmarks buffers``: claim logs against other ways to queue messages, with targets beside the figures.

Figures are ratios of CPU time in this process: the ways take turns, and the best of each counts.

Some bars were set for what is gone, or on another machine.  They stay beside the figures; a row that misses such a bar
says why (:data:`REASONS`), and is no failure.  The figures of older trees there are of 2 cores, 2026-11-22, commit
c2b9082, by this command.
"""

import argparse
import gc
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import attrs

from ..shared.processes import ROOT
from . import buffer_paths as paths
from .allocations import allocation_rows
from .buffer_sockets import socket_rows
from .buffer_threads import thread_rows
from .buffer_writer import writer_rows

ROUND = 1000
_ROUNDS = 20
_STEADY = 200_000


REASONS = {
    "a write for each message / shared log": "set for the log of a single thread, which had 2.7 and is gone",
    "a Deferred and a write for each / shared log": "set for the log of a single thread, which had 17 and is gone",
    "user copies of a byte, slow peer: direct, several batches a block":
        "a block is joined once, so that one system call takes it; it was 2.95",
    "4 threads: a call from a thread for each / shared log": "set on another machine; it was 11.7 here",
    "shared: allocator calls of an offer, 25 B":
        "the position behind the frame and the place in the memory block are integers; it was 2 as well",
}  # fmt: skip
"""By row: why it may miss its bar."""


@attrs.frozen
class Row:
    """A line of the table.

    :ivar bar: the target, a bound from above or, if ``at_least``, from below; infinite where there is none.
    """

    name: str
    bar: float
    figure: float
    at_least: bool = False

    @property
    def good(self) -> bool:
        """Whether the target is reached."""
        return self.figure >= self.bar if self.at_least else self.figure <= self.bar

    def __str__(self) -> str:
        bound = "" if math.isinf(self.bar) else f"{'>=' if self.at_least else '<='} {self.bar:g}"
        missed = "" if self.good else ": ".join(["missed", *filter(None, [self.reason])])
        return f"{self.name:66} {bound:>8} {self.figure:9.2f}  {missed}"

    @property
    def reason(self) -> str:
        """Why the row may miss its bar, empty if it may not."""
        return REASONS.get(self.name, "")


def best(rounds: int, ways: Sequence[Callable[[], None]]) -> list[float]:
    """Least CPU seconds of each way; they take turns."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, taken in zip(ways, times, strict=True):
            gc.collect()
            start = time.process_time()
            way()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


def _way(path: paths.Path, payloads: Sequence[bytes]) -> Callable[[], None]:
    offer, drain = path

    def run() -> None:
        for _ in range(_ROUNDS):
            for payload in payloads:
                offer(payload)
            drain()

    return run


def _payloads(kind: str) -> list[bytes]:
    chance = random.Random(1)
    sizes = {"25 B": [25] * ROUND, "1000 B": [1000] * ROUND, "variable": chance.choices(range(10, 41), k=ROUND)}
    return [bytes(size) for size in sizes[kind]]


def encode_rows(rounds: int) -> Iterator[Row]:
    """One thread, encoding and draining only."""
    bars = {"25 B": 1.25, "variable": 1.4, "1000 B": 1.0}
    for kind, bar in bars.items():
        payloads = _payloads(kind)
        ways = [paths.joined(), paths.shared(), paths.objects_and_deferreds()]
        join, shared, objects = best(rounds, [_way(path, payloads) for path in ways])
        yield Row(f"shared log, one thread / join, {kind}", bar, shared / join)
        if kind == "25 B":
            yield Row("object and Deferred / shared log", 6, objects / shared, at_least=True)


def memory_rows() -> Iterator[Row]:
    """What is held and what is left behind."""
    payloads = _payloads("25 B")
    offer, drain = paths.shared()
    for payload in payloads:
        offer(payload)
    drain()
    gc.collect()
    before = sys.getallocatedblocks()
    for payload in payloads:
        offer(payload)
    held = (sys.getallocatedblocks() - before) / ROUND
    drain()
    gc.collect()
    before, collections = sys.getallocatedblocks(), gc.get_stats()[0]["collections"]
    for _ in range(_STEADY // ROUND):
        for payload in payloads:
            offer(payload)
        drain()
    yield Row(f"shared: gen-0 collections in {_STEADY} messages", 0, gc.get_stats()[0]["collections"] - collections)
    yield Row("shared: blocks held by a pending message", 0.02, held)
    yield Row(f"shared: blocks left by {_STEADY} messages", 50, sys.getallocatedblocks() - before)


def main(arguments: Sequence[str]) -> int:
    """Prints the table; the status says whether all targets are reached that may not be missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks buffers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each way (9)")
    parser.add_argument("--stress", type=int, metavar="OFFERS", help="also threads against a sender, OFFERS each")
    parser.add_argument("--seed", type=int, default=1, help="of the stress (1)")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for part in (
        memory_rows(), encode_rows(options.rounds),
        (Row(*row) for row in socket_rows(options.rounds, best)), (Row(*row) for row in thread_rows(options.rounds)),
        (Row(*row) for row in writer_rows(options.rounds)),
        (Row(*row) for row in allocation_rows({kind: _payloads(kind) for kind in ("25 B", "variable")})),
    ):  # fmt: skip
        for row in part:
            rows.append(row)
            print(row, flush=True)
    if options.stress:
        words = [str(options.stress), "--seed", str(options.seed)]
        subprocess.run([sys.executable, "-m", "tests.client.stress", *words], cwd=ROOT, check=True)
    return 0 if all(row.good or row.reason for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

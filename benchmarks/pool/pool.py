"""``python -m benchmarks pool``: many flows over few sockets, with targets beside the figures.

Rates, CPU and memory are those of the client alone: the bookie is another process that confirms everything at once.
Ways that are compared take turns, and the best round of each counts.

How many times the requests of own sockets shared ones take depends on the host.  Where a processor is idle, the bookie
answers own sockets on it while the client goes on, so that their rate is bounded by the client's CPU for a request
(some 12 us, most of it system calls and turns of the reactor); flows in lockstep on one socket wait for the bookie once
a round, 0.3 to 0.5 us a request of a hundred flows beside their 1.8 us of CPU.  So some 5 times are what two idle
processors have room for.  Where all processors are busy, the bookie's work for own sockets counts as well, and the
ratio is up to twice as high.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ..buffers.buffers import Row
from . import pool_loads as loads
from .pool_cases import case_rows

_reactor: Any = reactor


async def load_rows(rounds: int, scale: float) -> list[loads.Row]:
    """Everything that takes a network."""
    with loads.answering() as bookie_id:
        rows = await loads.sharing_rows(_reactor, bookie_id, rounds, scale)
        rows += await loads.memory_rows(_reactor, bookie_id, scale)
        return rows + await loads.ledger_rows(_reactor, bookie_id, rounds, scale)


def _run(rounds: int, scale: float) -> list[loads.Row]:
    """Runs the reactor until the rows are there."""
    results: list[list[loads.Row] | Failure] = []

    def begin() -> None:
        Deferred.fromCoroutine(load_rows(rounds, scale)).addBoth(results.append).addBoth(lambda _: _reactor.stop())

    _reactor.callWhenRunning(begin)
    _reactor.run()
    (result,) = results
    if isinstance(result, Failure):
        result.raiseException()
    return result


def _rows(rounds: int, scale: float) -> Iterator[Row]:
    yield from (Row(*row) for row in case_rows())
    yield from (Row(*row) for row in _run(rounds, scale))


def main(arguments: Sequence[str]) -> int:
    """Prints the table; the status says whether all targets are reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks pool", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each way (9)")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies requests and ledgers (1.0)")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for row in _rows(options.rounds, options.scale):
        rows.append(row)
        print(row, flush=True)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

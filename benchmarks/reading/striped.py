"""``python -m benchmarks striped``: how fast ledgers are read whose entries are on some bookies of their ensemble only.

Five bookies run as processes on loopback.  Ledgers of each kind of ensemble (``E3 W2``: three bookies, each entry on
two of them) are read whole by the plain client, in turn, round by round: when they are fresh, when each bookie has
flushed its write cache, and when the bookies were started again.  The plain client reads ``E3 W3`` by batches, the
others entry by entry: ``E3 W3 by entries`` is read as they are.  Prints one line of JSON for each kind of bookie: for
each state and kind of ledger the entries a second of the median round, and the medians of the ratios of a round to
``E3 W3 by entries`` (``ratio``) and to ``E3 W3`` (``of_batches``).  ``--apache`` has Apache's bookies do the same
afterwards, with this client.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bookkeeper_twisted.client import BookKeeper, LedgerReader
from bookkeeper_twisted.config.client import ClientConfig

from ..recovery.lost_bookies import OURS, Cluster, pause, reactor, run_on_cluster, show
from ..shared.apache import ZooKeeper

_N_BOOKIES = 5
_PASSWORD = b"striped"
_AT_ONCE = 10_000
_APACHE_FLUSH = 21  # seconds: two of its intervals of 10
_WHOLE = "E3 W3"
_SINGLE = f"{_WHOLE} by entries"
KINDS = {_WHOLE: (3, 3), _SINGLE: (3, 3), "E3 W2": (3, 2), "E3 W1": (3, 1), "E5 W2": (5, 2)}
"""Ensemble size and write quorum."""

Rates = Mapping[str, Sequence[float]]
"""Entries a second of each round, by kind."""


def ratios(rates: Rates, busy: Rates) -> dict[str, dict[str, float]]:
    """Return the median rate of each kind, and its ratios to ledgers whose entries are on all bookies.

    :param busy: seconds of CPU of the bookies an entry.
    """

    def to(other: str, kind: str) -> float:
        return round(median(rate / each for rate, each in zip(rates[kind], rates[other], strict=True)), 3)

    return {
        kind: {
            "rate": round(median(found)),
            "ratio": to(_SINGLE, kind),
            "of_batches": to(_WHOLE, kind),
            "cpu_us": round(1e6 * median(busy[kind]), 2),
        }
        for kind, found in rates.items()
    }


async def _write(client: BookKeeper, ensemble: int, write: int, entries: int, size: int) -> int:
    ledger = await client.create_ledger(ensemble, write, min(write, 2), password=_PASSWORD)
    for at in range(0, entries, _AT_ONCE):
        await ledger.append_many([bytes(size)] * min(_AT_ONCE, entries - at))
    await ledger.close()
    return ledger.ledger_id


async def _read(reader: LedgerReader, entries: int) -> float:
    """Read a ledger whole, and return the entries a second."""
    began = time.perf_counter()
    for first in range(0, entries, _AT_ONCE):
        found = await reader.read(first, min(first + _AT_ONCE, entries) - 1)
        if len(found) != min(_AT_ONCE, entries - first):
            raise ValueError(f"{len(found)} entries from {first} on")
    return entries / (time.perf_counter() - began)


async def _rounds(
    cluster: Cluster, ledgers: Mapping[str, int], rounds: int, entries: int
) -> dict[str, dict[str, float]]:
    uri = cluster.uri
    client = await BookKeeper.connect(reactor, uri, ClientConfig())
    single = await BookKeeper.connect(reactor, uri, ClientConfig(batch_read_enabled=False))
    readers = {}
    for kind, ledger_id in ledgers.items():
        reading = single if kind == _SINGLE else client
        readers[kind] = await reading.open_ledger(ledger_id, password=_PASSWORD)
    rates: dict[str, list[float]] = {kind: [] for kind in ledgers}
    busy: dict[str, list[float]] = {kind: [] for kind in ledgers}
    for _ in range(rounds):
        for kind, reader in readers.items():
            before = cluster.cpu_seconds()
            rates[kind].append(await _read(reader, entries))
            busy[kind].append((cluster.cpu_seconds() - before) / entries)
    await client.close()
    await single.close()
    return ratios(rates, busy)


async def _flushed(cluster: Cluster) -> None:
    if cluster.kind != OURS:  # its metrics need a provider that is not among its jars
        await pause(_APACHE_FLUSH)
        return
    while cluster.total("bookie_write_cache_count"):
        await pause(0.5)
    await pause(1)  # what was taken from the write caches is in entry logs


async def measure(options: argparse.Namespace, cluster: Cluster) -> None:
    """Print the rates in all states."""
    found: dict[str, Any] = {}
    client = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    ledgers = {kind: await _write(client, *sizes, options.entries, options.size) for kind, sizes in KINDS.items()}
    await client.close()
    found["fresh"] = await _rounds(cluster, ledgers, options.rounds, options.entries)
    await _flushed(cluster)
    found["flushed"] = await _rounds(cluster, ledgers, options.rounds, options.entries)
    for port in cluster.ports:
        cluster.kill(port)
        cluster.start(port)
    found["restarted"] = await _rounds(cluster, ledgers, options.rounds, options.entries)
    show("striped", bookies=cluster.kind, **found)


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks striped", description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000, help="of each ledger (100,000)")
    parser.add_argument("--size", type=int, default=100, help="bytes of an entry (100)")
    parser.add_argument("--rounds", type=int, default=5, help="of each state (5)")
    parser.add_argument("--directory", default="/var/tmp", help="where the files are made")
    parser.add_argument("--apache", nargs="?", const=Path(), type=Path, metavar="JARS",
                        help="beside Apache's bookies; a folder of its jars, else through Maven")  # fmt: skip
    options = parser.parse_args(arguments)

    async def work(_: Path, cluster: Cluster) -> None:
        await measure(options, cluster)

    if options.apache is not None:
        # A process has one reactor, which runs once.
        command = [sys.executable, "-m", "benchmarks", "striped", *arguments]
        ours = [word for word in command if word != "--apache" and word != str(options.apache)]
        subprocess.run(ours, check=True)
        jars = options.apache if options.apache != Path() else None
        return run_on_cluster(work, ZooKeeper.start(jars), options.directory, _N_BOOKIES, apache=True)
    return run_on_cluster(work, directory=options.directory, n_bookies=_N_BOOKIES)

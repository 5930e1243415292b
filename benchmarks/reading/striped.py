"""``python -m benchmarks striped``: how fast ledgers are read whose entries are on some bookies of their ensemble only.

Five bookies run as processes on loopback.  Ledgers of each kind of ensemble (``E3 W2``: three bookies, each entry on
two of them) are read whole by the plain client, in turn, round by round: when they are fresh, when each bookie has
flushed its write cache, and when the bookies were started again.  The plain client reads ``E3 W3`` by batches, the
others entry by entry: ``E3 W3 by entries`` is read as they are.  Prints a line of JSON for each kind of bookie: for
each state and kind of ledger the entries a second of the median round, and the medians of the ratios of a round to
``E3 W3 by entries`` (``ratio``) and to ``E3 W3`` (``of_batches``).

``--apache`` starts five of Apache's bookies beside ours, which this client reads in turn with ours, ledger by ledger;
our line has the medians of the ratios of a round to theirs (``of_apache``) then.
"""

import argparse
import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import attrs

from bookkeeper_twisted.client import BookKeeper, LedgerReader
from bookkeeper_twisted.config.client import ClientConfig

from ..recovery.lost_bookies import OURS, Cluster, pause, reactor, run_to_end, running_cluster, show
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


def _to(other: Sequence[float], rates: Sequence[float]) -> float:
    """Return the median ratio of the rates of a round to other rates of that round."""
    return round(median(rate / each for rate, each in zip(rates, other, strict=True)), 3)


def ratios(rates: Rates, busy: Rates, apache: Rates | None = None) -> dict[str, dict[str, float]]:
    """Return the median rate of each kind, and its ratios to ledgers whose entries are on all bookies.

    :param busy: seconds of CPU of the bookies an entry.
    :param apache: the rates of Apache's bookies in the same rounds.
    """
    return {
        kind: {
            "rate": round(median(found)),
            "ratio": _to(rates[_SINGLE], found),
            "of_batches": _to(rates[_WHOLE], found),
            "cpu_us": round(1e6 * median(busy[kind]), 2),
            **({} if apache is None else {"of_apache": _to(apache[kind], found)}),
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


@attrs.define
class _Measured:
    """The bookies of one kind, and what was found with them.

    :ivar ledgers: ids by kind of ledger.
    :ivar found: the figures of each state.
    """

    cluster: Cluster
    ledgers: dict[str, int] = attrs.field(factory=dict)
    found: dict[str, dict[str, dict[str, float]]] = attrs.field(factory=dict)

    async def write(self, entries: int, size: int) -> None:
        """Write a ledger of each kind."""
        client = await BookKeeper.connect(reactor, self.cluster.uri, ClientConfig())
        for kind, sizes in KINDS.items():
            self.ledgers[kind] = await _write(client, *sizes, entries, size)
        await client.close()

    async def flushed(self) -> None:
        """Wait until the bookies have written and forgotten what they took."""
        if self.cluster.kind != OURS:  # its metrics need a provider that is not among its jars
            await pause(_APACHE_FLUSH)
            return
        while self.cluster.total("bookie_write_cache_count"):
            await pause(0.5)
        await pause(1)  # what was taken from the write caches is in entry logs

    def restart(self) -> None:
        """Kill the bookies and start them again."""
        for port in self.cluster.ports:
            self.cluster.kill(port)
            self.cluster.start(port)


@attrs.define
class _Reading:
    """The open ledgers of one cluster, and the rates of the rounds so far."""

    cluster: Cluster
    clients: Sequence[BookKeeper]
    readers: Mapping[str, LedgerReader]
    rates: dict[str, list[float]] = attrs.field(factory=lambda: {kind: [] for kind in KINDS})
    busy: dict[str, list[float]] = attrs.field(factory=lambda: {kind: [] for kind in KINDS})

    @classmethod
    async def begin(cls, measured: _Measured) -> "_Reading":
        """Open the ledgers."""
        uri = measured.cluster.uri
        client = await BookKeeper.connect(reactor, uri, ClientConfig())
        single = await BookKeeper.connect(reactor, uri, ClientConfig(batch_read_enabled=False))
        readers = {}
        for kind, ledger_id in measured.ledgers.items():
            reading = single if kind == _SINGLE else client
            readers[kind] = await reading.open_ledger(ledger_id, password=_PASSWORD)
        return cls(measured.cluster, (client, single), readers)

    async def read(self, kind: str, entries: int) -> None:
        """Read one ledger whole."""
        before = self.cluster.cpu_seconds()
        self.rates[kind].append(await _read(self.readers[kind], entries))
        self.busy[kind].append((self.cluster.cpu_seconds() - before) / entries)

    async def end(self) -> None:
        """Close the clients."""
        for client in self.clients:
            await client.close()


async def _rounds(state: str, bookies: Sequence[_Measured], rounds: int, entries: int) -> None:
    readings = [await _Reading.begin(each) for each in bookies]
    for _ in range(rounds):
        for kind in KINDS:
            for reading in readings:
                await reading.read(kind, entries)
    for reading in readings:
        await reading.end()
    apache = readings[1].rates if len(readings) > 1 else None
    for at, (each, reading) in enumerate(zip(bookies, readings, strict=True)):
        each.found[state] = ratios(reading.rates, reading.busy, None if at else apache)


async def measure(options: argparse.Namespace, clusters: Sequence[Cluster]) -> None:
    """Print the rates in all states.

    :param clusters: of our bookies, and of Apache's if they are measured, too.
    """
    bookies = [_Measured(cluster) for cluster in clusters]
    for each in bookies:
        await each.write(options.entries, options.size)
    await _rounds("fresh", bookies, options.rounds, options.entries)
    for each in bookies:
        await each.flushed()
    await _rounds("flushed", bookies, options.rounds, options.entries)
    for each in bookies:
        each.restart()
    await _rounds("restarted", bookies, options.rounds, options.entries)
    for each in bookies:
        show("striped", bookies=each.cluster.kind, **each.found)


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
    with contextlib.ExitStack() as stack:
        ours = running_cluster(directory=options.directory, n_bookies=_N_BOOKIES)
        clusters = [stack.enter_context(ours)[1]]
        if options.apache is not None:
            zookeeper = ZooKeeper.start(options.apache if options.apache != Path() else None)
            theirs = running_cluster(zookeeper, options.directory, _N_BOOKIES, apache=True)
            clusters.append(stack.enter_context(theirs)[1])
        return run_to_end(lambda: measure(options, clusters))

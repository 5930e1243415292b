"""``python -m benchmarks many_ledgers``: adds to one ledger and to many, our bookie and Apache's in turn.

Adds of 100 bytes, 1,000 in flight, to ledgers that were written before: to one; to thousands, each of which gets a run
of 100 in its turn; and to 100,000, each add to another one.  Both bookies have the same memory for entries that are not
in an entry log yet.  Prints one line of JSON: CPU in seconds for a million adds, adds a second and 99th percentile,
each the median of the rounds, of which the first is not counted.
"""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from .apache import NoApacheError, ZooKeeper, start_apache
from .loads import Figures, Generator, measure
from .processes import Bookie, free_port, start_ours
from .stage import OURS
from .workloads import Workload

_APACHE = "java"
_RUN = 100
_FIRST = 1 << 40
_SETTINGS = {
    "dbStorage_writeCacheMaxSizeMb": "128",
    "gcWaitTime": "86400000",
    "minorCompactionInterval": "0",
    "majorCompactionInterval": "0",
    "zkTimeout": "10000",
}
_KEYS = ("cpu", "rate", "p99_ms")


def loads(adds: int, ledgers: int) -> list[Workload]:
    """The loads, each of ``adds`` adds; ``ledgers`` is how many take turns in the last one."""
    return [
        Workload("one", "add", 100, 1000, ledgers, adds),
        Workload("runs", "add", 100, 1000, adds, adds, ledgers=adds // _RUN, run=_RUN),
        Workload("turns", "add", 100, 1000, ledgers, adds, ledgers=ledgers),
    ]


@contextlib.contextmanager
def _bookies(zookeeper: ZooKeeper, directory: Path) -> Iterator[dict[str, Bookie]]:
    with contextlib.ExitStack() as stack:
        found = {}
        for name in (OURS, _APACHE):
            folder, port = directory / name, free_port()
            folder.mkdir()
            root = zookeeper.new_cluster(folder)
            values = {**_SETTINGS, "metadataServiceUri": zookeeper.server.uri(root)}
            serves = zookeeper.registered(root, port)
            if name == OURS:
                found[name] = start_ours(folder, values, port, serves)
            else:
                found[name] = start_apache(name, folder, values, port, serves)
            stack.callback(found[name].stop)
        yield found


def main(arguments: Sequence[str]) -> int:
    """Run and print; returns 2 if Apache's side cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks many_ledgers", description=__doc__)
    parser.add_argument("--adds", type=int, default=300_000, help="of a load (300,000)")
    parser.add_argument("--ledgers", type=int, default=100_000, help="that take turns (100,000)")
    parser.add_argument("--rounds", type=int, default=3, help="that are counted (3)")
    parser.add_argument("--jars", type=Path, default=None, help="folder of Apache's jars (else Maven fetches them)")
    parser.add_argument("--directory", default="/var/tmp", help="where the files are made: the disk that is measured")
    options = parser.parse_args(arguments)
    try:
        zookeeper = ZooKeeper.start(options.jars)
    except NoApacheError as error:
        print(f"no Apache bookie: {error}", file=sys.stderr)
        return 2
    found: dict[str, dict[str, list[Figures]]] = {OURS: {}, _APACHE: {}}
    first = _FIRST
    with (
        contextlib.closing(zookeeper),
        tempfile.TemporaryDirectory(dir=options.directory) as directory,
        _bookies(zookeeper, Path(directory)) as running,
    ):
        for number in range(1 + options.rounds):
            for name, bookie in running.items():
                for load in loads(options.adds, options.ledgers):
                    ledgers = range(first, first := first + load.ledgers)
                    figures = measure(Generator().add(load, [bookie], 2, ledgers), [bookie])
                    if number:
                        found[name].setdefault(load.name, []).append(figures)
    print(json.dumps({name: {load: _medians(each) for load, each in kinds.items()} for name, kinds in found.items()}))
    return 0


def _medians(rounds: Sequence[Figures]) -> Figures:
    return {key: round(median(each[key] for each in rounds), 2) for key in _KEYS}

"""``python -m benchmarks many_ledgers``: adds to one ledger and to many, our bookie and Apache's in turn.

Adds of 100 bytes, 1,000 in flight, to ledgers that were written before: to one; to thousands, each of which gets a run
of 100 in its turn; and to 100,000, each add to another one.  Both bookies have the same memory for entries that are not
in an entry log yet.  Prints one line of JSON: CPU in seconds for a million adds, adds a second and 99th percentile,
each the median of the rounds, of which the first is not counted.  Loads of fewer adds than half of that memory takes
are not worth measuring: what one of them leaves is flushed while the next one is measured.
"""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median

from ..compare.stage import OURS
from ..shared.apache import NoApacheError, ZooKeeper, start_apache
from ..shared.loads import Figures, Generator, measure
from ..shared.processes import Bookie, free_port, start_ours
from ..shared.workloads import Workload
from .scale import loads_of_adds, warm

_APACHE = "java"
_FIRST = 1 << 40
_SETTINGS = {
    "dbStorage_writeCacheMaxSizeMb": "128",
    "gcWaitTime": "86400000",
    "minorCompactionInterval": "0",
    "majorCompactionInterval": "0",
    "zkTimeout": "10000",
}
_KEYS = ("cpu", "rate", "p99_ms")


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
    parser.add_argument("--adds", type=int, default=1_000_000, help="of a load (1,000,000)")
    parser.add_argument("--ledgers", type=int, default=100_000, help="that take turns (100,000)")
    parser.add_argument("--rounds", type=int, default=3, help="that are counted (3)")
    parser.add_argument("--wire", type=int, choices=(2, 3), default=2, help="version of the wire protocol (2)")
    parser.add_argument("--jars", type=Path, default=None, help="folder of Apache's jars (else Maven fetches them)")
    parser.add_argument("--directory", default="/var/tmp", help="where the files are made: the disk that is measured")
    options = parser.parse_args(arguments)
    try:
        zookeeper = ZooKeeper.start(options.jars)
    except NoApacheError as error:
        print(f"no Apache bookie: {error}", file=sys.stderr)
        return 2
    loads = loads_of_adds(options.adds, options.ledgers)
    firsts = count(_FIRST, max(load.ledgers for load in loads.values()))

    def spend(placed: tuple[Bookie, Workload]) -> Figures:
        bookie, load = placed
        first = next(firsts)
        return measure(Generator().add(load, [bookie], options.wire, range(first, first + load.ledgers)), [bookie])

    with (
        contextlib.closing(zookeeper),
        tempfile.TemporaryDirectory(dir=options.directory) as directory,
        _bookies(zookeeper, Path(directory)) as running,
    ):
        placed = {(name, kind): (running[name], load) for name in running for kind, load in loads.items()}
        found = warm(placed, options.rounds, spend)
    print(json.dumps({name: {kind: _medians(found[name, kind]) for kind in loads} for name in running}))
    return 0


def _medians(rounds: Sequence[Figures]) -> Figures:
    return {key: round(median(each[key] for each in rounds), 2) for key in _KEYS}

"""``python -m benchmarks scale``: a bookie with 10 million entries in 100,000 ledgers.

One JSON line for each part: ``start`` (after an orderly stop), ``kill`` (after SIGKILL, with 64 MiB in the journal),
``collect`` (half of the ledgers deleted, collected and compacted), ``cpu`` (adds to one ledger; to thousands, each of
which gets a run of 100 in its turn; to 100,000 in turns, each add another ledger; a round of all three that is not
counted comes first, as the first load of a process costs more than any later one) and ``index`` (its bytes for an entry
in long runs).  Times are from the start of the process until an add is acknowledged, memory is the most the kernel has
counted for the process.

The entries are written into the directories without a network.  With ``--directory`` they stay, and parts can be
measured by themselves, after ``fill``.
"""

import argparse
import contextlib
import json
import re
import sqlite3
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from bookkeeper_twisted.bookie.lifecycle.replay import checkpoint_now
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.metadata.stored_form import stored_form
from bookkeeper_twisted.model import LedgerMetadata, Segment
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import FILE_NAME, SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_dirs import current
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ..shared.loads import Generator, measure
from ..shared.processes import Bookie, free_port, start_ours
from ..shared.restarts import until_writable
from ..shared.workloads import Workload

MIB = 1 << 20
MOST_MIB, CLEAN_SECONDS, KILLED_SECONDS, CPU_RATIO, INDEX_BYTES = 300, 2.0, 3.0, 1.5, 2.0
TURNS = 4
ADDS, RUN = 500_000, 100
"""Measured adds of a round; how many a ledger gets at once where it gets runs."""

_KEY = b"k" * 20
_PROBED = 1 << 40  # ledgers that are written by probes
_SETTINGS = {"compactionRateByEntries": "0", "gcMetadataOpRateLimit": "1000000"}
_UNFLUSHED = {"dbStorage_writeCacheMaxSizeMb": "512", "flushInterval": "3600000", "journalMaxSizeMB": "2048"}
_KILLED = Workload("journal", "add", 1024, 1000, 0, 65_536, ledgers=1000)
_PATIENCE = 600.0

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


def report(part: str, figures: Mapping[str, float], limits: Mapping[str, float]) -> bool:
    """Print figures and their limits.

    :returns: whether no limit is passed.
    """
    held = all(figures[name] <= limit for name, limit in limits.items())
    rounded = {name: round(figure, 3) for name, figure in figures.items()}
    print(json.dumps({"part": part, **rounded, "limits": dict(limits), "held": held}), flush=True)
    return held


@attrs.define
class Place:
    """The directories of the bookie, and its port.

    :ivar entries, ledgers: that are written by :meth:`fill`.
    """

    folder: Path
    entries: int
    ledgers: int
    port: int = 0
    _probes: Iterator[int] = attrs.field(factory=lambda: iter(range(_PROBED + int(time.time()), sys.maxsize)))

    @contextlib.contextmanager
    def bookie(self, settings: Mapping[str, str] = _SETTINGS) -> Iterator[tuple[Bookie, float]]:
        """A bookie while it is needed, and the seconds from its start until it had taken an add."""
        with until_writable(self.port, next(self._probes)) as writable:
            bookie = start_ours(self.folder, settings, self.port)
            try:
                yield bookie, writable()
            finally:
                bookie.stop()

    @property
    def paths(self) -> StorePaths:
        """As :func:`~.processes.common_settings` names them."""
        ledgers = (f"{self.folder}/ledgers",)
        return StorePaths((f"{self.folder}/journal",), ledgers, ledgers)

    def fill(self) -> None:
        """Write the entries, those of a ledger in several turns, and tell metadata of every second ledger."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        (self.folder / "port").write_text(str(self.port))
        start_ours(self.folder, _SETTINGS, self.port).stop()  # cookies, and the tables of the metadata store
        fill(self.paths, self.ledgers, TURNS, self.entries // self.ledgers // TURNS)
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, (f"127.0.0.1:{self.port}",)),))
        with contextlib.closing(sqlite3.connect(self.folder / "metadata.db")) as store, store:
            rows = ((number, 0, stored_form(number, metadata)) for number in range(0, self.ledgers, 2))
            store.executemany("INSERT INTO ledgers VALUES (?, ?, ?)", rows)

    def find(self) -> bool:
        """Use what was filled before, and return whether there is any."""
        port = self.folder / "port"
        if not port.exists():
            return False
        self.port = int(port.read_text())
        return True


def fill(paths: StorePaths, ledgers: int, turns: int, count: int, sizes: Callable[[int], int] = lambda _: 68) -> None:
    """Ledgers in turns, with a checkpoint where the cache is full.

    :param count: entries of a ledger in a turn.
    :param sizes: bytes of an entry behind its ids, by its id.
    """
    fs = RealFileSystem()
    paths.make(fs)
    settings = StorageSettings(log_size_limit=256 * MIB, write_cache_bytes=128 * MIB)
    store = Store.open(fs, paths, SqliteRunIndex.open, 1, b"salt", JournalSettings(), settings)
    store.recover()
    storage, log_marks = store.storage, [journal.durable for journal in store.journals]
    for ledger_id in range(ledgers):
        storage.put_ledger(LedgerRow(ledger_id, _KEY))
    for turn in range(turns):
        for ledger_id in range(ledgers):
            storage.add(_run(ledger_id, turn * count, count, sizes))
            if storage.is_full():
                checkpoint_now(storage, log_marks)
    checkpoint_now(storage, log_marks)
    store.close()


def _run(ledger_id: int, first: int, count: int, sizes: Callable[[int], int]) -> EntryRun:
    ledger, entries = ledger_id.to_bytes(8, "big"), []
    for entry_id in range(first, first + count):
        rest = bytes(sizes(entry_id))
        entries.append(b"".join((ledger, entry_id.to_bytes(8, "big"), max(entry_id - 1, 0).to_bytes(8, "big"), rest)))
    return EntryRun.of_entries(ledger_id, first, entries)


def peak_mib(bookie: Bookie) -> float:
    """The most memory the process has had so far."""
    found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{bookie.process.pid}/status").read_text(), re.M)
    assert found
    return int(found[1]) / 1024


# ---- parts -------------------------------------------------------------------------------------------


def start(place: Place, rounds: int) -> bool:
    """After an orderly stop."""
    return report_starts("start", [_started(place) for _ in range(rounds)], CLEAN_SECONDS)


def kill(place: Place, rounds: int) -> bool:
    """After SIGKILL, when nothing of 64 MiB has been flushed."""
    starts = []
    for number in range(rounds):
        with place.bookie({**_SETTINGS, **_UNFLUSHED}) as (bookie, _):
            first = _PROBED // 2 + number * _KILLED.ledgers
            measure(Generator().add(_KILLED, [bookie], 2, range(first, first + _KILLED.ledgers)), [bookie])
            bookie.kill()
        starts.append(_started(place))
    return report_starts("kill", starts, KILLED_SECONDS)


def _started(place: Place) -> tuple[float, float]:
    """Seconds and the most memory of a start."""
    with place.bookie() as (bookie, took):
        return took, peak_mib(bookie)


def report_starts(part: str, starts: Sequence[tuple[float, float]], most_seconds: float) -> bool:
    """Print starts, each with its seconds and its memory in MiB; returns whether limits are kept."""
    seconds, mib = zip(*starts, strict=True)
    figures = {"seconds": statistics.median(seconds), "slowest_seconds": max(seconds), "peak_mib": max(mib)}
    return report(part, figures, {"seconds": most_seconds, "peak_mib": MOST_MIB})


def collect(place: Place, rounds: int) -> bool:
    """Open, delete half of the ledgers, remove and compact logs."""
    before = _log_bytes(place)
    with place.bookie() as (bookie, _):
        _until_ready(bookie)
        begun = time.monotonic()
        api = f"http://127.0.0.1:{bookie.http_port}/api/v1/bookie/gc"
        urllib.request.urlopen(urllib.request.Request(api, b'{"forceMajor": true}', method="PUT"), timeout=10).close()
        while (state := _progress(api))["forced"] and time.monotonic() - begun < _PATIENCE:
            time.sleep(0.2)
        figures = {
            "seconds": time.monotonic() - begun, "peak_mib": peak_mib(bookie), "failures": state["failures"],
            "deleted_ledgers": state["deletedLedgers"], "log_mib_before": before / MIB,
        }  # fmt: skip
    figures |= {"log_mib_after": _log_bytes(place) / MIB}
    return report("collect", figures, {"peak_mib": MOST_MIB, "failures": 0, "log_mib_after": before / MIB * 0.6})


def _until_ready(bookie: Bookie) -> None:
    """Waits until it is registered: it takes adds some milliseconds before, and refuses collections until then."""
    url, begun = f"http://127.0.0.1:{bookie.http_port}/api/v1/bookie/is_ready", time.monotonic()
    while time.monotonic() - begun < _PATIENCE:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except urllib.error.HTTPError:
            time.sleep(0.01)


def _progress(api: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{api}/progress", timeout=10) as answer:
        found: dict[str, float] = json.load(answer)
    return found


def _log_bytes(place: Place) -> int:
    return sum(path.stat().st_size for path in Path(current(place.paths.ledgers[0])).glob("*.log"))


def cpu(place: Place, rounds: int) -> bool:
    """CPU seconds for a million adds of 100 bytes, 1,000 in flight, each ledger written before.

    The requests are the same, sent and answered alike; what differs is how often the next one is of another ledger.
    The first round is not counted: its first load bears the cost of a cold process, which would flatter the ratios.
    """
    loads = loads_of_adds(ADDS, place.ledgers)
    with place.bookie() as (bookie, _):
        first = iter(range(2 * _PROBED + (int(time.time()) << 22), sys.maxsize, max(ADDS, place.ledgers)))

        def spend(load: Workload) -> float:
            at = next(first)
            return measure(Generator().add(load, [bookie], 2, range(at, at + load.ledgers)), [bookie])["cpu"]

        spent = warm(loads, rounds, spend)
        peak = peak_mib(bookie)
    figures = {name: statistics.median(found) for name, found in spent.items()}
    ratios = {f"{name}_ratio": figures[name] / figures["one"] for name in ("runs", "turns")}
    return report("cpu", {**figures, **ratios, "peak_mib": peak}, dict.fromkeys(ratios, CPU_RATIO))


def loads_of_adds(adds: int, ledgers: int) -> dict[str, Workload]:
    """Return adds to one ledger, to thousands which get runs in turns, and to ``ledgers``, each add to another one.

    :param adds: of each load.
    """
    return {
        "one": Workload("one ledger", "add", 100, 1000, ledgers, adds),
        "runs": Workload("runs", "add", 100, 1000, adds, adds, ledgers=adds // RUN, run=RUN),
        "turns": Workload("in turns", "add", 100, 1000, ledgers, adds, ledgers=ledgers),
    }


def warm(loads: Mapping[K, V], rounds: int, spend: Callable[[V], T]) -> dict[K, list[T]]:
    """Measure loads in turns, in one round more than is counted: the first only warms the process.

    :param spend: returns what a load costs.
    :returns: the costs of each load by its name.
    """
    costs = [{name: spend(load) for name, load in loads.items()} for _ in range(1 + rounds)]
    return {name: [cost[name] for cost in costs[1:]] for name in loads}


def index(place: Place, rounds: int) -> bool:
    """Bytes of the index for an entry: a million entries, 10,000 of a ledger at once."""
    figures = {}
    for name, sizes in (("even", lambda _: 68), ("uneven", lambda entry_id: 60 + entry_id % 16)):
        with tempfile.TemporaryDirectory(dir=place.folder) as folder:
            ledgers = (f"{folder}/ledgers",)
            fill(StorePaths((f"{folder}/journal",), ledgers, ledgers), 10, 10, 10_000, sizes)
            figures[name] = Path(current(ledgers[0]), FILE_NAME).stat().st_size / 1_000_000
    return report("index", figures, dict.fromkeys(figures, INDEX_BYTES))


PARTS: dict[str, Callable[[Place, int], bool]] = {
    "start": start, "kill": kill, "cpu": cpu, "index": index, "collect": collect,
}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run and print.

    :returns: the exit status: 1 if a limit is passed.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"fill, {', '.join(PARTS)}; all if left out")
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--ledgers", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3, help="of starts and adds; medians count")
    parser.add_argument("--directory", type=Path, default=None, help="where the bookie is kept, for further parts")
    options = parser.parse_args(arguments)
    parts = options.parts or ["fill", *PARTS]
    if unknown := set(parts) - {"fill", *PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        place = Place(options.directory or Path(temporary), options.entries, options.ledgers)
        if "fill" in parts:
            place.fill()
        elif not place.find():
            parser.error(f"nothing was filled in {place.folder}: name fill, or the --directory of an earlier fill")
        held = [measured(place, options.rounds) for part, measured in PARTS.items() if part in parts]
    return 0 if all(held) else 1

"""Bookies of both sides beside each other, and how each kind of workload is run on one of them."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from ..shared.apache import NO_COLLECTION, ZooKeeper, java_client_command, start_apache
from ..shared.certificates import make_files
from ..shared.loads import Figures, Generator, Ledgers, measure
from ..shared.processes import ROOT, Bookie, free_port, launch, python_of, start_ours
from ..shared.restarts import until_writable
from ..shared.workloads import Workload
from .raw_writes import raw_seconds
from .targets import PLAIN, RAW

OURS = "ours"
OLD = "old"
"""Our bookie, and our client, of another source tree."""

TAIL_RATE = 2000
"""Entries a second of the writer that is followed."""

_SETTLE = 25.0
_IDLE = 3.0
_LOOK, _IDLE_SHARE, _MOST_SETTLING = 0.25, 0.1, 10.0
"""Seconds between two looks at CPU times; share of a core below which bookies idle; most seconds of all looks."""

_WARM = (Workload("", "add", 100, 1000, 0, 200_000), Workload("", "add", 1024, 1000, 0, 200_000),
         Workload("", "add", 1024, 1000, 0, 200_000, wire=3))  # fmt: skip


@attrs.define
class Place:
    """Where a bookie lives: its files, its port, its cluster.  It survives the bookie.

    :ivar tls: whether it offers TLS.
    """

    name: str
    folder: Path
    root: str
    tls: bool = False
    port: int = attrs.field(factory=free_port)


class Stage:
    """See the module.

    :param folder: on the disk that is measured; it grows to some GB.
    :param scale: of the work, against what the workloads say.
    :param old: the source tree of :data:`OLD`.
    """

    def __init__(
        self, folder: Path, zookeeper: ZooKeeper, generator: Generator, scale: float, old: Path = ROOT
    ) -> None:
        self._folder = folder
        self._zookeeper = zookeeper
        self._generator = generator
        self._scale = scale
        self._trees = {OURS: ROOT, OLD: old}
        self._ledgers = Ledgers(scale)
        self._standing: dict[tuple[str, bool], tuple[Place, Bookie]] = {}
        self._tls = make_files(folder / "tls")
        self._client_ledgers: dict[str, int] = {}
        self._kinds: dict[str, Callable[[str, Workload], Figures]] = {
            "add": self._add, "long": self._long, "read": self._read, "batch": self._read, "group": self._group,
            "client": self._client, "tail": self._tail, "restart": self._restart, "start": self._start,
        }  # fmt: skip

    def run(self, name: str, workload: Workload) -> Figures:
        """One run of a workload on our bookie, on the old one, or in the configuration of that name."""
        return self._kinds[workload.kind](name, workload.scaled(self._scale))

    def prepare(self, name: str, workload: Workload) -> None:
        """Starts and warms what a workload needs, so that its first round is like the others."""
        if workload.kind in ("add", "read", "batch", "client", "tail"):
            bookie = self.bookie(name, workload.tls)
            before = len(self._client_ledgers), self._ledgers.n_filled
            if workload.kind in ("read", "batch"):
                self._ledgers.filled(bookie, workload.size, self._filler(workload))
            elif workload.kind == "client":
                self._fill_by_client(name, workload)
            if before != (len(self._client_ledgers), self._ledgers.n_filled):
                time.sleep(_SETTLE * min(self._scale, 1.0))  # until it has been flushed to the ledger storage

    def settle(self) -> None:
        """Waits until no standing bookie works on what its last load left, so that the next one does not pay for it.

        All bookies stand at once, and flush, compile and collect garbage for some seconds after a load.
        """
        bookies = [bookie for _, bookie in self._standing.values()]
        end, before = time.monotonic() + _MOST_SETTLING, sum(bookie.cpu_seconds() for bookie in bookies)
        while time.monotonic() < end:
            time.sleep(_LOOK)
            now = sum(bookie.cpu_seconds() for bookie in bookies)
            if now - before < _IDLE_SHARE * _LOOK:
                break
            before = now

    def bookie(self, name: str, tls: bool = False) -> Bookie:
        """The standing bookie of that name; started and warmed at first use.

        :param name: :data:`RAW`: a server of bare calls, which has nothing to warm.
        :param tls: one that offers TLS, and was warmed within it; :data:`PLAIN` is our own then.
        """
        key = OURS if name == PLAIN else name, tls
        if key not in self._standing:
            place = self._place(*key)
            bookie = self._launch(place)
            self._standing[key] = place, bookie
            for workload in _WARM if name != RAW else ():
                self._warm(bookie, attrs.evolve(workload, tls=tls).scaled(self._scale))
        return self._standing[key][1]

    def close(self) -> None:
        """Ends all bookies."""
        while self._standing:
            self._standing.popitem()[1][1].stop()

    # ---- bookies

    def _place(self, name: str, tls: bool = False, root: str = "") -> Place:
        port = free_port()
        folder = self._folder / f"{name}-{port}"
        return Place(name, folder, root or self._zookeeper.new_cluster(self._folder), tls, port)

    def _launch(self, place: Place) -> Bookie:
        """Starts a bookie, or what stands in its place, and waits until it listens and is registered."""
        if place.name == RAW:
            place.folder.mkdir()
            command = [sys.executable, "-m", "benchmarks.compare.bare_server", str(place.port), str(place.folder)]
            return launch(place.name, command, place.folder, place.port, lambda: True)
        settings = {
            "metadataServiceUri": self._zookeeper.server.uri(place.root), "zkTimeout": "10000",
            "httpServerEnabled": "false", **NO_COLLECTION, **(self._tls.settings() if place.tls else {}),
        }  # fmt: skip
        serves = self._zookeeper.registered(place.root, place.port)
        if place.name in self._trees:
            tree = self._trees[place.name]
            bookie = start_ours(place.folder, settings, place.port, serves, name=place.name, tree=tree)
        else:
            bookie = start_apache(place.name, place.folder, settings, place.port, serves)
        bookie.name += " with TLS" if place.tls else ""
        return bookie

    def _warm(self, bookie: Bookie, workload: Workload) -> None:
        """Lets a compiler see every path before anything is timed."""
        ledger, entries = self._ledgers.fresh(), workload.count
        program = self._program(workload)
        measure(program.add(workload, [bookie], workload.wire, ledger), [bookie])
        reads = attrs.evolve(workload, kind="read", inflight=200, count=entries // 2)
        batches = attrs.evolve(workload, kind="batch", inflight=4, batch=100, count=entries // 100, wire=2)
        for again in (reads, batches):
            measure(program.read(again, bookie, again.wire, ledger.start, entries), [bookie])

    @contextlib.contextmanager
    def _for_now(self, *places: Place) -> Iterator[list[Bookie]]:
        """Bookies that end, and whose files go, with the context."""
        with contextlib.ExitStack() as stack:
            bookies = []
            for place in places:
                stack.callback(shutil.rmtree, place.folder, ignore_errors=True)
                bookies.append(self._launch(place))
                stack.callback(bookies[-1].stop)
            yield bookies

    # ---- kinds of workloads

    def _program(self, w: Workload, name: str = OURS) -> Generator:
        if w.tls and name != PLAIN:
            return Generator(tls=self._tls)
        return self._filler(w)

    def _filler(self, w: Workload) -> Generator:
        """The program that fills ledgers for the readers of a workload; it needs no TLS."""
        return self._generator if w.apache_wire is None and not w.tls else Generator()

    def _wire(self, name: str, w: Workload) -> int:
        return w.wire if name in self._trees or w.apache_wire is None else w.apache_wire

    def _add(self, name: str, w: Workload) -> Figures:
        bookie, ledgers = self.bookie(name, w.tls), self._ledgers.fresh(w.ledgers)
        return measure(self._program(w, name).add(w, [bookie], self._wire(name, w), ledgers), [bookie])

    def _long(self, name: str, w: Workload) -> Figures:
        """Adds of many GiB to a bookie of its own; the kernel's write-back of journal and entry logs counts, too."""
        entries = w.count * w.repeats
        if name == RAW:
            return {"rate": entries / raw_seconds(self._folder / "raw", entries * w.size)}
        with self._for_now(self._place(name)) as (bookie,):
            short, generator = attrs.evolve(w, repeats=1), Generator()
            measure(generator.add(short, [bookie], w.wire, self._ledgers.fresh()), [bookie])  # warm
            os.sync()
            ledger = self._ledgers.fresh(w.repeats)[:1]
            figures = measure(generator.add(w, [bookie], w.wire, ledger), [bookie])
            began = time.monotonic()
            os.sync()
            seconds = entries / figures["rate"] + time.monotonic() - began
        return {"rate": entries / seconds, "cpu": figures["cpu"]}

    def _read(self, name: str, w: Workload) -> Figures:
        bookie, filler = self.bookie(name, w.tls), self._filler(w)
        ledger, entries = self._ledgers.filled(bookie, w.size, filler), self._ledgers.entries(w.size)
        entries = min(w.entries or entries, entries)
        command = self._program(w, name).read(w, bookie, self._wire(name, w), ledger, entries)
        return measure(command, [bookie])

    def _group(self, name: str, w: Workload) -> Figures:
        root = self._zookeeper.new_cluster(self._folder)
        with self._for_now(*(self._place(name, root=root) for _ in range(w.bookies))) as bookies:
            for _ in range(4):  # warm
                ledger = self._ledgers.fresh()
                measure(self._generator.add(attrs.evolve(w, warmup=0), bookies, w.wire, ledger), bookies)
            return measure(self._generator.add(w, bookies, w.wire, self._ledgers.fresh()), bookies)

    def _restart(self, name: str, w: Workload) -> Figures:
        """SIGKILL right after the last acknowledgement, then the time until an add is acknowledged again."""
        place, ledger = self._place(name), self._ledgers.fresh()
        with self._for_now(place) as (bookie,):
            measure(self._generator.add(w, [bookie], w.wire, ledger), [bookie])
            bookie.kill()
            if not w.registered:
                self._zookeeper.forget(place.root, place.port)
            with until_writable(place.port, self._ledgers.fresh().start) as writable, self._for_now(place) as (again,):
                seconds = writable()
                whole = attrs.evolve(w, kind="read", inflight=200)
                measure(self._generator.read(whole, again, w.wire, ledger.start, w.count), [again])
        return {"seconds": seconds}

    def _start(self, name: str, w: Workload) -> Figures:
        """Time to serve, memory without load, memory after adds of 100 B and 1 KiB."""
        with self._for_now(self._place(name)) as (bookie,):
            time.sleep(_IDLE)
            figures = {"seconds": bookie.started, "idle_mib": bookie.resident_mib()}
            for each in (w, attrs.evolve(w, size=1024)):
                measure(self._generator.add(each, [bookie], w.wire, self._ledgers.fresh()), [bookie])
            return {**figures, "loaded_mib": bookie.resident_mib()}

    def _tail(self, name: str, w: Workload) -> Figures:
        bookie = self.bookie(name)
        options = {"size": w.size, "warmup": w.warmup, "count": w.count, "rate": TAIL_RATE}
        return measure(java_client_command(self._uri(name), "tail", **options), [bookie])

    def _client(self, name: str, w: Workload) -> Figures:
        """Our client on our bookie, the Java client on Apache's."""
        bookie = self.bookie(name)
        options = {
            "ledger": self._fill_by_client(name, w), "size": w.size, "warmup": w.warmup, "count": w.count,
            "inflight": w.inflight, "batch": w.batch,
        }  # fmt: skip
        if name in self._trees:
            tree = self._trees[name]
            return measure(self._our_client("batch", name, tree, **options), [bookie], tree)
        return measure(java_client_command(self._uri(name), "batch", **options), [bookie])

    def _uri(self, name: str) -> str:
        return self._zookeeper.server.uri(self._standing[name, False][0].root)

    def _our_client(self, mode: str, name: str, tree: Path = ROOT, **options: int) -> list[str]:
        words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
        is_flat = (tree / "benchmarks" / "our_client.py").exists()  # an older tree, whose benchmarks had no folders
        module = "benchmarks.our_client" if is_flat else "benchmarks.shared.our_client"
        return [python_of(tree), "-m", module, mode, self._uri(name), *words]

    def _fill_by_client(self, name: str, w: Workload) -> int:
        """A closed ledger that clients know, filled now if it was not before; our client writes it on either side."""
        if name not in self._client_ledgers:
            command = self._our_client("fill", name, size=w.size, count=self._ledgers.entries(w.size))
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            self._client_ledgers[name] = int(done.stdout)
        return self._client_ledgers[name]

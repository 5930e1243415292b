"""The disks of the sweep: a simulated one, where the index is no file, and a real one with SQLite.

On the real one the index is checked whole at the start, or, in another sweep, taken for a large one, which is checked
later; there garbage is collected by the damaged index, and the entry logs that are left must still hold everything.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random

from twisted.internet.task import Clock

from bookkeeper_twisted.bookie.maintenance.ledger_collector import Cluster
from bookkeeper_twisted.bookie.maintenance.maintenance import Maintenance
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import run_index
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IFileSystem
from bookkeeper_twisted.storage.ledger_dirs import current
from bookkeeper_twisted.storage.rebuild import rebuild_index

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..maintenance.crash_case import OPTIONS, Ledgers, Locks
from .cases import Case, Places, Tally, Verdict, cases, older_cases
from .stored import LARGE, Bookie, Promises, fill

INDEX_KINDS = ("index", "index log")


def sizes_below(fs: IFileSystem, path: str) -> dict[str, int]:
    """The files below a directory and their sizes."""
    found: dict[str, int] = {}
    for name in fs.list(path):
        inner = f"{path}/{name}"
        if fs.is_directory(inner):
            found.update(sizes_below(fs, inner))
        elif not name.endswith(".sim"):
            file = fs.open(inner)
            found[inner] = file.size()
            file.close()
    return found


def places_of(fs: IFileSystem, root: str) -> Places:
    """Where everything lies."""
    return Places.of(fs, [current(f"{root}/l0"), current(f"{root}/l1")], current(f"{root}/journal"))


def sweep_simulated(count: int, seed: int) -> Tally:
    """Damage every kind of file but the index."""
    disk = SimDisk()
    disk.make_directories("/b")

    def open_bookie(fs: IFileSystem) -> Bookie:
        return Bookie(fs, "/b", SimIndex.open)

    promises = fill(lambda: open_bookie(disk))
    disk.kill()
    places, tally = places_of(disk, "/b"), Tally()
    for case in cases(sizes_below(disk, "/b"), count, Random(seed)):
        copy = disk.crash()
        _judge(case, copy, lambda copy=copy: open_bookie(copy), promises, places, tally)  # type: ignore[misc]
    return tally


def sweep_real(count: int, seed: int, directory: str) -> Tally:
    """Damage the SQLite files of the index, and what lies beside their commits in a write-ahead log.

    :param directory: an empty one, for two copies of the bookie.
    """
    world = _RealWorld(directory)
    for case in world.cases(count, seed):
        _judge(case, world.fs, world.open, world.promises, world.places, world.tally)
    return world.tally


def sweep_collected(count: int, seed: int, directory: str) -> Tally:
    """The same damage of an index that is checked later.

    What the bookie denies while ledgers are deleted, logs removed and compacted is a violation, and so is what is not
    there when the index was made anew from the logs that are left.

    :param directory: an empty one, for two copies of the bookie.
    """
    world = _RealWorld(directory)
    with _large_indexes():
        for case in world.cases(count, seed):
            verdict = _judge(case, world.fs, world.open, world.promises, world.places, world.tally, _collect)
            verdict.expect_all(world.rebuilt(), {LARGE})
    return world.tally


def sweep_older(directory: str) -> Tally:
    """Put an older copy of each file back, with an index that is checked at the start and then with one that is not.

    :param directory: an empty one, for two copies of the bookie.
    """
    world = _RealWorld(directory)
    for is_large in (False, True):
        with _large_indexes() if is_large else nullcontext():
            for case in world.older_cases():
                _judge(case, world.fs, world.open, world.promises, world.places, world.tally, _collect)
    return world.tally


class _RealWorld:
    """A bookie that was filled, and copies of it to be damaged."""

    def __init__(self, directory: str) -> None:
        self.fs, self.tally = RealFileSystem(), Tally()
        self._kept, self._root = f"{directory}/kept", f"{directory}/bookie"
        os.makedirs(self._root)
        self._older: dict[str, bytes] = {}
        self.promises = fill(self.open, lambda: self._older.update(self._contents()))
        shutil.copytree(self._root, self._kept)
        self.places = places_of(self.fs, self._root)

    def open(self) -> Bookie:
        """Start the bookie."""
        return Bookie(self.fs, self._root, SqliteRunIndex.open_to_serve)

    def cases(self, count: int, seed: int) -> Iterator[Case]:
        """Cases of damage, each on a new copy."""
        sizes = sizes_below(self.fs, self._root)
        of_index = {path: size for path, size in sizes.items() if Case(path, "", 0).kind in INDEX_KINDS}
        yield from self._on_copies(cases(of_index, count, Random(seed)))

    def older_cases(self) -> Iterator[Case]:
        """Cases in which a file is as it was before most checkpoints, each on a new copy."""
        self._restore()
        yield from self._on_copies(older_cases(self._older, self._contents()))

    def _on_copies(self, chosen: Iterable[Case]) -> Iterator[Case]:
        for case in chosen:
            self._restore()
            yield case

    def _restore(self) -> None:
        shutil.rmtree(self._root)
        shutil.copytree(self._kept, self._root)

    def _contents(self) -> dict[str, bytes]:
        """The contents of all files, but not of those that SQLite has beside an index while it is open."""
        paths = [path for path in sizes_below(self.fs, self._root) if not path.endswith(("-wal", "-shm"))]
        return {path: Path(path).read_bytes() for path in paths}

    def rebuilt(self) -> Bookie:
        """Start the bookie with indexes that were made anew."""
        for number in range(2):
            path, index_path = current(f"{self._root}/l{number}"), current(f"{self._root}/i{number}")
            rebuild_index(self.fs, path, index_path, SqliteRunIndex.open).index.close()
        return self.open()


@contextmanager
def _large_indexes() -> Iterator[None]:
    """Every index is too large to be checked at the start."""
    before = run_index.CHECKED_WHOLE
    run_index.CHECKED_WHOLE = 0
    try:
        yield
    finally:
        run_index.CHECKED_WHOLE = before


def _collect(bookie: Bookie, promises: Promises, check: Callable[[], None]) -> None:
    """Check the index, forget ledgers, remove and compact logs."""
    deleted = promises.deleted | {LARGE}
    cluster = Cluster("b:1", Ledgers(lambda: deleted), Locks([]), _instance_id, "instance")  # type: ignore[arg-type]
    maintenance = Maintenance(
        bookie.fs, bookie.store.storage, bookie.engine, bookie.executor, Clock(), cluster, OPTIONS
    )
    maintenance.start()
    for _ in range(2):
        check()
        maintenance.collector.force().addErrback(lambda failure: failure.trap(BookKeeperError, OSError))
        bookie.executor.drain()
    check()


async def _instance_id() -> str:
    return "instance"


def _judge(
    case: Case, fs: IFileSystem, open_bookie: Callable[[], Bookie], promises: Promises, places: Places, tally: Tally,
    work: Callable[[Bookie, Promises, Callable[[], None]], None] | None = None,
) -> Verdict:  # fmt: skip
    verdict = Verdict(case, case.apply(fs), promises, places, tally)
    bookie = verdict.start(open_bookie)
    if bookie is not None:
        verdict.check(bookie)
        if work is not None:
            work(bookie, promises, lambda: verdict.check_served(bookie, {LARGE}))
        bookie.close()
    return verdict

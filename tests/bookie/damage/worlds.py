"""The disks of the sweep: a simulated one, where the index is no file, and a real one with SQLite."""

import os
import shutil
from collections.abc import Callable
from random import Random

from bookkeeper_twisted.storage.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IFileSystem
from bookkeeper_twisted.storage.ledger_dirs import current
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk
from bookkeeper_twisted.testing.disk.sim_index import SimIndex

from .cases import Case, Places, Tally, Verdict, cases
from .stored import Bookie, Promises, fill

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
    fs, kept, root = RealFileSystem(), f"{directory}/kept", f"{directory}/bookie"
    os.makedirs(root)

    def open_bookie() -> Bookie:
        return Bookie(fs, root, SqliteRunIndex.open)

    promises = fill(open_bookie)
    shutil.copytree(root, kept)
    sizes = {path: size for path, size in sizes_below(fs, root).items() if Case(path, "", 0).kind in INDEX_KINDS}
    places, tally = places_of(fs, root), Tally()
    for case in cases(sizes, count, Random(seed)):
        shutil.rmtree(root)
        shutil.copytree(kept, root)
        _judge(case, fs, open_bookie, promises, places, tally)
    return tally


def _judge(
    case: Case, fs: IFileSystem, open_bookie: Callable[[], Bookie], promises: Promises, places: Places, tally: Tally
) -> None:
    verdict = Verdict(case, case.apply(fs), promises, places, tally)
    bookie = verdict.start(open_bookie)
    if bookie is not None:
        verdict.check(bookie)
        bookie.close()

"""The power is cut at every operation of a rebuild of the index, by either command of the shell."""

from collections.abc import Callable

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.ledger_rebuild import directory_map_of_logs, journal_states, rebuild_ledgers
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage import rebuild
from bookkeeper_twisted.storage.cookies import DirectoryLocks
from bookkeeper_twisted.storage.interfaces import IFileSystem, IndexFactory, IRunIndex
from bookkeeper_twisted.storage.ledger_dirs import current
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from bookkeeper_twisted.storage.rebuild import rebuild_index

from ...simulated_disk.crash import CrashReport, Facts, enumerate_crashes
from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..crash_life import STORAGE, Life, Parts, run
from .crash_case import MaintainedLife, maintained, maintained_verifier, steps

Rebuild = Callable[[SimDisk, Parts], None]


def rebuild_locations(disk: SimDisk, parts: Parts) -> None:
    """``rebuild-db-ledger-locations-index``."""
    locks = DirectoryLocks(disk, parts.paths.all())
    index_paths = list(map(current, parts.paths.indexes))
    elsewhere = rebuild.known_elsewhere(disk, index_paths, SimIndex.open)
    for path, index_path, others in zip(map(current, parts.paths.ledgers), index_paths, elsewhere, strict=True):
        rebuild_index(disk, path, index_path, SimIndex.open, elsewhere=others).index.close()
    locks.release()


def rebuild_at_start(disk: SimDisk, parts: Parts) -> None:
    """A start with ``rebuildIndex=true``."""
    locks = DirectoryLocks(disk, parts.paths.all())
    directories = list(map(current, parts.paths.ledgers)), list(map(current, parts.paths.indexes))
    settings = attrs.evolve(STORAGE, rebuild_index=True)
    LedgerStorage.open(disk, *directories, settings, SimIndex.open, lambda log_marks: None).close()
    locks.release()


def rebuild_states(disk: SimDisk, parts: Parts) -> None:
    """``rebuild-db-ledgers-index``."""
    locks = DirectoryLocks(disk, parts.paths.all())
    states, directory_map = journal_states(disk, parts.paths), directory_map_of_logs(disk, parts.paths)
    for number in range(len(parts.paths.ledgers)):
        rebuild_ledgers(disk, parts.paths, number, states, directory_map, SimIndex.open).index.close()
    locks.release()


def lived(life: MaintainedLife) -> None:
    """Ledgers that were deleted, compacted, written again and fenced; one is fenced that never had an entry."""
    steps(life, range(3))
    life.fence(2)
    life.fence(9)
    life.drain()
    life.checkpoint()
    life.delete(1, 2)
    life.collect()
    life.add(run(3, 2, 4, size=160), recovery=True)
    life.drain()
    life.checkpoint()
    life.checkpoint()


def in_the_journal(life: MaintainedLife) -> None:
    """Records that the journal alone has."""
    for ledger_id in (3, 4, 6):
        life.add(run(ledger_id, 20, 4))
    life.fence(4)
    life.fence(8)
    life.drain()


def stored_twice(life: MaintainedLife) -> None:
    """Entries in two logs, with other bytes; a compaction moves what is live."""
    steps(life, range(2), (1, 2))
    life.add(run(1, 1, 3, size=160), recovery=True)
    life.drain()
    life.checkpoint()
    life.delete(2)
    life.collect()


def known_later(life: MaintainedLife) -> None:
    """A fence that is in no journal any more, but the ledger has entries."""
    steps(life, range(2), (1, 2, 3))
    life.fence(1)
    life.drain()
    life.checkpoint()


def before_another_joined(life: MaintainedLife) -> None:
    """Ledgers of the time of one directory."""
    steps(life, range(2), (2, 3, 5))


def given_away(life: MaintainedLife) -> None:
    """A directory has joined; old ledgers go to other bookies."""
    steps(life, range(2, 3), (2, 3, 5))
    life.fence(5)
    life.drain()
    life.replace(3)
    life.replace(5)
    life.checkpoint()


def taken_back(life: MaintainedLife) -> None:
    """Replicas of them are lost there, and come back; one that was not fenced lies in the new directory now."""
    for ledger_id in (3, 5):
        life.add(run(ledger_id, 1, 4, size=160), recovery=True)
    life.drain()
    life.checkpoint()


SCRIPTS: dict[str, tuple[tuple[Callable[[MaintainedLife], None], ...], Rebuild, Parts]] = {
    "locations": ((lived, in_the_journal), rebuild_locations, Parts()),
    "locations of two directories": ((lived, in_the_journal), rebuild_locations, Parts(n_journals=2, n_ledger_dirs=2)),
    "locations after a directory joined": (
        (before_another_joined, given_away, taken_back), rebuild_locations, Parts(n_ledger_dirs=2, expands=True),
    ),
    "at a start after a directory joined": (
        (before_another_joined, given_away, taken_back), rebuild_at_start, Parts(n_ledger_dirs=2, expands=True),
    ),
    "locations of copies": ((stored_twice,), rebuild_locations, Parts()),
    "states": ((known_later, in_the_journal), rebuild_states, Parts()),
    "states of two directories": ((known_later, in_the_journal), rebuild_states, Parts(n_ledger_dirs=2)),
}


def rebuilt(lives: Callable[[SimDisk, Facts], None], again: Rebuild, parts: Parts) -> Callable[[SimDisk, Facts], None]:
    """A workload that ends with a rebuild, and a start."""

    def work(disk: SimDisk, facts: Facts) -> None:
        lives(disk, facts)
        facts.append(("rebuilding", 0))
        again(disk, parts)
        disk.kill()
        MaintainedLife(disk, facts, parts).drain()

    return work


def recovery(again: Rebuild, parts: Parts) -> Callable[[SimDisk, Facts], None]:
    """The rebuild is run again where the bookie asks for it; then all is there, and garbage is collected."""
    check = maintained_verifier(parts)

    def recover(disk: SimDisk, facts: Facts) -> None:
        if ("rebuilding", 0) in facts and not _starts(disk, parts):
            again(disk, parts)
        check(disk, facts)

    return recover


def _starts(disk: SimDisk, parts: Parts) -> bool:
    """Whether all indexes are complete; one that is not refuses every start."""
    indexes = [SimIndex.open(disk, current(path)) for path in parts.paths.indexes]
    if all(index.complete for index in indexes):
        return True
    try:
        Life(disk, [], parts)
    except StorageError as error:
        assert "rebuildIndex=true" in str(error), error
    else:
        raise AssertionError("the bookie started with an index that does not speak for its logs")
    disk.kill()
    return False


def enumerate_rebuild(name: str, whole: bool) -> CrashReport:
    """Cut the power in a script.

    :param whole: everywhere, and more often inside of recoveries; else at operations in ledger directories.
    """
    scripts, again, parts = SCRIPTS[name]
    first = Parts() if parts.expands else None
    begun: list[bool] = []

    def noted(disk: SimDisk, parts: Parts) -> None:
        begun.append(True)
        again(disk, parts)

    return enumerate_crashes(
        rebuilt(maintained(*scripts, parts=parts, first=first), noted, parts), recovery(again, parts), seed=1,
        subsets=8 if whole else 1, second_every=10 if whole else 100,
        points=lambda operation: bool(begun) and (whole or operation.path.startswith("/ledgers")),
    )  # fmt: skip


class RebuildCrashTests(SynchronousTestCase):
    """Power cuts; ``python -m tests.bookie.maintenance`` tries many more of them."""

    def _check(self, name: str) -> None:
        report = enumerate_rebuild(name, whole=False)
        self.assertEqual([str(violation) for violation in report.violations[:1]], [])
        self.assertGreater(report.states, 5)

    def test_locations(self) -> None:
        """No entry is lost, and no fence, those of deleted ledgers and of ledgers without entries included (S3, S8)."""
        self._check("locations")

    def test_two_directories(self) -> None:
        """The same with two journals and two ledger directories."""
        self._check("locations of two directories")

    def test_another_place(self) -> None:
        """A ledger is found in the directory where its index has it, not where it was before it was given away."""
        self._check("locations after a directory joined")
        self._check("at a start after a directory joined")

    def test_copies(self) -> None:
        """Entries that are in several logs."""
        self._check("locations of copies")

    def test_states(self) -> None:
        """Every ledger is fenced, none is lost."""
        self._check("states")
        self._check("states of two directories")

    def test_lost_states_are_noticed(self) -> None:
        """The index is emptied before the states of its ledgers are kept."""
        self.patch(rebuild, "_without_runs", _states_in_memory)
        self.assertNotEqual(enumerate_rebuild("locations", whole=False).violations, [])


def _states_in_memory(fs: IFileSystem, path: str, make_index: IndexFactory, marked: int) -> IRunIndex:
    index = make_index(fs, path, False)
    states = list(index.ledgers())
    index.close()
    return rebuild._anew(fs, path, make_index, states)

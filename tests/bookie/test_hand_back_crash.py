"""The power is cut at every file operation of the way to Apache's bookie and back: either of the two has everything.

``python -m tests.bookie.test_hand_back_crash`` tries many more states.

Facts beside those of :mod:`.crash_life`: ``("never fenced", ledger)``.
"""

import posixpath
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.hand_back import HandBack
from bookkeeper_twisted.bookie.lifecycle.store import Store
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.apache.database import LEDGERS, LOCATIONS, database_path
from bookkeeper_twisted.storage.apache.exporting import WriteIndex, to_databases
from bookkeeper_twisted.storage.apache.index_file_export import export_index_files
from bookkeeper_twisted.storage.apache.index_files import files_of_ledgers, index_files, locations_of, states_of
from bookkeeper_twisted.storage.apache.interfaces import Pair
from bookkeeper_twisted.storage.apache.ledger_data import decode
from bookkeeper_twisted.storage.apache.regrouping import Pairs
from bookkeeper_twisted.storage.apache.take_over import discard_index_files, discard_left_over, take_over
from bookkeeper_twisted.storage.cookies import (
    APACHE_COOKIE_NAME,
    COOKIE_NAME,
    DirectoryLocks,
    read_cookies,
    stamp,
)
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_dirs import current, directory_index

from ..simulated_disk.crash import CrashReport, Facts, enumerate_crashes
from ..simulated_disk.sim_disk import Operation, SimDisk
from ..simulated_disk.sim_index import SimIndex
from ..simulated_disk.sim_key_values import SimKeyValues
from .crash_life import JOURNALS, STORAGE, STORE_COOKIE, Life, Parts, check_cookies, check_promises, run

ONE = Parts()
TWO = Parts(n_journals=2, n_ledger_dirs=2)


def written(life: Life) -> None:
    """Entries and fences, in entry logs and in the journal; ledger 1 is not fenced."""
    life.facts.append(("never fenced", 1))
    for ledger_id in (1, 2):
        life.add(run(ledger_id, 0, 4, size=100))
    life.drain()
    life.checkpoint()
    life.fence(2)
    life.fence(9)
    life.add(run(1, 4, 3))
    life.drain()
    life.write_lac(1, 5)
    life.drain()


Places = dict[tuple[int, int], int]
"""Ledger and entry to the location."""

States = dict[int, LedgerRow]


def _items(disk: SimDisk, path: str) -> list[Pair]:
    with closing(SimKeyValues.open(disk, path, False)) as database:
        return list(database.items())


def of_databases(disk: SimDisk, path: str) -> tuple[Places, States]:
    """What the databases of a directory hold."""
    places = {}
    for key, value in _items(disk, database_path(path, LOCATIONS)):
        ledger_id, entry_id = struct.unpack(">qq", key)
        (places[ledger_id, entry_id],) = struct.unpack(">q", value)
    found = [data for pair in _items(disk, database_path(path, LEDGERS)) if (data := decode(*pair)) is not None]
    return places, {data.row.ledger_id: data.row for data in found}


def of_index_files(disk: SimDisk, path: str) -> tuple[Places, States]:
    """What the index files of a directory hold."""
    files = files_of_ledgers(index_files(disk, path))
    places = {
        (ledger_id, entry_id): location
        for each, file in files.items()
        for ledger_id, entry_id, location in locations_of(disk, each, file)
    }
    return places, {row.ledger_id: row for row in states_of(disk, files.values())}


@attrs.frozen
class Way:
    """A storage of Apache's that directories are handed back to: how its index is written, and read."""

    write: WriteIndex
    read: Callable[[SimDisk, str], tuple[Places, States]]


DATABASES = Way(to_databases(SimKeyValues.open), of_databases)
INDEX_FILES = Way(export_index_files, of_index_files)


@contextmanager
def _progress(path: str, total: int) -> Iterator[Callable[[int], object]]:
    yield int


def hand_back(disk: SimDisk, parts: Parts, way: Way = DATABASES) -> None:
    """What the command does."""
    paths = parts.paths
    locks = DirectoryLocks(disk, paths.all())

    def open_store() -> Store:
        storage = attrs.evolve(STORAGE, reserve_bytes=4096)
        return Store.open(disk, paths, SimIndex.open, 1000, b"salt", JOURNALS, storage)

    HandBack(disk, paths, open_store, SimIndex.open, way.write, _progress).run()
    locks.release()


def pairs_of(parts: Parts) -> Pairs:
    """The directories."""
    currents = [current(path) for path in parts.paths.ledgers]
    return Pairs(currents, currents)


def start(disk: SimDisk, parts: Parts) -> Life:
    """A start of our bookie, with ``rebuildIndex`` where it is asked for."""
    parts.paths.make(disk)
    locks = DirectoryLocks(disk, parts.paths.all())
    pairs = pairs_of(parts)
    if read_cookies(disk, parts.paths.all()).of_apache:
        take_over(disk, pairs, SimIndex.open, SimKeyValues.open)
        stamp(disk, parts.paths.all(), disk.committed(STORE_COOKIE))
        discard_index_files(disk, pairs)
    else:
        check_cookies(disk, parts.paths)
    discard_left_over(disk, pairs)
    locks.release()
    return Life(disk, [], parts)


def is_apaches(disk: SimDisk, parts: Parts) -> bool:
    """Whether Apache's bookie would start: each directory has its cookie."""
    return all(disk.exists(posixpath.join(current(path), APACHE_COOKIE_NAME)) for path in parts.paths.all())


def check_apache(disk: SimDisk, parts: Parts, facts: Facts, way: Way) -> None:
    """:raises AssertionError: Apache's bookie would miss something that ours has promised."""
    places: dict[tuple[int, int], tuple[str, int]] = {}
    states: States = {}
    for number, path in enumerate(pairs_of(parts).indexes):
        found, rows = way.read(disk, path)
        places |= {entry: (path, location) for entry, location in found.items()}
        assert all(directory_index(ledger_id, parts.n_ledger_dirs) == number for ledger_id in rows)
        states |= rows
    begun = {(fact[1], fact[2]): fact[3] for fact in facts if fact[0] == "begun"}
    for kind, ledger_id, *rest in facts:
        if kind == "acked":
            path, location = places[ledger_id, rest[0]]
            data = begun[ledger_id, rest[0]]
            file = disk.open(f"{path}/{location >> 32:x}.log")
            assert file.pread(len(data), location & 0xFFFFFFFF) == data, (ledger_id, rest)
        if kind == "fenced":
            assert states[ledger_id].fenced, ledger_id
        if kind == "never fenced" and ledger_id in states:
            assert not states[ledger_id].fenced
        if kind == "lac":
            assert int.from_bytes(states[ledger_id].explicit_lac[8:16], "big") >= rest[0]


def recover(parts: Parts, way: Way) -> Callable[[SimDisk, Facts], None]:
    """The check of a state that a power cut has left."""

    def check(disk: SimDisk, facts: Facts) -> None:
        if is_apaches(disk, parts):
            check_apache(disk, parts, facts, way)
        life = start(disk, parts)
        check_promises(life, [fact for fact in facts if fact[0] != "never fenced"])
        for fact in facts:
            row = life.store.storage.ledger(fact[1]) if fact[0] == "never fenced" else None
            if row is not None and row.fenced:
                raise AssertionError(f"ledger {fact[1]} is fenced, for no reason")
        for path in pairs_of(parts).indexes:
            if disk.exists(f"{path}/{LOCATIONS}/CURRENT"):
                raise AssertionError(f"{path} has two indexes")
        life.stop()
        hand_back(disk, parts, way)
        assert is_apaches(disk, parts)
        assert not any(disk.exists(f"{current(path)}/{name}") for path in parts.paths.all() for name in _OURS)
        check_apache(disk, parts, facts, way)

    return check


def there_and_back(parts: Parts, way: Way) -> Callable[[SimDisk, Facts], None]:
    """Written by ours and killed, handed back, taken over, written again, handed back."""

    def work(disk: SimDisk, facts: Facts) -> None:
        written(Life(disk, facts, parts))
        disk.kill()
        hand_back(disk, parts, way)
        disk.kill()
        life = start(disk, parts)
        life.facts = facts
        life.add(run(1, 7, 2))
        life.fence(3)
        life.stop()
        hand_back(disk, parts, way)

    return work


_OURS = (COOKIE_NAME, "reserve")
_OTHERS = (".txn", "lastId", "lastId.tmp", "lastMark", "lastMark.tmp", "LOCK")


def in_the_exchange(operation: Operation) -> bool:
    """Whether an operation is on indexes, databases, cookies or entry logs: the others have tests of their own."""
    return not operation.path.endswith(_OTHERS) and not operation.path.startswith("/journal")


def cut(parts: Parts, whole: bool, second_every: int = 0, way: Way = DATABASES) -> CrashReport:
    """Cut the power.

    :param whole: everywhere; else at what the exchange does.
    :param second_every: cut the recovery too at every so many states; 0: never.
    """
    return enumerate_crashes(
        there_and_back(parts, way), recover(parts, way), seed=1, subsets=8 if whole else 1, second_every=second_every,
        points=None if whole else in_the_exchange,
    )  # fmt: skip


class JoinedTests(SynchronousTestCase):
    """A directory that joined."""

    def test_refused(self) -> None:
        """Ledgers of the time before lie where Apache's bookie would not find them: nothing is handed back."""
        disk = SimDisk()
        written(Life(disk, [], Parts()))
        disk.kill()
        joined = Parts(n_ledger_dirs=2, expands=True)
        Life(disk, [], joined).stop()
        self.assertIn("before directories joined", str(self.assertRaises(StorageError, hand_back, disk, joined)))
        disk.kill()
        self.assertFalse(is_apaches(disk, joined))
        Life(disk, [], joined)


class HandBackCrashTests(SynchronousTestCase):
    """Power cuts."""

    def _check(self, report: CrashReport, least: int) -> None:
        self.assertEqual([str(violation) for violation in report.violations[:1]], [])
        self.assertGreater(report.states, least)

    def test_one_directory(self) -> None:
        """Nothing is lost, no ledger is fenced for nothing, and at most one index speaks."""
        self._check(cut(ONE, False, 150), 300)

    def test_index_files(self) -> None:
        """The same on the way to interleaved storage."""
        self._check(cut(ONE, False, way=INDEX_FILES), 100)

    def test_two_directories(self) -> None:
        """The same with two journals and two ledger directories."""
        self._check(cut(TWO, False), 150)


if __name__ == "__main__":
    for each in (ONE, TWO):
        print(cut(each, True, 10), flush=True)

"""The power is cut at every operation of the journal; three planted bugs show that it would be noticed."""

import contextlib
import errno
import struct
from collections.abc import Callable, Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import JournalDamageError
from bookkeeper_twisted.storage.interfaces import IFileSystem, JournalPosition
from bookkeeper_twisted.storage.journal.files import JournalFiles, JournalSettings
from bookkeeper_twisted.storage.journal.journal import Journal
from bookkeeper_twisted.storage.journal.log_mark import LogMark

from ...simulated_disk.crash import CrashReport, Facts, enumerate_crashes
from ...simulated_disk.sim_disk import SimDisk
from .planted_journals import AcksBeforeSync, NoDirectorySync, SyncsOnlyTheNewFile

JOURNAL = "/journal/current"
LEDGERS = ("/ledgers-0/current", "/ledgers-1/current")
SETTINGS = JournalSettings(
    max_size=2048, alignment=512, block=512, max_backups=1, preallocate=2048, fill_step=1024, max_spares=2
)
PROBE = 1 << 40


def record(entry_id: int, size: int) -> bytes:
    """A journal record whose body holds its id."""
    body = struct.pack(">qq", 1, entry_id) + bytes([entry_id % 251]) * size
    return struct.pack(">i", len(body)) + body


def entry_id_of(body: bytes) -> int:
    """The id in a body, which must be whole."""
    entry_id: int = struct.unpack_from(">q", body, 8)[0]
    if body[16:] != bytes([entry_id % 251]) * (len(body) - 16):
        raise AssertionError(f"entry {entry_id} has other bytes than were written")
    return entry_id


class Life:
    """What a bookie does with its journal between a start and its end.

    Facts: ``("begun", id)`` before an entry is handed to the journal, ``("acked", id)`` once it is
    durable, ``("kept", id)`` when all entries up to this one are durable elsewhere.
    """

    def __init__(
        self, disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal, settings: JournalSettings = SETTINGS
    ) -> None:
        self.facts = facts
        self.unsynced: list[int] = []
        self.log_mark = LogMark(disk, LEDGERS, "lastMark")
        self.journal = journal_type.open(disk, JOURNAL, settings, 1000)
        self.replayed = [entry_id_of(body) for body in self.journal.replay(self.log_mark.position)]

    def add(self, *entries: tuple[int, int], sync: bool = True) -> None:
        """One group of (id, payload size)."""
        self.facts += [("begun", entry_id) for entry_id, _ in entries]
        self.unsynced += [entry_id for entry_id, _ in entries]
        self.journal.write_group([record(*entry) for entry in entries], sync)
        if sync:
            self.acknowledge()

    def acknowledge(self) -> None:
        """Everything written so far is durable, says the journal."""
        if self.journal.durable == self.journal.position:
            self.facts += [("acked", entry_id) for entry_id in self.unsynced]
            self.unsynced = []

    def checkpoint(self) -> None:
        """All entries are durable elsewhere: the log mark moves, old files go."""
        position = self.journal.durable
        self.facts.append(("kept", max((i for kind, i in self.facts if kind == "begun"), default=-1)))
        self.log_mark.advance(position)
        self.journal.release(position)


def build() -> SimDisk:
    """The directories of a bookie."""
    disk = SimDisk()
    for path in (JOURNAL, *LEDGERS):
        disk.make_directories(path)
    return disk


def recover(disk: SimDisk, facts: Facts) -> None:
    """Starts, checks every promise, goes on writing, loses power at once and starts again."""
    begun = {i for kind, i in facts if kind == "begun"} | {PROBE}
    kept = max((i for kind, i in facts if kind == "kept"), default=-1)
    owed = {i for kind, i in facts if kind == "acked" and i > kept}
    life = Life(disk, [])
    check(life.replayed, begun, owed)
    life.add((PROBE, 100))
    again = Life(disk.crash(()), [])
    check(again.replayed, begun, owed | {PROBE, *life.replayed})


def check(found: Sequence[int], begun: set[int], owed: set[int]) -> None:
    """Nothing acknowledged is missing, nothing comes from nowhere, all is in order (S1, S7)."""
    if not owed.issubset(found):
        raise AssertionError(f"acknowledged entries are lost: {sorted(owed.difference(found))}")
    if not begun.issuperset(found):
        raise AssertionError(f"entries nobody wrote: {sorted(set(found) - begun)}")
    written = [i for i in found if i != PROBE]
    if written != sorted(set(written)):
        raise AssertionError(f"out of order: {found}")


def append_and_group_commit(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Groups of one and many entries, within a sector and over several."""
    life = Life(disk, facts, journal_type)
    life.add((0, 20))
    life.add((1, 200), (2, 300), (3, 10))
    life.add((4, 1200))
    life.journal.close()


def deferred_sync(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Several groups are written before one sync, over the end of a file too."""
    life = Life(disk, facts, journal_type)
    for entry_id in range(7):
        life.add((entry_id, 450), sync=False)
        if entry_id in (1, 6):
            life.journal.sync()
            life.acknowledge()


def big_groups(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Groups of many sectors, half of them unsynced, over what a recycled file held before."""
    life = Life(disk, facts, journal_type)
    for number in range(0, 36, 3):
        life.add((number, 700), (number + 1, 30), (number + 2, 900), sync=number % 2 == 1)
        if number % 9 == 3:
            life.checkpoint()


def rotation(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Three files, prepared in steps, in one go and not at all."""
    life = Life(disk, facts, journal_type)
    for entry_id in range(12):
        life.add((entry_id, 500))
        if entry_id < 6:
            life.journal.prepare()


def growing(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Files that grow between groups, synced and not, and are recycled."""
    life = Life(disk, facts, journal_type, attrs.evolve(SETTINGS, max_size=5000, preallocate=1024))
    for entry_id in range(36):
        life.add((entry_id, 600), sync=entry_id % 4 != 1)
        if entry_id % 12 == 11:
            life.checkpoint()
        if entry_id % 5 == 4:
            life.journal.prepare()
    assert life.journal.files_recycled >= 1


def growing_by_large_groups(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """A file gets allocated blocks for large groups, and zeros over some of them in front of small ones."""
    life = Life(disk, facts, journal_type, attrs.evolve(SETTINGS, max_size=300_000, preallocate=50_000))
    for entry_id in range(16):
        life.add((entry_id, 60_000 if entry_id % 8 in (2, 3) else 600), sync=entry_id % 8 not in (1, 4))
    assert [op for op in disk.operations if op.name == "allocate"]
    assert len([op for op in disk.operations if op.name == "pwrite" and op.size // 1000 in (49, 50)]) > 2


def recycling(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Checkpoints release files, which come back under new ids."""
    life = Life(disk, facts, journal_type)
    for entry_id in range(28):
        life.add((entry_id, 600))
        if entry_id % 7 == 6:
            life.checkpoint()
        if entry_id % 3 == 2:
            life.journal.prepare()
    assert life.journal.files_recycled >= 2
    life.journal.close()


def reopening(disk: SimDisk, facts: Facts, journal_type: type[Journal] = Journal) -> None:
    """Three processes on one directory, one ends in order, one is killed."""
    for start, end in ((0, 4), (4, 9), (9, 12)):
        life = Life(disk, facts, journal_type)
        for entry_id in range(start, end):
            life.add((entry_id, 400))
        if start == 4:
            life.checkpoint()
        if start == 0:
            life.journal.close()
        disk.kill()


Workload = Callable[[SimDisk, Facts, type[Journal]], None]


def enumerate_with(workload: Workload, journal_type: type[Journal] = Journal) -> CrashReport:
    """Crashes a workload whose journal is of a type, perhaps a broken one."""
    return enumerate_crashes(lambda disk, facts: workload(disk, facts, journal_type), recover, seed=1, build=build)


class CrashTests(SynchronousTestCase):
    """Every operation is a crash point."""

    def _survives(self, workload: Workload, states: int) -> None:
        report = enumerate_with(workload)
        self.assertEqual(report.violations, [])
        self.assertGreaterEqual(report.states, states)

    def test_append_and_group_commit(self) -> None:
        """A crash in or after any group leaves every acknowledged entry (S1)."""
        self._survives(append_and_group_commit, 40)

    def test_deferred_sync(self) -> None:
        """Of groups that were not synced any part may survive, in order; synced ones survive whole (S1)."""
        self._survives(deferred_sync, 190)

    def test_big_groups(self) -> None:
        """However much of the last groups survives, what came before them is whole (S1, safety 3.3)."""
        self._survives(big_groups, 1000)

    def test_rotation(self) -> None:
        """A crash between two files loses nothing of either (S1, safety 3.5)."""
        self._survives(rotation, 200)

    def test_recycling(self) -> None:
        """Records of a file's former life never come back, and no file goes too early (S7, safety 3.4)."""
        self._survives(recycling, 600)

    def test_growing(self) -> None:
        """A file that grows has its new size before anything says so (S5)."""
        self._survives(growing, 500)
        self._survives(growing_by_large_groups, 200)

    def test_reopening(self) -> None:
        """Starts after an orderly end and after a kill go on where the last one ended."""
        self._survives(reopening, 120)


def after_failure(workload: Callable[[SimDisk, Facts], None], number: int) -> Callable[[SimDisk, Facts], None]:
    """A workload that an operation ends by failing, and a second process on what the first one left."""

    def work(disk: SimDisk, facts: Facts) -> None:
        disk.fail(errno.EIO, at=number)
        with contextlib.suppress(OSError):
            workload(disk, facts)
        disk.kill()
        life = Life(disk, facts)
        for entry_id in range(100, 106):
            life.add((entry_id, 500))

    return work


def go_on(disk: SimDisk, facts: Facts) -> None:
    """One more process, which fills and releases several files."""
    life = Life(disk, facts)
    for entry_id in range(100, 112):
        life.add((entry_id, 600))
        if entry_id % 4 == 3:
            life.checkpoint()
        life.journal.prepare()


def recover_and_go_on(disk: SimDisk, facts: Facts) -> None:
    """Starts, checks every promise, uses files again that were released, and starts again after a power cut."""
    begun = {i for kind, i in facts if kind == "begun"}
    kept = max((i for kind, i in facts if kind == "kept"), default=-1)
    owed = {i for kind, i in facts if kind == "acked" and i > kept}
    own: Facts = []
    life = Life(disk, own)
    check(life.replayed, begun, owed)
    for entry_id in range(200, 214):
        life.add((entry_id, 600))
        if entry_id in (203, 208):
            life.checkpoint()
        life.journal.prepare()
    again = Life(disk.crash(()), [])
    check(again.replayed, begun | {i for _, i in own}, set(range(209, 214)))


class FailedSyncTests(SynchronousTestCase):
    """A sync fails, the process ends and is started again, the power is cut at every later operation (S1, S10)."""

    def _survives(self, workload: Callable[[SimDisk, Facts], None], suffix: str, least: int) -> None:
        intact = build()
        workload(intact, [])
        syncs = [op.number for op in intact.operations if op.name == "sync" and op.path.endswith(suffix)]
        self.assertGreaterEqual(len(syncs), least)
        for number in syncs:
            self._survives_failure(workload, number)

    def _survives_failure(self, workload: Callable[[SimDisk, Facts], None], number: int) -> None:
        work = after_failure(workload, number)
        report = enumerate_crashes(
            work, recover, seed=1, build=build, subsets=2, second_every=0, points=lambda op: op.number > number
        )
        self.assertEqual(report.violations, [], f"operation {number}: {report}")

    def test_spares(self) -> None:
        """A file that was being made ready is a whole one when it is taken, whatever the failed sync lost."""
        self._survives(rotation, ".spare", 7)
        self._survives(recycling, ".spare", 10)
        self._survives(growing, ".spare", 4)

    def test_directories(self) -> None:
        """A released file may keep its old name beside its new one: it is not recycled under it."""

        def work(disk: SimDisk, facts: Facts) -> None:
            disk.fail(errno.EIO, at=number)
            with contextlib.suppress(OSError):
                recycling(disk, facts)
            disk.kill()
            go_on(disk, facts)

        intact = build()
        recycling(intact, [])
        syncs = [op.number for op in intact.operations if (op.name, op.path) == ("sync_directory", JOURNAL)]
        self.assertGreater(len(syncs), 5)
        for number in syncs:
            report = enumerate_crashes(
                work, recover_and_go_on, seed=1, build=build, subsets=2, second_every=0,
                points=lambda op, number=number: op.number > number,  # type: ignore[misc]
            )  # fmt: skip
            self.assertEqual(report.violations, [], f"operation {number}: {report}")

    def test_journal_files(self) -> None:
        """A start does not treat as durable what it has read in pages that never reached the disk."""
        self._survives(rotation, ".txn", 10)
        self._survives(deferred_sync, ".txn", 2)
        self._survives(growing, ".txn", 20)

    def test_sizes(self) -> None:
        """What is on record of the sizes is true, whatever the failed sync lost."""
        self._survives(rotation, "Sizes", 4)
        self._survives(growing, "Sizes", 8)


class _LazyFiles(JournalFiles):
    """Planted bug: a new name is used before its directory is synced."""

    def begin_next(self):
        fs = self._fs
        self._fs = NoDirectorySync(fs)  # type: ignore[assignment]
        try:
            return super().begin_next()
        finally:
            self._fs = fs


class ForgetsTheDirectory(Journal):
    """Planted bug: see :class:`_LazyFiles`."""

    def __init__(self, fs: IFileSystem, files: JournalFiles, directory: str, settings: JournalSettings) -> None:
        super().__init__(fs, _LazyFiles(fs, directory, settings, 1000, b""), directory, settings)


class PlantedBugTests(SynchronousTestCase):
    """The enumeration notices what it is there for."""

    def _fails(self, workload: Workload, journal_type: type[Journal], error: type[Exception] = AssertionError) -> None:
        self.assertEqual(enumerate_with(workload).violations, [])
        violations = enumerate_with(workload, journal_type).violations
        self.assertIsInstance(violations[0].error, error)

    def test_ack_before_sync(self) -> None:
        """A journal that acknowledges before it syncs is caught (S1)."""
        self._fails(append_and_group_commit, AcksBeforeSync)

    def test_rotation_without_sync(self) -> None:
        """A rotation that syncs only the new file is caught (S1); the journal itself sees the gap."""
        self._fails(deferred_sync, SyncsOnlyTheNewFile, JournalDamageError)

    def test_directory_not_synced(self) -> None:
        """A journal file whose name was never synced is caught; the journal itself misses the file."""
        self._fails(rotation, ForgetsTheDirectory, JournalDamageError)


class LogMarkTests(SynchronousTestCase):
    """The recovery used above is not blind."""

    def test_mark_ahead_of_data(self) -> None:
        """A log mark that runs ahead of what is durable elsewhere is caught (S7)."""

        def workload(disk: SimDisk, facts: Facts) -> None:
            life = Life(disk, facts)
            life.add((0, 20))
            life.log_mark.advance(JournalPosition(life.journal.position.file_id, life.journal.position.offset))

        self.assertTrue(enumerate_crashes(workload, recover, seed=1, build=build).violations)

"""Replay: every row of the failure cases "journal cut" and "bad record below a durable log mark"."""

import errno
import hashlib
import struct
from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import JournalDamageError, StorageFailedError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.journal import Journal
from bookkeeper_twisted.storage.journal.known_sizes import SIZES_NAME, KnownSizes
from bookkeeper_twisted.storage.journal.log_mark import read_log_mark
from bookkeeper_twisted.storage.journal.replay import Cut
from bookkeeper_twisted.storage.ledger_dirs import journal_ids

from ...simulated_disk.sim_disk import Operation, SimDisk
from ..index.java_stores import STORES, java_store
from .journals import DIRECTORY, ROOMY, SMALL, content, new_disk, overwrite, put, record
from .journals import start as start_with

start = partial(start_with, settings=ROOMY)


class _WrittenTestCase(SynchronousTestCase):
    """A journal of one file: entries 0, 1, 2, one group each, the middle one of three sectors."""

    def setUp(self) -> None:
        self.disk = new_disk()
        journal, _ = start(self.disk)
        sizes = (40, 1200, 40)
        self.ends = [512, *(journal.write_group([record(i, size)]).offset for i, size in enumerate(sizes))]
        self.disk.kill()

    def refused(self, log_mark: JournalPosition | None = None) -> str:
        """Starts, which must fail; the text of the error."""
        return str(self.assertRaises(JournalDamageError, start, self.disk, log_mark or JournalPosition()))

    def add_file(self, *entries: int) -> Journal:
        """Another life with a file of its own, killed."""
        journal, _ = start(self.disk)
        for entry_id in entries:
            journal.write_group([record(entry_id)])
        self.disk.kill()
        return journal


class TornTailTests(_WrittenTestCase):
    """The end of the last file."""

    def test_killed(self) -> None:
        """After a kill everything is replayed and nothing is cut."""
        journal, found = start(self.disk)
        self.assertEqual((found, journal.cuts), ([0, 1, 2], []))
        self.assertEqual(journal.position.file_id, 1000)

    def test_cut_in_length(self) -> None:
        """A file cut anywhere gives its whole groups, and goes on from there."""
        data = content(self.disk, "3e8.txn")
        for size in (512, 514, 600, 1024, 1030, 2047, 2048, 2559, 2600):
            disk = new_disk()
            put(disk, "3e8.txn", data[:size])
            whole = [i for i in range(3) if self.ends[i + 1] <= size]
            journal, found = start(disk)
            self.assertEqual(found, whole)
            journal.write_group([record(9)])
            disk.kill()
            self.assertEqual(start(disk)[1], [*whole, 9])

    def test_torn_last_group(self) -> None:
        """A torn last group is cut off, and said so; the cut is durable before anything else is written."""
        overwrite(self.disk, "3e8.txn", self.ends[2] + 30, b"\xff" * 8)
        journal, found = start(self.disk)
        self.assertEqual((found, journal.cuts), ([0, 1], [Cut(f"{DIRECTORY}/3e8.txn", self.ends[2])]))
        after = self.disk.crash(())
        self.assertEqual(start(after)[1], [0, 1])
        self.assertEqual(start(after)[0].cuts, [])

    def test_last_group_is_written_again(self) -> None:
        """Of what was read, the groups that nothing says were durable are written and synced once more, no others."""
        before = len(self.disk.operations)
        start(self.disk)
        found = [op[1:] for op in self.disk.operations[before:]]
        path, last, size = f"{DIRECTORY}/3e8.txn", self.ends[2], self.ends[3] - self.ends[2]
        self.assertEqual(found[:2], [("pwrite", path, last, size), ("sync", path, None, 0)])
        self.assertEqual([op[:3] for op in found[2:]], [("pwrite", path, self.ends[3]), ("sync", path, None)])
        start(self.disk)
        self.assertEqual(len(self.disk.operations), before + 4)

    def test_junk_after_the_end(self) -> None:
        """Junk behind the last group is cut off."""
        overwrite(self.disk, "3e8.txn", self.ends[3], b"\x01" * 700)
        journal, found = start(self.disk)
        self.assertEqual(found, [0, 1, 2])
        self.assertEqual(journal.cuts, [Cut(f"{DIRECTORY}/3e8.txn", self.ends[3])])

    def test_header_only_and_empty(self) -> None:
        """Files without a record are fine, ours and Java's."""
        data = content(self.disk, "3e8.txn")[:512]
        for made in (data, b"", bytes(512), b"BKLG\0\0\0\x06", b"BKLG\0\0\0\x06" + bytes(504), bytes(100000)):
            disk = new_disk()
            put(disk, "3e8.txn", made)
            self.assertEqual(start(disk)[1], [])

    def test_cut_in_the_header(self) -> None:
        """A file of ours that lost part of its header is refused: it was durable before the file had its name."""
        disk = new_disk()
        put(disk, "3e8.txn", content(self.disk, "3e8.txn")[:20])
        self.assertRaises(JournalDamageError, start, disk)

    def test_all_junk(self) -> None:
        """Junk from the first byte on is refused with the name of the file."""
        overwrite(self.disk, "3e8.txn", 0, b"\x5a" * 4096)
        self.assertIn("3e8.txn", self.refused())

    def test_unsynced_hole(self) -> None:
        """Of two groups after the last sync the second may survive alone: it is cut off with the first."""
        journal, _ = start(self.disk)
        start_of_hole = journal.write_group([record(3)]).offset
        end_of_hole = journal.write_group([record(4)], sync=False).offset
        journal.write_group([record(5)], sync=False)
        self.disk.kill()
        overwrite(self.disk, "3e9.txn", start_of_hole, bytes(end_of_hole - start_of_hole))
        journal, found = start(self.disk)
        self.assertEqual((found, len(journal.cuts)), ([0, 1, 2, 3], 1))
        journal.write_group([record(6)])
        self.disk.kill()
        self.assertEqual(start(self.disk)[1], [0, 1, 2, 3, 6])


class DamageTests(_WrittenTestCase):
    """Records that were durable are missing: the bookie must not start."""

    def test_any_byte_below_a_durable_position(self) -> None:
        """Damage in any sector of a group that a later group knows to be durable is named by file and offset."""
        for at in range(self.ends[0], self.ends[1], 61):
            saved = self.disk.open(f"{DIRECTORY}/3e8.txn").pread(1, at)
            overwrite(self.disk, "3e8.txn", at, bytes([saved[0] ^ 1]))
            self.assertIn("3e8.txn: damaged at offset 512", self.refused())
            overwrite(self.disk, "3e8.txn", at, saved)
        self.assertEqual(start(self.disk)[1], [0, 1, 2])

    def test_zeros_below_a_durable_position(self) -> None:
        """A sector that reads as zeros is no end if later groups say otherwise."""
        overwrite(self.disk, "3e8.txn", 512, bytes(512))
        self.assertIn("damaged at offset 512", self.refused())

    def test_later_group_torn_too(self) -> None:
        """A torn group still proves by its trailer what was durable before it."""
        overwrite(self.disk, "3e8.txn", self.ends[0], bytes(512))
        overwrite(self.disk, "3e8.txn", self.ends[1], bytes(512))
        self.assertIn("damaged at offset 512", self.refused())

    def test_last_group_of_an_older_file(self) -> None:
        """The last group of a file is proved by the first group of the next one."""
        self.add_file(3)
        overwrite(self.disk, "3e8.txn", self.ends[2], bytes(512))
        self.assertIn("3e8.txn: ends at offset 2560", self.refused())

    def test_shortened_older_file(self) -> None:
        """An older file that was cut is noticed, though its size is not on record."""
        self.add_file(3)
        self.add_file(4)
        file = self.disk.open(f"{DIRECTORY}/3e8.txn")
        file.truncate(self.ends[2])
        file.sync(metadata=True)
        self.assertIn("3e8.txn: ends at offset 2560", self.refused())

    def test_emptied_older_file(self) -> None:
        """The same of one that lost its header, too: the first group of the next file says where it ended."""
        self.add_file(3)
        self.add_file(4)
        file = self.disk.open(f"{DIRECTORY}/3e8.txn")
        for size in (8, 0):
            file.truncate(size)
            file.sync(metadata=True)
            self.assertRegex(self.refused(), "3e8.txn: ends at offset (0|512), durable up to")

    def test_torn_older_file_without_proof(self) -> None:
        """Anything torn in a file that is not the last is damage: it was synced before the next one existed."""
        put(self.disk, "3e9.txn", content(self.disk, "3e8.txn")[:0])
        overwrite(self.disk, "3e8.txn", self.ends[2] + 30, b"\xff")
        self.assertIn("not the last", self.refused())

    def test_missing_file_at_the_log_mark(self) -> None:
        """The file the log mark is in must be there."""
        self.assertIn("3e7.txn is missing", self.refused(JournalPosition(999, 512)))
        self.disk.unlink(f"{DIRECTORY}/3e8.txn")
        self.assertIn("3e8.txn is missing", self.refused(JournalPosition(1000, 512)))

    def test_missing_file_in_between(self) -> None:
        """A file that is missing between two others is noticed."""
        self.add_file(3)
        self.add_file(4)
        self.disk.unlink(f"{DIRECTORY}/3e9.txn")
        self.assertIn("3e9.txn is missing", self.refused())

    def test_damaged_header(self) -> None:
        """A damaged header is refused."""
        for at in (0, 5, 9, 20, 33):
            disk = self.disk.crash()
            overwrite(disk, "3e8.txn", at, b"\xfe")
            self.assertRaises(JournalDamageError, start, disk)

    def test_negative_length_in_a_file_of_others(self) -> None:
        """A negative length in a Java journal is refused."""
        put(self.disk, "3e7.txn", b"BKLG\0\0\0\x06".ljust(512, b"\0") + record(1) + struct.pack(">i", -5))
        self.assertIn("3e7.txn: record of -5 bytes", self.refused())

    def test_failed_for_good(self) -> None:
        """A journal that could not be replayed takes nothing (S10)."""
        overwrite(self.disk, "3e8.txn", 512, bytes(512))
        journal = Journal.open(self.disk, DIRECTORY, SMALL, 1)
        self.assertRaises(JournalDamageError, list, journal.replay(JournalPosition()))
        self.assertRaises(StorageFailedError, journal.write_group, [record(1)])

    def test_unreadable(self) -> None:
        """A file that cannot be read is an error at whatever read it happens, never an early end (S5)."""
        reads = 0

        def count(operation: Operation) -> bool:
            nonlocal reads
            reads += operation.name in ("pread", "open", "list")
            return False

        healthy = self.disk.crash()
        healthy.fail(errno.EIO, when=count)
        start(healthy)
        self.assertGreater(reads, 4)
        for number in range(1, reads + 1):
            seen = 0

            def nth(operation: Operation, number: int = number) -> bool:
                nonlocal seen
                seen += operation.name in ("pread", "open", "list")
                return seen == number

            disk = self.disk.crash()
            disk.fail(errno.EIO, when=nth)
            self.assertRaises(OSError, start, disk)


class CutFileTests(_WrittenTestCase):
    """The newest file is shorter than it was when records in it were acknowledged, or it is missing (S5)."""

    def cut(self, size: int, name: str = "3e8.txn") -> None:
        """Cuts a file, as something else than a crash does."""
        file = self.disk.open(f"{DIRECTORY}/{name}")
        file.truncate(size)
        file.sync(metadata=True)
        file.close()

    def add_empty_file(self) -> None:
        """Another life, which has named its file and ends before the first group."""
        journal, _ = start(self.disk)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pwrite" and op.path.endswith(".txn"))
        self.assertRaises(OSError, journal.write_group, [record(3)])
        self.disk.heal()
        self.disk.kill()

    def test_cut(self) -> None:
        """A cut is refused wherever it is, in the header, between two groups or in one, and so is an emptied file."""
        whole = KnownSizes(self.disk, DIRECTORY).newest.size
        self.assertGreater(whole, self.ends[-1])
        for size in sorted({0, 3, 7, 8, 511, 512, *range(513, whole, 301), *self.ends, whole - 1}, reverse=True):
            self.cut(size)
            text = self.refused()
            self.assertIn(f"3e8.txn was cut short: it has {size} bytes, but had at least {whole}", text)
            self.assertIn("put the whole file back", text)

    def test_zeros(self) -> None:
        """A file of zeros is one that Apache's bookie may leave, but not where ours has written down its size."""
        for rest in (b"", content(self.disk, "3e8.txn")[:8]):
            disk = self.disk.crash()
            overwrite(disk, "3e8.txn", 0, rest.ljust(4096, b"\0"))
            self.assertIn("3e8.txn has lost its header", str(self.assertRaises(JournalDamageError, start, disk)))
            disk.unlink(f"{DIRECTORY}/{SIZES_NAME}")
            self.assertEqual(start(disk)[1], [])

    def test_behind_the_log_mark(self) -> None:
        """A cut behind the log mark is refused, too: what followed the log mark is nowhere else."""
        self.cut(self.ends[1])
        self.assertIn(f"it has {self.ends[1]} bytes", self.refused(JournalPosition(1000, self.ends[1])))

    def test_missing(self) -> None:
        """The newest file must be there, whether it is the only one or not; below the log mark none is missed."""
        self.add_file(3)
        self.disk.unlink(f"{DIRECTORY}/3e9.txn")
        self.assertIn("3e9.txn is missing: it had at least 2048 bytes", self.refused())
        self.assertIn("3e9.txn is missing", self.refused(JournalPosition(1000, self.ends[3])))
        self.disk.unlink(f"{DIRECTORY}/3e8.txn")
        self.assertIn("3e9.txn is missing", self.refused())
        put(self.disk, "3ea.txn", b"BKLG\0\0\0\x06".ljust(512, b"\0"))
        self.assertEqual(start(self.disk, JournalPosition(1002, 0))[1], [])

    def test_without_groups(self) -> None:
        """A newest file without a group is deleted only if it is whole; then it is not missed."""
        self.add_empty_file()
        self.cut(512, "3e9.txn")
        self.assertIn("3e9.txn was cut short: it has 512 bytes", self.refused())
        self.cut(2048, "3e9.txn")
        for _ in range(2):
            self.assertEqual(start(self.disk)[1], [0, 1, 2])
            self.assertEqual(journal_ids(self.disk, DIRECTORY), [1000])

    def test_before_a_file_without_groups(self) -> None:
        """The file before the newest is known, too, for no group of the newest one says where it ended."""
        journal, _ = start(self.disk)
        journal.write_group([record(3)])
        journal.write_group([record(4, 1 << 20)])
        self.add_failed_rotation(journal)
        size = self.disk.open(f"{DIRECTORY}/3e9.txn").size()
        self.assertGreater(size, 1 << 20)
        self.cut(1024, "3e9.txn")
        self.assertIn("3e9.txn was cut short: it has 1024 bytes", self.refused())

    def add_failed_rotation(self, journal: Journal) -> None:
        """The journal names its next file, and ends before the first group in it."""
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pwrite" and op.path.endswith("3ea.txn"))
        self.assertRaises(OSError, journal.write_group, [record(5)])
        self.disk.heal()
        self.disk.kill()
        self.assertEqual(journal_ids(self.disk, DIRECTORY), [1000, 1001, 1002])

    def test_after_an_orderly_end(self) -> None:
        """A file that says where it ends may lack the zeros behind: nothing was lost with them."""
        journal, _ = start(self.disk)
        end = journal.write_group([record(3)]).offset
        journal.close()
        self.disk.kill()
        self.cut(end + 512, "3e9.txn")
        self.assertEqual(start(self.disk)[1], [0, 1, 2, 3])
        self.cut(end, "3e9.txn")
        self.assertIn(f"3e9.txn was cut short: it has {end} bytes", self.refused())

    def test_of_others(self) -> None:
        """A newer file without a record, as Apache's bookie leaves one that it had no time for, is no cut file."""
        for made in (b"", b"BKLG\0\0\0\x06", b"BKLG\0\0\0\x06".ljust(512, b"\0")):
            disk = self.disk.crash()
            put(disk, "3e9.txn", made)
            self.assertEqual(start(disk)[1], [0, 1, 2])

    def test_unknown_sizes(self) -> None:
        """Without sizes, as earlier versions leave a journal, or with damaged ones a cut is not certain."""
        self.cut(self.ends[1])
        known = content(self.disk, SIZES_NAME)
        for made in (None, b"", known[:40], known[:7] + b"X" + known[8:], known[:39] + b"\xff" + known[40:]):
            disk = self.disk.crash()
            disk.unlink(f"{DIRECTORY}/{SIZES_NAME}")
            if made is not None:
                put(disk, SIZES_NAME, made)
            self.assertEqual(start(disk)[1], [0])

    def test_sizes_over_restarts(self) -> None:
        """The sizes of one life are kept by the next one."""
        for entry_id in range(3, 7):
            self.add_file(entry_id)
            disk = self.disk.crash()
            newest = f"{journal_ids(disk, DIRECTORY)[-1]:x}.txn"
            file = disk.open(f"{DIRECTORY}/{newest}")
            file.truncate(600)
            self.assertIn(newest, str(self.assertRaises(JournalDamageError, start, disk)))


class LogMarkTests(_WrittenTestCase):
    """Where replay begins."""

    def test_positions(self) -> None:
        """Replay begins behind the groups below the log mark."""
        for index, end in enumerate(self.ends):
            self.assertEqual(start(self.disk, JournalPosition(1000, end))[1], [0, 1, 2][index:])
        self.assertEqual(start(self.disk, JournalPosition(1000, 0))[1], [0, 1, 2])

    def test_inside_a_group(self) -> None:
        """A log mark that is not between two groups is refused: cutting there would lose records."""
        for offset in (self.ends[1] + 512, self.ends[1] + 1024):
            self.assertIn(f"offset {offset}", self.refused(JournalPosition(1000, offset)))
        journal, _ = start(self.disk)
        end = journal.write_group([record(9, 1200)])
        self.disk.kill()
        self.assertIn("3e9.txn", self.refused(JournalPosition(1001, end.offset - 512)))

    def test_behind_the_end(self) -> None:
        """A file that ends before the log mark has lost what followed it, too: its header says nothing of that."""
        for data in (content(self.disk, "3e8.txn")[: self.ends[2]], b"junk"):
            self.disk.unlink(f"{DIRECTORY}/3e8.txn")
            put(self.disk, "3e8.txn", data)
            text = f"3e8.txn ends at offset {len(data)}: the mark is in it, at {self.ends[3]}"
            self.assertIn(text, self.refused(JournalPosition(1000, self.ends[3])))

    def test_older_files_are_not_read(self) -> None:
        """Damage below the log mark does not matter."""
        self.add_file(3)
        overwrite(self.disk, "3e8.txn", 512, bytes(2000))
        self.assertEqual(start(self.disk, JournalPosition(1001, 512))[1], [3])

    def test_end_is_a_log_mark(self) -> None:
        """The end of a replay can be the log mark of the next start."""
        end = start(self.disk)[0].position
        self.disk.kill()
        journal, found = start(self.disk, end)
        self.assertEqual((found, journal.position), ([], end))


class JavaJournalTests(SynchronousTestCase):
    """Journals written by Java bookies."""

    def test_every_record(self) -> None:
        """All journals of all stores give exactly the records of their manifests."""
        count = 0
        for name in STORES:
            store = java_store(name)
            disk = store.disk()
            for directory in sorted({j["file"].rpartition("/")[0] for j in store.manifest["journals"]}):
                expected = [
                    (r["ledgerId"], r["entryId"], r["sha256"])
                    for j in store.manifest["journals"]
                    if j["file"].startswith(directory + "/")
                    for r in j["records"]
                ]
                self.assertEqual(self._replay(disk, "/" + directory), expected)
                count += len(expected)
        self.assertGreater(count, 800)

    def _replay(self, disk: SimDisk, directory: str) -> list[tuple[int, int, str]]:
        journal = Journal.open(disk, directory, SMALL, 1)
        bodies = list(journal.replay(JournalPosition()))
        return [(*struct.unpack_from(">qq", b), hashlib.sha256(b).hexdigest()) for b in bodies]

    def test_where_they_end(self) -> None:
        """The end of a replay is the end of the data the manifest states."""
        for name in STORES:
            journals = java_store(name).manifest["journals"]
            last = {j["file"].rpartition("/")[0]: j for j in journals}
            for directory, stated in last.items():
                journal = Journal.open(java_store(name).disk(), "/" + directory, SMALL, 1)
                list(journal.replay(JournalPosition()))
                self.assertEqual(journal.position, JournalPosition(stated["journalId"], stated["endOfData"]))

    def test_log_marks(self) -> None:
        """From the persisted log marks on exactly the records behind them are replayed."""
        log_marks = 0
        for name in STORES:
            store = java_store(name)
            disk = store.disk()
            for path, stated in store.manifest.get("lastMark", {}).items():
                directory, _, file = path.rpartition("/")
                log_mark = read_log_mark(disk, ["/" + directory], file)
                self.assertEqual(log_mark, JournalPosition(stated["journalId"], stated["offset"]))
                journals = [j for j in store.manifest["journals"] if j["journalId"] == log_mark.file_id]
                for directory in {j["file"].rpartition("/")[0] for j in journals}:
                    found = list(Journal.open(disk, "/" + directory, SMALL, 1).replay(log_mark))
                    self.assertEqual(len(found), self._records_from(store.manifest["journals"], directory, log_mark))
                    log_marks += 1
        self.assertGreater(log_marks, 15)

    def _records_from(
        self, journals: list[dict], directory: str, log_mark: JournalPosition  # type: ignore[type-arg]
    ) -> int:
        return sum(
            JournalPosition(j["journalId"], r["offset"]) >= log_mark
            for j in journals
            if j["file"].startswith(directory + "/")
            for r in j["records"]
        )

    def test_going_on_after_java(self) -> None:
        """We go on in a new file; then both are replayed."""
        disk = java_store("db-killed").disk()
        directory = "/journal/current"
        before = len(self._replay(disk, directory))
        journal = Journal.open(disk, directory, SMALL, 1)
        list(journal.replay(JournalPosition()))
        journal.write_group([record(5)])
        self.assertEqual(journal.file_ids[-1], journal.file_ids[-2] + 1)
        disk.kill()
        found = self._replay(disk, directory)
        self.assertEqual((len(found), found[-1][1]), (before + 1, 5))
        self.assertEqual(len(journal_ids(disk, directory)), 3)

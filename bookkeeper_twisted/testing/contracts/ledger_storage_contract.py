"""The test suite for ledger storages, which keep the entries of a bookie.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from collections.abc import Callable, Iterable
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...entries.entry_run import EntryRun
from ...entries.mixed_runs import MixedRun
from ...errors import StorageError
from ...storage.interfaces import ICheckpoint, ILedgerStorage, JournalPosition, LedgerRow
from ..streams import Random
from .storage_life import StorageLife

_RECORD = 4 + 32 + 8
"""Bytes in an entry log for one entry of these tests: length field, header, payload."""


def entry(ledger_id: int, entry_id: int, salt: int = 0) -> bytes:
    """Make the bytes of an entry; another ``salt`` makes another copy of the same entry."""
    numbers = (ledger_id, entry_id, entry_id - 1, 8 * (entry_id + 1), salt)
    return b"".join(number.to_bytes(8, "big", signed=True) for number in numbers)


def run(ledger_id: int, first: int, count: int = 1, salt: int = 0) -> EntryRun:
    """Make a run: ``count`` consecutive entries, from id ``first`` on."""
    return EntryRun.of_entries(ledger_id, first, [entry(ledger_id, first + i, salt) for i in range(count)])


class LedgerStorageContract(SynchronousTestCase):
    """The tests that each ledger storage passes; a subclass makes an empty storage, and reopens it with its data.

    :ivar storage: the storage, empty at first.
    :ivar n_lives: number of random sequences of calls that a test tries.
    """

    storage: Any
    n_lives = 100

    def reopen(self) -> Any:
        """Return a new storage with the data that the checkpoints of :attr:`storage` have written to disk."""
        raise NotImplementedError

    def fail_writes(self, failing: bool) -> None:
        """Make the writes of checkpoints fail if ``failing`` is True, else succeed again."""
        raise NotImplementedError

    def log_marks(self) -> tuple[JournalPosition, ...]:
        """Return the last stored log marks: the positions in the journals from which a replay begins."""
        raise NotImplementedError

    def compact(self, chance: Random) -> Callable[[], None]:
        """Copy some stored entries as a compaction does; return a function that commits index rows for the copies."""
        return lambda: None

    def damage(self, chance: Random) -> object:
        """Change some stored bytes, and return a description of the damage; None if nothing is stored."""
        return None

    def check_index(self, ledger_id: int) -> None:
        """Check that all methods of the index agree about a ledger, if the storage has an index."""

    def unpacked_rows(self) -> int:
        """Return how many index rows the storage has decoded so far from their stored form."""
        return 0

    def while_writing(self, look: Callable[[], None], begun: ICheckpoint) -> None:
        """Write the entries of a checkpoint to all directories; if possible, call ``look`` during the writes."""
        self.write(begun)

    def read(self, ledger_id: int, entry_id: int) -> bytes | None:
        """Read an entry as a bookie does: from a cache, else from the kernel's page cache, else from disk."""
        found = self.storage.cached(ledger_id, entry_id)
        found = found or self.storage.resident(ledger_id, entry_id, 1, 1000)
        found = found or self.storage.load(ledger_id, entry_id, 1000)
        return None if found is None else bytes(found.entry(entry_id))

    def check(self, ledger_id: int, entry_ids: Iterable[int], salt: int = 0) -> None:
        """Check that entries can be read, and are those that :func:`entry` makes with this ``salt``."""
        for entry_id in entry_ids:
            self.assertEqual(self.read(ledger_id, entry_id), entry(ledger_id, entry_id, salt), entry_id)

    def write(self, begun: Any) -> None:
        """Write the entries of a checkpoint to all directories."""
        for directory in range(len(begun.paths)):
            begun.write(directory)
        begun.persist_log_marks()

    def checkpoint(self, number: int = 1) -> None:
        """Begin a checkpoint, write it, and complete it.

        :param number: offset of the new log mark in journal file 1.
        """
        begun = self.storage.begin_checkpoint([JournalPosition(1, number)])
        self.write(begun)
        begun.finish()

    def test_interfaces(self) -> None:
        """The storage and its checkpoints provide ``ILedgerStorage`` and ``ICheckpoint``."""
        verifyObject(ILedgerStorage, self.storage)
        begun = self.storage.begin_checkpoint([])
        verifyObject(ICheckpoint, begun)
        begun.finish()

    def test_add_and_read(self) -> None:
        """An entry can be read before, during and after the writes of a checkpoint, and after a restart."""
        self.storage.add(run(1, 0, 10))
        self.check(1, range(10))
        begun = self.storage.begin_checkpoint([JournalPosition(1, 1)])
        self.storage.add(run(1, 10, 10))
        self.check(1, range(20))
        self.write(begun)
        self.check(1, range(20))
        begun.finish()
        self.check(1, range(20))
        self.checkpoint(2)
        self.storage = self.reopen()
        self.check(1, range(20))
        self.assertEqual(self.log_marks(), (JournalPosition(1, 2),))

    def test_counts(self) -> None:
        """The counts of entries and ledgers include a new entry or ledger immediately."""
        self.storage.put_ledger(LedgerRow(1, b"key"))
        self.storage.add(run(1, 0, 10))
        self.assertEqual((self.storage.entry_count(), self.storage.ledger_count()), (10, 1))
        self.checkpoint()
        self.storage.add(run(1, 10, 5))
        self.assertEqual((self.storage.entry_count(), self.storage.ledger_count()), (15, 1))

    def test_mixed(self) -> None:
        """One call can add entries of many ledgers."""
        ids = [(ledger_id, entry_id) for entry_id in range(3) for ledger_id in (5, 6, 9)]
        entries = [entry(*each) for each in ids]
        self.storage.add(MixedRun([i for i, _ in ids], [e for _, e in ids], [e - 1 for _, e in ids], entries))
        for ledger_id in (5, 6, 9):
            self.check(ledger_id, range(3))
        self.checkpoint()
        for ledger_id in (5, 6, 9):
            self.check(ledger_id, range(3))

    def test_negatives(self) -> None:
        """Entries that were never added are not found, before and after a checkpoint."""
        self.storage.add(run(1, 5, 10))
        for _ in range(2):
            for ledger_id, entry_id in ((1, 4), (1, 15), (3, 5)):
                self.assertIsNone(self.read(ledger_id, entry_id))
            self.checkpoint()

    def test_newest_copy(self) -> None:
        """A read returns the newest copy of an entry, even if older copies are on disk or being written there."""
        self.storage.add(run(1, 0, 10))
        begun = self.storage.begin_checkpoint([])
        self.storage.add(run(1, 3, 4, salt=1))
        self.check(1, range(3, 7), salt=1)
        self.write(begun)
        begun.finish()
        self.checkpoint()
        self.check(1, range(3), salt=0)
        self.check(1, range(3, 7), salt=1)
        self.check(1, range(7, 10), salt=0)

    def test_newest_copies(self) -> None:
        """Every kind of read returns the newest copy, whatever is in caches and whatever work runs during the read."""

        for seed in range(self.n_lives):
            self.setUp()
            life = StorageLife(self, seed)
            try:
                life.run(60)
            except BaseException as error:
                error.add_note(f"life {seed}: {life.steps}")
                raise
            self.storage.close()

    def test_load(self) -> None:
        """A load from disk returns as many entries as the given size allows, but at least one."""
        self.storage.add(run(1, 0, 10))
        self.checkpoint()
        loaded = self.storage.load(1, 2, 3 * _RECORD)
        self.assertEqual((loaded.ledger_id, loaded.first, loaded.count), (1, 2, 3))
        self.assertEqual(self.storage.load(1, 9, 1).count, 1)
        self.storage.keep(loaded, self.storage.epoch)
        self.check(1, range(10))

    def test_scattered(self) -> None:
        """Single entries, in any order, are read from memory; None stands for an entry that is not in memory."""
        self.storage.add(run(1, 0, 10))
        found = self.storage.scattered((1, 1, 1), [7, 2, 30], 10_000)
        self.assertEqual(len(found.entries), 3)
        self.assertIn(found.entries[0], (None, entry(1, 7)))
        self.assertIn(found.entries[1], (None, entry(1, 2)))
        self.assertIsNone(found.entries[2])

    def test_striped_ledger(self) -> None:
        """If only every third entry of a ledger is stored, a search decodes at most two index rows for each entry."""
        entry_ids = range(0, 3000, 3)
        for entry_id in entry_ids:
            self.storage.add(run(1, entry_id))
        self.checkpoint()
        self.storage.load(1, 0, 0)
        for wanted in (entry_ids[:128], entry_ids[-128:], entry_ids[5::200]):
            before = self.unpacked_rows()
            found = self.storage.scattered((1,) * len(wanted), wanted, 100_000).entries
            self.assertLessEqual(self.unpacked_rows() - before, 2 * len(wanted))
            for entry_id, each in zip(wanted, found, strict=True):
                self.assertIn(each, (None, entry(1, entry_id)))

    def test_ends(self) -> None:
        """The storage returns a ledger's last entry in write caches, and its last entry on disk.

        The ranges of entries include the entries of both places.
        """
        self.assertEqual((self.storage.last_cached(1), self.storage.last_entry(1)), (-1, -1))
        self.storage.add(run(1, 0, 5))
        self.checkpoint()
        self.storage.add(run(1, 7, 2))
        self.assertEqual((self.storage.last_cached(1), self.storage.last_entry(1)), (8, 4))
        self.assertEqual(self.storage.entry_ranges(1), [(0, 4), (7, 8)])

    def test_states(self) -> None:
        """The state of a ledger can be read immediately and, after a checkpoint, by a storage that is opened later."""
        self.assertIsNone(self.storage.ledger(7))
        row = LedgerRow(7, b"key", fenced=True, explicit_lac=b"lac")
        self.storage.put_ledger(row)
        self.storage.put_ledger(LedgerRow(3))
        self.assertEqual((self.storage.ledger(7), self.storage.ledger_ids()), (row, [3, 7]))
        self.checkpoint()
        self.storage = self.reopen()
        self.assertEqual((self.storage.ledger(7), self.storage.ledger_ids()), (row, [3, 7]))

    def test_forget(self) -> None:
        """After a fenced ledger was deleted, the storage still knows that it was fenced, until the fence is forgotten.

        Safety rule S3 of ``docs/architecture/durability.rst``: no ordinary add succeeds after a fence.
        """
        for ledger_id, fenced in ((1, True), (2, False)):
            self.storage.put_ledger(LedgerRow(ledger_id, fenced=fenced))
            self.storage.add(run(ledger_id, 0, 5))
        self.checkpoint()
        self.storage.forget([1, 2], now=100)
        self.assertEqual((self.storage.undeleted(), self.storage.undeleted_ids()), (2, {1, 2}))
        for _ in range(2):
            self.assertEqual((self.storage.ledger_ids(), self.storage.ledger(1)), ([], None))
            self.assertEqual([self.read(ledger_id, 0) for ledger_id in (1, 2)], [None, None])
            self.assertEqual((self.storage.was_fenced(1), self.storage.was_fenced(2)), (True, False))
            self.checkpoint()
            self.assertEqual((self.storage.undeleted(), self.storage.undeleted_ids()), (0, frozenset()))
            self.storage = self.reopen()
        self.assertEqual((self.storage.forget_fences(100), self.storage.forget_fences(101)), (0, 1))
        self.assertFalse(self.storage.was_fenced(1))

    def test_forget_entries(self) -> None:
        """A state that is set after the deletion of a ledger stays; the deleted entries do not come back."""
        row = LedgerRow(1, b"key", fenced=True)
        self.storage.put_ledger(row)
        self.storage.add(run(1, 0, 5))
        self.checkpoint()
        kept = attrs.evolve(row, forgotten_at=100)
        self.storage.forget([1], now=100)
        self.storage.put_ledger(kept)
        for _ in range(2):
            self.assertEqual((self.storage.ledger_ids(), self.storage.ledger(1), self.read(1, 0)), ([1], kept, None))
            self.assertFalse(self.storage.was_fenced(1))
            self.checkpoint()
            self.storage = self.reopen()
        self.assertEqual((self.storage.forget_fences(101), self.storage.ledger(1)), (0, kept))

    def test_one_checkpoint(self) -> None:
        """Only one checkpoint runs at a time."""
        begun = self.storage.begin_checkpoint([])
        self.assertIsNone(self.storage.begin_checkpoint([]))
        begun.finish()
        self.checkpoint()

    def test_failed_write(self) -> None:
        """After a failed checkpoint, the log mark is unchanged.

        The entries stay in memory until a later checkpoint has stored them.  Safety rule S7 of
        ``docs/architecture/durability.rst``: the log mark never passes an entry that is not durable in the entry logs.
        """
        self.storage.add(run(1, 0, 10))
        self.checkpoint(1)
        self.storage.add(run(1, 10, 10))
        self.fail_writes(True)
        begun = self.storage.begin_checkpoint([JournalPosition(1, 2)])
        self.assertRaises((StorageError, OSError), self.write, begun)
        self.assertRaises(StorageError, begun.persist_log_marks)
        begun.finish()
        self.fail_writes(False)
        self.assertEqual(self.log_marks(), (JournalPosition(1, 1),))
        self.check(1, range(20))
        self.checkpoint(3)
        self.storage = self.reopen()
        self.check(1, range(20))
        self.assertEqual(self.log_marks(), (JournalPosition(1, 3),))

    def test_full(self) -> None:
        """The storage counts the bytes that wait for a checkpoint; above a limit, ``is_full()`` is true.

        Safety rule S11 of ``docs/architecture/durability.rst``: memory is bounded.
        """
        self.assertEqual((self.storage.pending_bytes(), self.storage.is_full()), (0, False))
        first = 0
        while not self.storage.is_full():
            self.storage.add(run(1, first, 1000))
            first += 1000
        self.assertGreater(self.storage.pending_bytes(), 0)
        self.checkpoint()
        self.assertEqual((self.storage.pending_bytes(), self.storage.is_full()), (0, False))

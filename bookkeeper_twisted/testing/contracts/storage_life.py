"""Random sequences of calls to a ledger storage, to check that every read returns the newest copy of an entry.

Such a sequence is called a life; each call is a step.  As in a bookie, a read from disk takes three steps: the reactor
requests entries, a read thread loads them, and the reactor passes them to the storage.  Other steps may come between
these three.  A read from disk may return any copy that was the newest at some moment since the request.  After damage
on disk, reads of the damaged entries fail until these entries are added again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from ...entries.entry_run import EntryRun
from ...entries.mixed_runs import MixedRun
from ...errors import DamageError
from ...storage.interfaces import ICheckpoint, JournalPosition, LedgerRow
from ..streams import stream

LEDGERS = (1, 2, 3)
ENTRIES = range(12)

_STEPS = {
    "add": 5, "add_mixed": 5, "whole": 6, "begin": 2, "write": 2, "finish": 2, "fail": 1, "ask": 4, "load": 4,
    "take": 4, "read": 6, "copy": 1, "move": 2, "forget": 1, "reopen": 1,
    "damage": 1, "repair": 1,
}  # fmt: skip
"""The calls among which the random sequence chooses, by the names of their methods, with the weight of each call.

A higher weight makes a call more frequent.
"""


def drawn_entry(ledger_id: int, entry_id: int, copy: int) -> bytes:
    """Make the bytes of an entry; the number ``copy`` is in its payload, and determines the payload's length."""
    numbers = (ledger_id, entry_id, entry_id - 1, 8, copy)
    return b"".join(number.to_bytes(8, "big", signed=True) for number in numbers) + bytes(copy % 3)


def _copy_of(entry: bytes) -> int:
    return int.from_bytes(entry[32:40], "big")


@attrs.define
class _Asked:
    """A read from disk in progress, with the copies of entries that it may return.

    :ivar newest: by entry id, the number of the newest copy of the entry at the time of the request.
    :ivar damaged: ids of entries of the ledger that were damaged at some moment since the request.
    :ivar loaded: the entries that the read thread has loaded; None before that.
    """

    ledger_id: int
    entry_id: int
    max_bytes: int
    epoch: int
    newest: dict[int, int]
    damaged: set[int]
    has_looked: bool = False
    loaded: EntryRun | DamageError | None = None


class StorageLife:
    """One random sequence of calls to a storage, checked against a model that knows the newest copy of each entry.

    :param case: the test case that has the storage.
    :param seed: seed of the random steps.
    :ivar steps: the calls so far, with their arguments.
    """

    def __init__(self, case: Any, seed: int) -> None:
        self.steps: list[tuple[str, object]] = []
        self._case = case
        self._chance = stream(seed, "storage")
        self._newest: dict[int, dict[int, int]] = {ledger_id: {} for ledger_id in LEDGERS}
        self._damaged: dict[int, set[int]] = {ledger_id: set() for ledger_id in LEDGERS}
        self._copies = 0
        self._checkpoint: ICheckpoint | None = None
        self._written = False
        self._commit_copies: Callable[[], None] | None = None
        self._asked: list[_Asked] = []

    @property
    def _storage(self) -> Any:
        return self._case.storage

    def run(self, n_steps: int) -> None:
        """Make ``n_steps`` random calls; then read all entries by every kind of read, before and after a restart."""
        for name in self._chance.choices([*_STEPS], [*_STEPS.values()], k=n_steps):
            step: Callable[[], object] = getattr(self, f"_{name}")
            self.steps.append((name, step()))
        self._load()
        self._take()
        self._read_all()
        self._reopen()
        self._read_all()

    def _read_all(self) -> None:
        """Read each entry alone, and as the first of several entries, by every kind of read that the storage has."""
        self._read_in_turn(ENTRIES)
        for ledger_id in LEDGERS:
            for count in (1, len(ENTRIES)):
                for entry_id in ENTRIES:
                    self._read_from(ledger_id, entry_id, count)
            self._check_ends(ledger_id)

    # -- changes --

    def _next_copies(self, ids: Sequence[tuple[int, int]]) -> list[bytes]:
        self._copies += 1
        for ledger_id, entry_id in ids:
            if self._storage.ledger(ledger_id) is None:
                self._storage.put_ledger(LedgerRow(ledger_id, b"key"))
            self._newest[ledger_id][entry_id] = self._copies
            self._damaged[ledger_id].discard(entry_id)
        return [drawn_entry(ledger_id, entry_id, self._copies) for ledger_id, entry_id in ids]

    def _somewhere(self) -> tuple[int, int]:
        """Choose a ledger id and an entry id at random, often the ids of a read in progress."""
        if self._asked and self._chance.random() < 0.4:
            asked = self._chance.choice(self._asked)
            return asked.ledger_id, asked.entry_id
        return self._chance.choice(LEDGERS), self._chance.choice(ENTRIES)

    def _add(self) -> object:
        ledger_id, first = self._somewhere()
        count = self._chance.choice((1, 2, 3, len(ENTRIES)))
        ids = [(ledger_id, entry_id) for entry_id in range(first, min(first + count, len(ENTRIES)))]
        self._storage.add(EntryRun.of_entries(ledger_id, first, self._next_copies(ids)))
        return ids

    def _add_mixed(self) -> object:
        ids = [*dict.fromkeys([self._somewhere() for _ in range(self._chance.randint(1, 4))])]
        entries = self._next_copies(ids)
        self._storage.add(MixedRun([i for i, _ in ids], [e for _, e in ids], [e - 1 for _, e in ids], entries))
        return ids

    def _forget(self) -> object:
        ledger_id = self._chance.choice(LEDGERS)
        self._storage.forget([ledger_id], now=1)
        self._newest[ledger_id] = {}
        self._damaged[ledger_id] = set()
        for asked in self._asked:
            if asked.ledger_id == ledger_id:
                # the read was requested before the ledger was deleted: accept any copy of an entry, or none
                asked.newest = {}
        return ledger_id

    def _damage(self) -> object:
        """Damage some stored bytes; do nothing if a checkpoint is in progress."""
        if self._checkpoint is not None:
            return None
        where = self._case.damage(self._chance)
        if where is not None:
            for ledger_id, newest in self._newest.items():
                self._damaged[ledger_id].update(newest)
            for asked in self._asked:
                asked.damaged |= self._damaged[asked.ledger_id]
        return where

    def _repair(self) -> object:
        """Find the entries that cannot be read, and add all of them again."""
        repaired: list[tuple[int, int]] = []
        for ledger_id, damaged in self._damaged.items():
            for entry_id in sorted(damaged):
                try:
                    held = self._storage.cached(ledger_id, entry_id) or self._storage.load(ledger_id, entry_id, 0)
                except DamageError:
                    held = None
                if held is None:
                    entries = self._next_copies([(ledger_id, entry_id)])
                    self._storage.add(EntryRun.of_entries(ledger_id, entry_id, entries))
                    repaired.append((ledger_id, entry_id))
        return repaired

    def _begin(self) -> None:
        if self._checkpoint is None:
            self._checkpoint = self._storage.begin_checkpoint([JournalPosition(1, self._copies)])

    def _write(self) -> None:
        if self._checkpoint is not None and not self._written:
            self._case.while_writing(self._read, self._checkpoint)
            self._written = True

    def _finish(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.finish()
            self._checkpoint, self._written = None, False

    def _whole(self) -> None:
        self._finish()
        self._begin()
        self._write()
        self._finish()

    def _fail(self) -> None:
        """Begin a checkpoint, and make its writes fail; a checkpoint without entries to write still succeeds."""
        self._finish()
        self._begin()
        self._case.fail_writes(True)
        try:
            self._write()
        except Exception:
            self._written = True
        self._case.fail_writes(False)

    def _copy(self) -> None:
        if self._commit_copies is None:
            self._commit_copies = self._case.compact(self._chance)

    def _move(self) -> None:
        if self._commit_copies is not None:
            self._commit_copies()
            self._commit_copies = None

    def _reopen(self) -> None:
        self._move()
        self._whole()
        self._whole()  # a second checkpoint, because the first one may have begun before the last step
        self._asked.clear()
        self._case.storage = self._case.reopen()

    # -- reads --

    def _ask(self) -> object:
        """Choose an entry at random; if it is in no cache, request a read from disk, as a bookie does.

        :returns: the ledger id and the entry id.
        """
        ledger_id, entry_id = self._somewhere()
        if self._storage.cached(ledger_id, entry_id) is None:
            newest, damaged = dict(self._newest[ledger_id]), set(self._damaged[ledger_id])
            max_bytes = self._chance.choice((0, 300))
            self._asked.append(_Asked(ledger_id, entry_id, max_bytes, self._storage.epoch, newest, damaged))
        return ledger_id, entry_id

    def _load(self) -> None:
        for asked in self._asked:
            if not asked.has_looked:
                asked.has_looked = True
                try:
                    asked.loaded = self._storage.load(asked.ledger_id, asked.entry_id, asked.max_bytes)
                except DamageError as error:
                    asked.loaded = error

    def _take(self) -> None:
        left: list[_Asked] = []
        for asked in self._asked:
            if not asked.has_looked:
                left.append(asked)
                continue
            if asked.loaded is None:
                self._case.assertNotIn(asked.entry_id, asked.newest.keys() & self._newest[asked.ledger_id].keys())
                continue
            if isinstance(asked.loaded, DamageError):
                self._case.assertIn(asked.entry_id, asked.damaged)
                continue
            run = self._storage.keep(asked.loaded, asked.epoch)
            self._check(run, asked.entry_id, asked.newest, asked.damaged)
        self._asked = left

    def _check(self, run: EntryRun, first: int, oldest: dict[int, int], damaged: set[int]) -> None:
        """Check that no entry of ``run``, from ``first`` on, is older than the copy that it must at least be.

        :param oldest: for each entry id, the number of this copy; later copies have higher numbers.
        :param damaged: ids of entries that are not checked.
        """
        for entry_id, copy in self._copies_of(run, first, "load", damaged).items():
            self._case.assertGreaterEqual(copy, oldest.get(entry_id, 0), f"load of {entry_id} of {run.ledger_id}")

    def _check_newest(self, run: EntryRun, first: int, way: str) -> None:
        """Check that the entries of a ``run``, from ``first`` on, are the newest copies; leave out damaged entries.

        :param way: name of the method that returned the run, for error texts.
        """
        newest = self._newest[run.ledger_id]
        for entry_id, copy in self._copies_of(run, first, way, self._damaged[run.ledger_id]).items():
            self._case.assertEqual(copy, newest.get(entry_id), f"{way} of entry {entry_id} of {run.ledger_id}")

    def _copies_of(self, run: EntryRun, first: int, way: str, damaged: set[int]) -> dict[int, int]:
        """Return, for each entry in ``run`` from ``first`` on, which of its copies it is; check its bytes.

        Each new copy of an entry has a higher number.

        :param way: name of the method that returned the run, for error texts.
        :param damaged: ids of entries that are left out.
        """
        self._case.assertTrue(run.first <= first <= run.last, way)
        copies = {}
        for entry_id in set(range(first, run.last + 1)).difference(damaged):
            entry = run.entry(entry_id)
            copies[entry_id] = _copy_of(entry)
            self._case.assertEqual(entry, drawn_entry(run.ledger_id, entry_id, copies[entry_id]), way)
        return copies

    def _read(self) -> object:
        ledger_id, first = self._somewhere()
        self._read_from(ledger_id, first, self._chance.choice((1, 2, len(ENTRIES))))
        self._read_in_turn((first,))
        return ledger_id, first

    def _read_in_turn(self, wanted: Sequence[int]) -> None:
        """Read the ``wanted`` entries of every ledger by one call, alternating between the ledgers."""
        ids = [(ledger_id, entry_id) for entry_id in wanted for ledger_id in LEDGERS]
        ledger_ids, entry_ids = zip(*ids, strict=True)
        found = self._storage.scattered(ledger_ids, entry_ids, 10_000).entries
        for (ledger_id, entry_id), entry in zip(ids, found, strict=True):
            if entry is not None and entry_id not in self._damaged[ledger_id]:
                newest = self._newest[ledger_id].get(entry_id)
                self._case.assertEqual(_copy_of(entry), newest, f"entry {entry_id} of {ledger_id} among several")
                self._case.assertEqual(entry, drawn_entry(ledger_id, entry_id, _copy_of(entry)))

    def _read_from(self, ledger_id: int, first: int, count: int) -> None:
        """Read entries by every method of the storage: ``scattered``, ``cached``, ``load`` and ``resident``."""
        newest, damaged = self._newest[ledger_id], self._damaged[ledger_id]
        storage = self._storage
        single = storage.scattered((ledger_id,) * count, [*range(first, first + count)], 10_000).entries
        for entry_id, entry in enumerate(single, first):
            if entry is not None and entry_id not in damaged:
                self._case.assertEqual(_copy_of(entry), newest.get(entry_id), f"single entry {entry_id} of {ledger_id}")
        held = storage.cached(ledger_id, first, count)
        if held is not None:
            self._check_newest(held, first, "cached")
            return
        epoch = storage.epoch
        try:
            loaded = storage.load(ledger_id, first, 60 * count)
        except DamageError:
            self._case.assertIn(first, damaged)
            return
        self._case.assertEqual(loaded is not None, first in newest)
        if loaded is not None:
            run = storage.resident(ledger_id, first, count, 1000)
            if run is not None:
                self._check_newest(run, first, "resident")
            self._check_newest(storage.keep(loaded, epoch), first, "load")

    def _check_ends(self, ledger_id: int) -> None:
        last = max(self._storage.last_cached(ledger_id), self._storage.last_entry(ledger_id))
        self._case.assertEqual(last, max(self._newest[ledger_id], default=-1))
        entry_ids = [e for low, high in self._storage.entry_ranges(ledger_id) for e in range(low, high + 1)]
        self._case.assertEqual(entry_ids, sorted(self._newest[ledger_id]))
        self._case.check_index(ledger_id)

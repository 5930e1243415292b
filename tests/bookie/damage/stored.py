"""A bookie with something of everything on its disk, and what it must still say when a file of it was damaged.

Entries end with a checksum, as those of real clients do: what a bookie serves is wrong if that checksum matches other
bytes than were written.
"""

from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.engine import Engine
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.crc32c import crc32c
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.bookie_status import BookieStatus, save_status
from bookkeeper_twisted.storage.cookies import DirectoryLocks, must_stamp, read_cookies, stamp
from bookkeeper_twisted.storage.interfaces import IFileSystem, IndexFactory
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_dirs import current, entry_log_ids
from bookkeeper_twisted.storage.ledger_storage import StorageSettings
from bookkeeper_twisted.storage.maintenance.scrub import DamagedEntries, Scrub, ScrubRecord, save_record
from bookkeeper_twisted.testing.executor import StepExecutor

KEY = b"k" * 20
COOKIE = b"ours: b:1\n"
JOURNALS = JournalSettings(max_size=8192, block=512, max_backups=1, preallocate=4096, fill_step=4096, max_spares=1)
STORAGE = StorageSettings(log_size_limit=40_000, write_cache_bytes=1 << 20, read_cache_bytes=1 << 16, log_direct=False)
LARGE = 6
"""A ledger whose rows are longer than a block of checksums."""

IN_TURNS = range(20, 36)
"""Ledgers that get an entry each, in turn: their index rows are packed."""


def entry(ledger_id: int, entry_id: int) -> bytes:
    """The bytes of an entry, with a checksum of its own; the sizes of some ledgers' entries differ."""
    size = 3000 if ledger_id == LARGE else 60 + (entry_id % 3 * 10 if ledger_id % 2 else 0)
    head = b"".join(n.to_bytes(8, "big", signed=True) for n in (ledger_id, entry_id, entry_id - 1, size))
    body = head + bytes((ledger_id * 37 + entry_id * 11 + i * 7) & 255 for i in range(size))
    return body + crc32c(body).to_bytes(4, "big")


def is_whole(data: bytes) -> bool:
    """Whether a client would take an entry for good."""
    return len(data) > 4 and crc32c(data[:-4]).to_bytes(4, "big") == data[-4:]


@attrs.define
class Promises:
    """What the bookie had acknowledged when it was killed."""

    entries: dict[tuple[int, int], bytes] = attrs.field(factory=dict)
    fenced: set[int] = attrs.field(factory=set)
    deleted: set[int] = attrs.field(factory=set)


class Bookie:
    """One process on a disk, from the first look at its directories on.

    :raises bookkeeper_twisted.errors.BookKeeperError: it refuses to start.
    """

    def __init__(self, fs: IFileSystem, root: str, make_index: IndexFactory) -> None:
        self.fs = fs
        self.paths = StorePaths((f"{root}/journal",), (f"{root}/l0", f"{root}/l1"), (f"{root}/i0", f"{root}/i1"))
        self.paths.make(fs)
        self._locks = DirectoryLocks(fs, self.paths.all())
        try:
            self._check_cookies()
            self.store = Store.open(fs, self.paths, make_index, 1000, b"salt", JOURNALS, STORAGE)
        except BaseException:
            self._locks.release()
            raise
        try:
            self.store.recover()
        except BaseException:
            self.close()
            raise
        clock = Clock()
        self.executor = StepExecutor(clock)
        self.failures: list[Failure] = []
        self.engine = Engine(
            self.store.storage, self.store.journals, self.executor, clock, _usage, self.failures.append
        )

    def _check_cookies(self) -> None:
        def verify(cookie: bytes, where: str) -> None:
            if cookie != COOKIE:
                raise StorageError(f"{where} has another cookie")

        files = read_cookies(self.fs, self.paths.all())
        stored = COOKIE if files.with_data else None
        if must_stamp(files, COOKIE, stored, verify, lambda cookie: set(self.paths.all())):
            stamp(self.fs, self.paths.all(), COOKIE)

    def close(self) -> None:
        """End the process; files on a real disk are closed."""
        try:
            self.store.close()
        except (StorageError, OSError):
            pass
        self._locks.release()

    def add(self, promises: Promises, ledger_id: int, first: int, count: int) -> None:
        """Add entries, each acknowledgement being a promise."""
        entries = {(ledger_id, first + i): entry(ledger_id, first + i) for i in range(count)}

        def done(part: object, error: Exception | None) -> None:
            assert error is None, error
            promises.entries.update(entries)

        run = EntryRun.of_entries(ledger_id, first, list(entries.values()))
        self.engine.bookie.add(run, KEY, False, False, False, done)
        self.executor.drain()

    def fence(self, promises: Promises, ledger_id: int) -> None:
        """Fence a ledger."""
        self.engine.bookie.fence(ledger_id, KEY).addCallback(lambda _: promises.fenced.add(ledger_id))
        self.executor.drain()

    def checkpoint(self) -> None:
        """Write what is in memory to the entry logs."""
        self.engine.checkpointer.checkpoint()
        self.executor.drain()

    def read(self, ledger_id: int, entry_id: int, max_bytes: int = 1) -> EntryRun | None:
        """What the bookie has from an entry on; None is "no such entry" or "no such ledger".

        :raises StorageError, OSError: an I/O error, for a client.
        """
        storage = self.store.storage
        if storage.ledger(ledger_id) is None:
            return None
        return storage.cached(ledger_id, entry_id) or storage.load(ledger_id, entry_id, max_bytes)

    def logs(self) -> set[str]:
        """All entry logs."""
        folders = [current(path) for path in self.paths.ledgers]
        return {f"{folder}/{log_id:x}.log" for folder in folders for log_id in entry_log_ids(self.fs, folder)}

    def scrub(self) -> list[DamagedEntries]:
        """The findings of a whole pass."""
        found: list[DamagedEntries] = []
        for directory in self.store.storage.directories:
            scrub = Scrub(self.fs, directory, 1)
            while (step := scrub.cutter.next_step()) is not None:
                scrub.take(scrub.read(step))
            scrub.close()
            found += scrub.record.findings
        return found


def _usage() -> "Deferred[tuple[int, int]]":
    return succeed((1, 1))


def fill(open_bookie: Callable[[], Bookie], midway: Callable[[], object] = lambda: None) -> Promises:
    """Entries in several logs, deleted and fenced ledgers, and, in journal files only, some more of everything.

    :param midway: called after the first of several checkpoints.
    """
    promises = Promises()
    bookie = open_bookie()
    for turn in range(3):
        for ledger_id in range(1, 6):
            bookie.add(promises, ledger_id, turn * 4, 4)
        bookie.add(promises, LARGE, turn * 25, 25)
        for ledger_id in IN_TURNS:
            bookie.add(promises, ledger_id, turn, 1)
        if turn == 2:
            bookie.fence(promises, 2)
            bookie.fence(promises, 5)
        bookie.checkpoint()
        if turn == 0:
            midway()
    bookie.engine.bookie.forget([5], 1)
    promises.deleted.add(5)
    bookie.checkpoint()
    for folder in map(current, bookie.paths.ledgers):
        save_record(bookie.fs, folder, ScrubRecord((DamagedEntries(1, 0, 3, 1, "an example"),)))
    save_status(bookie.fs, [current(path) for path in bookie.paths.ledgers], BookieStatus(True, 5, False, ("full",)))
    bookie.close()
    bookie = open_bookie()
    for turn in range(6):
        for ledger_id in (1, 3, 7):
            bookie.add(promises, ledger_id, 40 + turn * 5, 5)
    bookie.fence(promises, 3)
    bookie.add(promises, 4, 40, 1)
    bookie.close()
    return promises

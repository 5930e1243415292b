"""The interfaces of the storage engine.  For each, one test suite runs on the real class and on the simulated class."""

import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import attrs
from zope.interface import Attribute, Interface

from ..crc32c import Buffer
from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..masking import masked
from .cache.mixed_entries import Scattered
from .mixed_rows import MixedRows

REFUSED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM)
"""The ``errno`` values of a system call that the kernel, a file system or a filter of system calls does not allow.

They say nothing about the data: the same work may be done by another call.
"""

NO_INODES = "no inodes are left"
"""The text of the error of :meth:`IFileSystem.open` on a disk that can have no more files, although space may be free.
"""


class IFile(Interface):
    """An open file.  All methods block, and may raise :class:`OSError`; no method repeats a failed operation.

    If :meth:`sync` fails, all writes since the last successful sync may be lost.  Never call it again: the second call
    could succeed although these writes are lost.
    """

    path: str = Attribute("The path it was opened with; the caller that renames the file sets it.")
    direct_descriptor: int | None = Attribute("The number by which the kernel reads it directly; None if it cannot.")

    def pread(size: int, offset: int) -> bytes:
        """Read ``size`` bytes at ``offset``; return fewer bytes only at the end of the file."""

    def pread_resident(size: int, offset: int) -> bytes | None:
        """Read as :meth:`pread` does if all ``size`` bytes are in the page cache; else return None.  Never wait.

        :raises OSError: one of :data:`REFUSED`: this file system cannot read from the page
            cache alone.
        """

    def pread_resident_each(sizes: Sequence[int], offsets: Sequence[int]) -> Sequence[bytes | None]:
        """Read many ranges in one call, each as :meth:`pread_resident` does.

        :param sizes: the size of each range in bytes.
        :param offsets: the offset of each range.
        :returns: the bytes of each range; None for a range that is not completely in the page cache.
        """

    def pwrite(data: bytes, offset: int) -> None:
        """Write all of ``data`` at ``offset``; extend the file if necessary."""

    def write_zeros(size: int, offset: int) -> None:
        """Write ``size`` zeros at ``offset``, as :meth:`pwrite` does."""

    def pwritev(parts: Sequence[Buffer], offset: int, durable: bool = False) -> None:
        """Write the bytes of several buffers one after the other, as :meth:`pwrite` does.

        :param parts: the buffers.
        :param offset: offset in the file of the first buffer.
        :param durable: whether to make the bytes durable; allowed only if all earlier writes are durable already.
        """

    def sync(metadata: bool = False) -> None:
        """Make all writes durable before the return: by ``fdatasync``, or with ``metadata`` by ``fsync``."""

    def truncate(size: int) -> None:
        """Cut the file to ``size`` bytes, or extend it with zeros; durable after :meth:`sync` with ``metadata``."""

    def allocate(size: int) -> None:
        """Reserve disk space for ``size`` bytes of the file; extend the file if it is shorter.

        :raises OSError: ``ENOSPC`` if the disk has too little space; a part of the space may be reserved.
        """

    def size() -> int:
        """Return the size of the file in bytes."""

    def start_writeback(offset: int, size: int) -> None:
        """Ask the kernel to begin writing ``size`` bytes at ``offset`` to disk; a hint, which the kernel may ignore."""

    def will_read(offset: int, size: int) -> None:
        """Ask the kernel to read ``size`` bytes at ``offset`` into the page cache; a hint, which it may ignore."""

    def close() -> None:
        """Close the file without a sync; this may raise an error.  A second call has no effect."""


class IFileSystem(Interface):
    """All access of the package to files.  Paths are absolute strings; all errors are :class:`OSError`.

    A name that is created, renamed or deleted is durable only after :meth:`sync_directory` of its directory.
    """

    def open(path: str, create: bool = False, direct: bool = False) -> IFile:
        """Open an existing file for reading and writing; with ``create``, create a file, which must not exist yet.

        On a read-only file system, an existing file can be read, and writes raise an error with ``EROFS``: an operating
        system makes a file system read-only after an error of its disk, and its entries are read nevertheless.

        :param direct: whether reads and writes bypass the page cache, if the system can do that.  A read then makes the
            disk read only the blocks that it touches.  Offsets and sizes of writes must be multiples of 512.
        """

    def exists(path: str) -> bool:
        """Test whether the name ``path`` exists; a symbolic link counts even if its target does not exist."""

    def is_directory(path: str) -> bool:
        """Test whether ``path`` is a directory."""

    def list(path: str) -> list[str]:
        """Return the names in the directory ``path``, sorted."""

    def make_directories(path: str) -> None:
        """Create the directory ``path`` and its missing parents; all these names are durable on return."""

    def rename(old: str, new: str) -> None:
        """Rename ``old`` to ``new`` atomically, replacing a file ``new``; both must be in the same directory."""

    def unlink(path: str) -> None:
        """Delete the file ``path``."""

    def remove_directory(path: str) -> None:
        """Delete the empty directory ``path``; the deletion is durable on return."""

    def sync_directory(path: str) -> None:
        """Make all changes of names in the directory ``path`` durable."""

    def lock(path: str) -> "ILock":
        """Lock the file ``path`` until the lock is released or the process ends; create the file if necessary.

        :raises bookkeeper_twisted.errors.DirectoryLockedError: the file is locked already, by any process.
        """

    def usage(path: str) -> tuple[int, int]:
        """Return the total bytes of the disk of ``path``, and the free bytes that an unprivileged process may use."""

    def inodes(path: str) -> tuple[int, int]:
        """Return the number of inodes of the disk of ``path``, and how many are free.

        Without a free inode, no file can be made.  A file system without a fixed number of inodes returns two zeros.
        """

    def takes_writes(path: str) -> bool:
        """Test whether the existing file ``path`` can be opened for writing; False on a read-only file system."""

    def allocatable(path: str) -> int:
        """Return the free bytes of the disk of ``path`` that this process may use, with its privileges."""

    def disk(path: str) -> int:
        """Return a number that identifies the disk of ``path``; different disks have different numbers."""


class ILock(Interface):
    """A lock on a file, which lasts until :meth:`release`."""

    def release() -> None: ...


class IndexRow(NamedTuple):
    """An index row: where the consecutive entries ``first`` to ``last`` of a ledger are in the entry log ``log_id``.

    :ivar offset: offset in the entry log of the first record, which begins with its 4-byte size field.
    :ivar sizes: bytes in each record, size field included: one number if all are equal, else a big-endian ``u32`` each.
    :ivar checksums: the CRC32C (big-endian ``u32``) of each block of :data:`CHECKSUM_BLOCK` bytes from ``offset`` on;
        the last block may be shorter.  Empty if they are unknown, because the row was trimmed or rebuilt.
    """

    ledger_id: int
    first: int
    last: int
    log_id: int
    offset: int
    sizes: int | bytes
    checksums: bytes = b""


CHECKSUM_BLOCK = 64 * 1024


@attrs.frozen
class LedgerRow:
    """The state of a ledger on this bookie, which the index stores in addition to the index rows of its entries.

    :ivar master_key: the master key; empty if it is unknown, so that the next key that a client sends is stored.
    :ivar explicit_lac: the explicit LAC as a client has sent it, encoded; empty if no client has sent one.
    :ivar forgotten_at: the time at which this bookie deleted the ledger, in seconds since the epoch; 0 if it did not.
        The state of a fenced ledger is kept after the deletion, so that late adds are still refused.  If the ledger
        exists on other bookies, its master key is kept, too: a recovery add is then accepted, and sets this to 0.
    """

    ledger_id: int
    master_key: bytes = attrs.field(default=b"", repr=masked)
    fenced: bool = False
    explicit_lac: bytes = b""
    forgotten_at: int = 0

    @property
    def is_gone(self) -> bool:
        """Whether the ledger was deleted from the whole cluster, so that no request may create it again here."""
        return bool(self.forgotten_at) and not self.master_key


@attrs.define
class IndexBatch:
    """A change of the index, which is applied completely or not at all.

    The index rows in ``runs``, and after them the rows in ``mixed``, replace older rows of the same entries.

    :ivar deleted_ledgers: ids of ledgers whose stored index rows are deleted before the rest is applied.
    :ivar moved: index rows of entries that a compaction has copied.  A copy is accepted only if the index still has the
        entry in one of the logs ``moved_from``.  So a newer copy stays valid, and a deleted ledger stays deleted.
    :ivar complete: whether the index covers all entry logs of its directory from this commit on.
    :ivar without_runs: whether to delete all index rows first, and to mark the index as incomplete; ledger states stay.
    :ivar least_commits: minimum of the count of commits (:attr:`IRunIndex.commits`) after this commit.  The log marks
        (:mod:`.journal.log_mark`) record the count, and a start refuses an index with a lower count, because it is an
        old copy.  So a new index must continue from the recorded count.
    """

    runs: list[IndexRow] = attrs.field(factory=list)
    mixed: list[MixedRows] = attrs.field(factory=list)
    ledgers: list[LedgerRow] = attrs.field(factory=list)
    deleted_ledgers: list[int] = attrs.field(factory=list)
    moved: list[IndexRow] = attrs.field(factory=list)
    moved_from: frozenset[int] = frozenset()
    complete: bool = False
    without_runs: bool = False
    least_commits: int = 0

    def __bool__(self) -> bool:
        return self != IndexBatch(moved_from=self.moved_from)


class IRunIndex(Interface):
    """The index of one ledger directory: it tells where each entry is, and stores the state of each ledger.

    One thread may commit while others search; a search sees a commit as a whole or not at all.  All searches raise
    :class:`~bookkeeper_twisted.errors.DamageError` if the index is damaged.
    """

    complete: bool = Attribute(
        "Whether a batch said so, and no damage hides rows.  If not, what the index does not hold may still exist (S5)."
    )

    checked: bool = Attribute("Whether its structure was verified.  Until then an absence raises a StorageError (S5).")
    in_doubt: bool = Attribute(
        "Whether the last commit failed, and a restart may find it.  Then :meth:`check` fails, so no log is deleted."
    )
    commits: int = Attribute("How many batches were committed; each commit stores it.  It never becomes lower.")

    def check() -> int:
        """Verify the structure of the file; slow for a large index.  Called on a maintenance thread.

        :returns: the number of bytes that were read.
        :raises bookkeeper_twisted.errors.DamageError: the index is damaged, and searches may miss index rows.
        :raises bookkeeper_twisted.errors.StorageError: a commit has failed, but the index may contain the complete
            commit after a restart.
        """

    def interrupt() -> None:
        """Make a running :meth:`check` and all later checks fail with a StorageError.  Any thread may call this."""

    def commit(batch: IndexBatch) -> None:
        """Apply a ``batch`` completely or not at all; it is durable on return.  Called on the flush thread.

        An older row that contains entries of a new row is trimmed or split; its remaining parts have no checksums.

        :raises bookkeeper_twisted.errors.StorageError: the commit failed, and nothing was applied.  But if it cannot be
            overwritten either, the index may contain the complete commit after a restart; until the next successful
            commit, :meth:`check` then raises an error.
        """

    def find(ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id`` of ``ledger_id``; None if the index lacks the entry."""

    def rows_ahead(ledger_id: int, entry_id: int, limit: int) -> Sequence[IndexRow | bytes]:
        """Return the index row of an entry, and some of the next rows of the ledger, if these are cheap to read.

        :returns: at most ``limit`` rows, sorted; a byte string has one or more packed rows (36 bytes each).
        """

    def rows(ledger_id: int) -> Iterator[IndexRow]:
        """Yield the index rows of ``ledger_id``, sorted by entry."""

    def last_entry(ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the index; -1 if the index has no entries of the ledger."""

    def ledgers() -> Iterator[LedgerRow]:
        """Yield the states of all ledgers, sorted by ledger id."""

    def page(after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        """Return the next index rows of all ledgers, sorted by ledger and entry.

        :param after: ledger id and first entry id of the row after which to begin, ``(-1, -1)`` for the first row.
        :param limit: maximum number of rows to return.
        :param log_ids: if given, return only rows that refer to these entry logs.
        """

    def live() -> dict[int, tuple[int, int]]:
        """Return, for each entry log, the number of its entries that the index refers to, and their bytes."""

    def close() -> None: ...


IndexFactory = Callable[[IFileSystem, str, bool], IRunIndex]
"""A function that opens the index of a directory: (file system, path, whether to begin a new index in its place)."""


class JournalPosition(NamedTuple):
    """A position in a journal, ordered by file and offset."""

    file_id: int = 0
    offset: int = 0


class ILedgerStorage(Interface):
    """The storage of one bookie: the entries and the states of its ledgers, in one or more ledger directories.

    A ledger is in directory number ``ledger_id mod n`` of ``n`` directories, as in Apache's ``DbLedgerStorage``.
    """

    directories: Sequence[Any] = Attribute("Whose entry logs the bookie collects; empty if the storage does so itself.")

    epoch: int = Attribute("It changes when entries leave the write caches: what was read before may be older copies.")

    # -- counts, for metrics; any thread --

    write_cache_hits: int = Attribute("Answers of cached() from the write caches so far.")
    read_cache_hits: int = Attribute("Answers of cached() from the read cache so far.")
    cache_misses: int = Attribute("Calls of cached() that found nothing so far.")
    resident_hits: int = Attribute("Answers of resident() so far.")

    def pending_entries() -> int:
        """Return the number of entries in the active write caches."""

    def read_cache_bytes() -> int:
        """Return the number of bytes in the read cache."""

    def read_cache_entries() -> int:
        """Return the number of entries in the read cache."""

    def ledger_count() -> int:
        """Return the number of known ledgers."""

    def undeleted() -> int:
        """Return the number of deleted ledgers whose index rows are not deleted yet."""

    def undeleted_ids() -> frozenset[int]:
        """Return the ids of the deleted ledgers whose index rows are not deleted yet; on the reactor thread only."""

    def entry_count() -> int:
        """Return the number of stored entries.

        After a start of the bookie, the number is too low until maintenance has counted the entries stored before.
        """

    # -- reactor thread: memory only --

    def ledger(ledger_id: int) -> LedgerRow | None:
        """Return the state of ``ledger_id``, or None if the bookie does not know this ledger."""

    def put_ledger(row: LedgerRow) -> None:
        """Set the state of a ledger to ``row``, even if it was deleted; the next checkpoint makes the state durable."""

    def ledger_ids() -> list[int]:
        """Return the ids of all known ledgers, ascending."""

    def forget(ledger_ids: Sequence[int], now: int) -> None:
        """Delete ledgers: their entries cannot be read any more; the next checkpoint deletes their index rows.

        A later add creates such a ledger again; the caller refuses the add if :meth:`was_fenced` is true.

        :param now: the present time, in seconds since the epoch.
        """

    def was_fenced(ledger_id: int) -> bool:
        """Test whether ``ledger_id`` was fenced when it was deleted here; False again after :meth:`forget_fences`."""

    def forget_fences(before: int) -> int:
        """Forget the fences of ledgers that were deleted before a given time; return the number of these ledgers.

        :param before: the time, in seconds since the epoch.
        """

    def add(entries: Entries) -> None:
        """Insert ``entries`` into the write cache; they replace older copies of the same entries."""

    def cached(ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return the run (consecutive entries) in a cache that contains an entry; None if no cache has the entry.

        Its entries from ``entry_id`` on are the newest copies; earlier entries of the run may be out of date.

        :param max_count: maximum number of entries that the caller can use, from ``entry_id`` on; the run may have more
            or fewer.
        """

    def resident(ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        """Read consecutive entries of an entry log as :meth:`load` does, but only from the kernel's page cache.

        Call this if :meth:`cached` returns None.  All returned entries are the newest copies.  This call never waits.

        The read needs one system call.  If a client reads a few entries at a time in order, more entries than wanted
        are read; later calls of :meth:`cached` find these.

        :param max_count: number of wanted entries; the run may have more.
        :returns: None if the entries are not in the page cache, or if they are damaged; :meth:`load` then raises the
            error.
        """

    def scattered(ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        """Return the requested entries, of any ledgers, as far as they are cached or can be read without waiting.

        The ids may be in any order.

        :param max_bytes: the result ends as soon as the found entries have this number of bytes.
        """

    def last_cached(ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the write caches; -1 if they have none of its entries."""

    def keep(run: EntryRun, epoch: int) -> EntryRun:
        """Return the entries of ``run``, which :meth:`load` has read, that are certainly the newest copies.

        The read cache may keep the returned entries for later reads.

        :param epoch: the value of :attr:`epoch` before the load, when :meth:`cached` did not find the first entry.
        :returns: the entries before the first entry that may have a newer copy; at least the first entry of the run.
        """

    def pending_bytes() -> int:
        """Return the number of bytes in the active write caches."""

    def is_full() -> bool:
        """Test whether an active write cache has reached its limit, so that adds must wait."""

    def begin_checkpoint(log_marks: Sequence[JournalPosition]) -> "ICheckpoint | None":
        """Begin a checkpoint: swap the write caches.  Return None if another checkpoint is in progress.

        :param log_marks: for each journal, a position before which all records are in the storage already.
        """

    # -- read threads --

    def load(ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        """Read consecutive entries of an entry log, from ``entry_id`` on: as many as fit ``max_bytes``, at least one.

        This takes one ``pread``, and verifies the ids of the first and the last entry, and the checksums of complete
        blocks.  A write cache may have newer copies; :meth:`keep` removes such entries from the run.

        :returns: None only if the index proves that the entry does not exist.
        :raises bookkeeper_twisted.errors.DamageError: the bytes differ from those that were written.
        :raises OSError: the entry log could not be read.
        """

    def last_entry(ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` on disk, or -1 if there is none.

        :raises bookkeeper_twisted.errors.DamageError: the index is damaged.
        """

    def entry_ranges(ledger_id: int) -> list[tuple[int, int]]:
        """Return the ranges of consecutive entries of a ledger that are on disk or in a write cache.

        :returns: first and last id of each range, ascending.
        :raises bookkeeper_twisted.errors.DamageError: the index is damaged.
        """

    # -- end --

    def close() -> None:
        """Close all files, without a checkpoint."""


class ICheckpoint(Interface):
    """A checkpoint in progress: call :meth:`write` for each directory, :meth:`persist_log_marks` and :meth:`finish`."""

    paths: Sequence[str] = Attribute("The paths of the directories for which :meth:`write` has to be called.")

    def write(directory: int) -> None:
        """Write a directory's cached entries to entry logs, sync them, commit index rows.  Called on a flush thread.

        :param directory: number of the directory, from 0, as in :attr:`paths`.
        :raises bookkeeper_twisted.errors.StorageError: a step failed; the next checkpoint writes the entries again.
        """

    def persist_log_marks() -> None:
        """Write the new log marks of the journals, after all directories were written.  Called on any thread.

        :raises bookkeeper_twisted.errors.StorageError: a write failed, or a directory was not written; the
            log marks are unchanged.
        """

    def finish() -> None:
        """Drop the written write caches; keep a cache whose write failed.  The last step, on the reactor thread."""

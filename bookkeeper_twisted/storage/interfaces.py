"""The interfaces of the engine.  Each has a real and a simulated provider and one contract suite."""

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


class IFile(Interface):
    """An open file.  All methods block and raise :class:`OSError`; none retries.

    After a failed :meth:`sync` all writes since the last good one are in doubt; never repeat it (S10).
    """

    path: str = Attribute("The path it was opened with; the caller that renames the file sets it.")
    direct_descriptor: int | None = Attribute("The number by which the kernel reads it directly; None if it cannot.")

    def pread(size: int, offset: int) -> bytes:
        """Read up to ``size`` bytes at ``offset``; fewer only at the end of the file."""

    def pread_resident(size: int, offset: int) -> bytes | None:
        """Read as :meth:`pread` does if all ``size`` bytes are in memory, else return None; never wait for the disk.

        :raises OSError: ``EOPNOTSUPP``: this file system cannot tell which bytes are in memory.
        """

    def pread_resident_each(sizes: Sequence[int], offsets: Sequence[int]) -> list[bytes | None]:
        """Read many ranges as :meth:`pread_resident` does, by one call.

        :param sizes: bytes of each place.
        :param offsets: one for each size.
        :returns: the bytes of each place; None for a place that is not in memory as a whole.
        """

    def pwrite(data: bytes, offset: int) -> None:
        """Write all of ``data`` at ``offset``, extending the file if necessary.  Complete a short write, or raise."""

    def pwritev(parts: Sequence[Buffer], offset: int, durable: bool = False) -> None:
        """Write the parts one after the other, as :meth:`pwrite` does.

        :param parts: any number of buffers.
        :param offset: of the first part.
        :param durable: make the parts durable before the return; allowed if all earlier writes are durable already.
        """

    def sync(metadata: bool = False) -> None:
        """Make everything written durable (``fdatasync``; ``fsync`` with ``metadata``) before the return."""

    def truncate(size: int) -> None:
        """Cut the file to ``size`` bytes, or extend it with zeros; durable after :meth:`sync` with ``metadata``."""

    def allocate(size: int) -> None:
        """Extend the file to ``size`` bytes, if it is shorter, and reserve disk space for all these bytes.

        :raises OSError: ``ENOSPC``: the disk has less; the file may have taken a part of it.
        """

    def size() -> int:
        """Return the bytes in the file."""

    def start_writeback(offset: int, size: int) -> None:
        """Ask the kernel to begin writing the ``size`` bytes at ``offset``: a hint without any guarantee."""

    def will_read(offset: int, size: int) -> None:
        """Ask the kernel to load the ``size`` bytes at ``offset`` into memory: a hint without any guarantee."""

    def close() -> None:
        """Close the file without a sync; may raise.  A second call has no effect."""


class IFileSystem(Interface):
    """All file access of the package (safety 3.1).  Paths are absolute strings; errors are :class:`OSError`.

    Creating, renaming and removing a name is durable only after :meth:`sync_directory` of its folder.
    """

    def open(path: str, create: bool = False, direct: bool = False) -> IFile:
        """Open a file for reading and writing.  With ``create`` the file must not exist, else it must exist.

        :param direct: make reads and writes bypass the page cache, if the system can.  A read then costs
            the disk the blocks it touches and nothing else; offsets and sizes of writes are multiples of 512.
        """

    def exists(path: str) -> bool:
        """Test whether the name ``path`` exists, even if it is a dangling link."""

    def is_directory(path: str) -> bool:
        """Test whether ``path`` is a directory."""

    def list(path: str) -> list[str]:
        """Return the names in the directory ``path``, sorted."""

    def make_directories(path: str) -> None:
        """Create the directory ``path`` and its missing parents, each durable in its parent."""

    def rename(old: str, new: str) -> None:
        """Rename ``old`` to ``new`` atomically, replacing ``new``; both names are in one directory."""

    def unlink(path: str) -> None:
        """Remove the file ``path``."""

    def remove_directory(path: str) -> None:
        """Remove the empty directory ``path``; the removal is durable in its parent."""

    def sync_directory(path: str) -> None:
        """Make the names in the directory ``path`` durable."""

    def lock(path: str) -> "ILock":
        """Lock the file ``path`` for the life of the process or until the release; create the file if necessary.

        :raises bookkeeper_twisted.errors.DirectoryLockedError: another process or object holds it.
        """

    def usage(path: str) -> tuple[int, int]:
        """Return total and usable bytes of the disk that holds ``path``; usable means free for every user."""

    def allocatable(path: str) -> int:
        """Return the usable bytes of the disk of ``path``, and the reserved bytes that this process may use."""

    def disk(path: str) -> int:
        """Return the number of the disk that holds ``path``; different disks have different numbers."""


class ILock(Interface):
    """A lock on a file, held until its release."""

    def release() -> None: ...


class IndexRow(NamedTuple):
    """Entries ``first .. last`` of a ledger, contiguous in entry log ``log_id``.

    :ivar offset: of the first record's size word.
    :ivar sizes: bytes of every record (size word included) if uniform, else one ``u32`` big-endian
        record size after the other.
    :ivar checksums: one CRC32C (``u32`` big-endian) per :data:`CHECKSUM_BLOCK` bytes from ``offset``
        on, the last one over what remains; empty if unknown (a trimmed or rebuilt row).
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
    """The state of a ledger, which an index keeps besides the rows of entries.

    :ivar master_key: empty if unknown: the first key sent replaces it.
    :ivar explicit_lac: the client's LAC packet, or empty.
    :ivar forgotten_at: seconds since the epoch when a fenced ledger was deleted here; 0 if it is not deleted, or has
        entries again.  Such a ledger refuses late adds (S3); it keeps its master key if the cluster still
        has the ledger on other bookies, so that recovery adds can bring it back.
    """

    ledger_id: int
    master_key: bytes = attrs.field(default=b"", repr=masked)
    fenced: bool = False
    explicit_lac: bytes = b""
    forgotten_at: int = 0

    @property
    def is_gone(self) -> bool:
        """Whether the cluster had deleted the ledger, so that no request can bring the ledger back."""
        return bool(self.forgotten_at) and not self.master_key


@attrs.define
class IndexBatch:
    """One atomic change of the index: ``runs`` in order, then ``mixed`` rows, replace all rows with the same entries.

    :ivar deleted_ledgers: ledgers whose stored rows are deleted before the rest of the batch is applied.
    :ivar moved: rows of copies in another log.  Only entries whose stored row lies in one of the logs
        ``moved_from`` are replaced, so a newer copy stays and a deleted ledger does not come back (S8).
    :ivar complete: from this commit on the index covers every entry log beside it.
    :ivar without_runs: delete all stored rows of entries, and mark the index as incomplete; ledger states stay.
    """

    runs: list[IndexRow] = attrs.field(factory=list)
    mixed: list[MixedRows] = attrs.field(factory=list)
    ledgers: list[LedgerRow] = attrs.field(factory=list)
    deleted_ledgers: list[int] = attrs.field(factory=list)
    moved: list[IndexRow] = attrs.field(factory=list)
    moved_from: frozenset[int] = frozenset()
    complete: bool = False
    without_runs: bool = False

    def __bool__(self) -> bool:
        return self != IndexBatch(moved_from=self.moved_from)


class IRunIndex(Interface):
    """A map from ``(ledger, entry)`` to rows, and from ``ledger`` to ``LedgerRow``, for one ledger directory.

    One thread may commit while another looks up; a look-up sees whole commits only.  All look-ups raise
    :class:`~bookkeeper_twisted.errors.DamageError` if the index cannot be read (S5).
    """

    complete: bool = Attribute(
        "Whether a batch said so.  An index that is not complete knows nothing of what it does not hold (S5)."
    )

    checked: bool = Attribute(
        "Whether its structure was verified.  Until then an absence raises a StorageError: rows may be hidden (S5)."
    )

    def check() -> int:
        """Verify that no row is hidden by damage to the file; takes long for a large index.  Maintenance lane.

        :returns: the bytes that were read.
        :raises bookkeeper_twisted.errors.DamageError: the index is damaged: rows may be hidden.
        :raises bookkeeper_twisted.errors.StorageError: a commit failed, and a restart may find its rows.
        """

    def interrupt() -> None:
        """Make a running or later :meth:`check` fail soon with a StorageError.  Any thread."""

    def commit(batch: IndexBatch) -> None:
        """Apply the ``batch`` atomically; it is durable on return.  Flush lane.

        A new row replaces the entries it covers; older rows that overlap it are trimmed or split (without the checksums
        of the part that is cut off).

        :raises bookkeeper_twisted.errors.StorageError: the commit failed; nothing was applied, and a restart finds
            nothing of it, unless :meth:`check` says otherwise.
        """

    def find(ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the row that holds ``entry_id`` of ``ledger_id``, or None."""

    def rows_ahead(ledger_id: int, entry_id: int, limit: int) -> Sequence[IndexRow | bytes]:
        """Return the row of an entry, then rows of the ledger behind it as far as they cost little to read.

        :returns: up to ``limit`` rows, ascending, some perhaps packed; no rows if the entry has none.
        """

    def rows(ledger_id: int) -> Iterator[IndexRow]:
        """Yield the rows of ``ledger_id``, ascending."""

    def last_entry(ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the index, or -1."""

    def ledgers() -> Iterator[LedgerRow]:
        """Return the states of all ledgers, ascending."""

    def page(after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        """Return the next rows, ordered by ledger and first entry.

        :param after: ledger and first entry of the last row seen, ``(-1, -1)`` to begin.
        :param log_ids: rows of these logs only.
        """

    def live() -> dict[int, tuple[int, int]]:
        """Count by entry log, if it has any, the entries to which rows refer, and the bytes of their records."""

    def close() -> None: ...


IndexFactory = Callable[[IFileSystem, str, bool], IRunIndex]
"""Opens the index of a directory; with the flag, begins a new one in the place of what is there."""


@attrs.frozen(order=True)
class JournalPosition:
    """A position in a journal, which stands for all records before it.  Ordered by file, then offset."""

    file_id: int = 0
    offset: int = 0


class IJournal(Interface):
    """One journal directory, in which groups are appended, files recycled and records replayed.

    Made by ``Journal.open``, which cuts a torn tail.  After any exception from a writing method the
    journal is failed: every further call raises :class:`~bookkeeper_twisted.errors.StorageFailedError`.
    Once the bookie serves, only the journal lane calls it, except that :meth:`prepare` and
    :meth:`release` may run on one other lane.
    """

    directory: str = Attribute("Where its files are, ``current`` included.")
    position: JournalPosition = Attribute("End of the last group written.")
    durable: JournalPosition = Attribute("End of the last group synced.")

    def write_group(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
        """Append one group; with ``sync``, make this group and all earlier ones durable.

        :param records: byte strings of one or more whole records each (``i32 length``, body).
        :returns: the end of the group.  The file is rotated *after* a group, so that a group never
            spans two files; the old file is synced and closed before any record in the new one is acked.
        """

    def sync() -> JournalPosition:
        """Make all written groups durable."""

    def replay(mark: JournalPosition) -> Iterator[bytes]:
        """Yield the bodies of all records after ``mark``, in order.  Only before the first write.

        :raises bookkeeper_twisted.errors.JournalDamageError: records that were durable are missing.
        """

    def release(mark: JournalPosition) -> None:
        """Release the files that lie completely below a position: keep them as backups, recycle or remove them.

        :param mark: the position; every later replay begins there or after it.
        """

    def prepare() -> bool:
        """Take one bounded step to prepare the next file (recycled or zero-filled), so that a rotation is one rename.

        :returns: whether no step is left, as the file is ready or the disk full; if not, call it again.
        """

    def close() -> None: ...


class ILedgerStorage(Interface):
    """The entries and ledger states of one bookie, in one or more ledger directories.

    A ledger belongs to directory ``ledger_id mod n`` (as in Java's DbLedgerStorage).
    """

    directories: Sequence[Any] = Attribute("Whose entry logs the bookie collects; empty if the storage does so itself.")

    epoch: int = Attribute("It changes when entries leave the write caches: what was read before may be older copies.")

    # -- counts, for metrics; any thread --

    write_cache_hits: int = Attribute("Answers of cached() from the write caches so far.")
    read_cache_hits: int = Attribute("Answers of cached() from the read cache so far.")
    cache_misses: int = Attribute("Calls of cached() that found nothing so far.")
    resident_hits: int = Attribute("Answers of resident() so far.")

    def pending_entries() -> int:
        """Return the number of entries in the active write cache."""

    def read_cache_bytes() -> int:
        """Return the bytes in the read cache."""

    def ledger_count() -> int:
        """Return the number of known ledgers."""

    def undeleted() -> int:
        """Return the number of deleted ledgers whose deletion is not durable yet."""

    def entry_count() -> int:
        """Return the number of stored entries; those of earlier starts are included once they have been counted."""

    # -- reactor: memory only --

    def ledger(ledger_id: int) -> LedgerRow | None:
        """Return the state of ``ledger_id``, or None if this bookie does not know the ledger."""

    def put_ledger(row: LedgerRow) -> None:
        """Set the state of a ledger to ``row``, even of a deleted ledger; the next checkpoint makes it durable."""

    def ledger_ids() -> list[int]:
        """Return the ids of all known ledgers, ascending."""

    def forget(ledger_ids: Sequence[int], now: int) -> None:
        """Delete ledgers: their entries are gone immediately; the next checkpoint deletes their stored rows.

        A later add to one of the ids makes a new ledger.  None should come: the caller
        refuses adds to a ledger that :meth:`was_fenced`.

        :param now: seconds since the epoch.
        """

    def was_fenced(ledger_id: int) -> bool:
        """Test whether the deleted ledger ``ledger_id`` had been fenced here (S3); old fences are forgotten."""

    def forget_fences(before: int) -> int:
        """Forget the fences of ledgers that were deleted long ago, and return their number.

        :param before: seconds since the epoch; ledgers deleted earlier than this.
        """

    def add(entries: Entries) -> None:
        """Insert ``entries`` into the write cache; the newest copy of an entry wins."""

    def cached(ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return a run in memory that holds ``entry_id`` of ``ledger_id``, or None; prefer the write caches.

        All its entries from ``entry_id`` on are the newest copies.

        :param max_count: most entries that the caller can use from there on; the run may have more, or fewer.
        """

    def resident(ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        """Return entries that are not :meth:`cached` as :meth:`load` does, but never wait for the disk.

        All returned entries are the newest copies.

        It makes one system call, so it reads only the wanted entries, and more only if a client reads small
        pieces in order: the other entries are then :meth:`cached` for a while.

        :param max_count: entries wanted; the run may have more.
        :returns: None if memory does not hold the entries, or they are damaged: :meth:`load` raises the error.
        """

    def scattered(ledger_id: int, entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        """Return single entries, in any order of ids, that :meth:`cached` or :meth:`resident` find, or fewer.

        :param max_bytes: the look-up ends when the entries have so many bytes; at least one is looked up.
        """

    def last_cached(ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the write caches, or -1."""

    def keep(run: EntryRun, epoch: int) -> EntryRun:
        """Accept a ``run`` that :meth:`load` read; cache it if the system cannot tell which bytes are in memory.

        :param epoch: :attr:`epoch` at the request, in the turn in which its first entry was not :meth:`cached`.
        :returns: its entries up to one that has, or may have, a newer copy; at least the first.
        """

    def pending_bytes() -> int:
        """Return the bytes in the active write cache."""

    def is_full() -> bool:
        """Test whether the active write cache has reached its limit, so that adds must wait (S11)."""

    def begin_checkpoint(marks: Sequence[JournalPosition]) -> "ICheckpoint | None":
        """Begin a checkpoint by a swap of the write caches; return None while another checkpoint is in progress.

        :param marks: one position per journal; the storage has every record below it already (S7).
        """

    # -- read lane --

    def load(ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        """Read contiguous entries of a log from ``entry_id`` upwards, as many as fit ``max_bytes``, at least one.

        One ``pread``; checks the ids at both ends and the checksums of whole blocks.  The write caches may hold newer
        copies, which :meth:`keep` finds.

        :returns: None if the index knows that the entry is not there (S5).
        :raises bookkeeper_twisted.errors.DamageError: the bytes are not as they were written.
        :raises OSError: the log could not be read.
        """

    def last_entry(ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` on disk, or -1.

        :raises bookkeeper_twisted.errors.DamageError: the index cannot be read.
        """

    def entry_ranges(ledger_id: int) -> list[tuple[int, int]]:
        """Return the first and last id of each contiguous range of a ledger on disk and in the write caches.

        :returns: ascending, both ids included.
        :raises bookkeeper_twisted.errors.DamageError: the index cannot be read.
        """

    # -- life --

    def close() -> None:
        """Close the files, without a checkpoint."""


class ICheckpoint(Interface):
    """One checkpoint in progress: :meth:`write` for each directory, then :meth:`persist_marks` and :meth:`finish`."""

    n_directories: int = Attribute("How many directories :meth:`write` has to be called for.")

    def write(directory: int) -> None:
        """Write the entry logs of one directory, sync them, commit their index rows.  On the directory's flush lane.

        :param directory: its index, from 0.
        :raises bookkeeper_twisted.errors.StorageError: it failed; the swapped entries of the directory stay readable
            in memory, and the next checkpoint writes them again.
        """

    def persist_marks() -> None:
        """Write the new marks after every directory is written.  On any one lane.

        :raises bookkeeper_twisted.errors.StorageError: it failed, or a directory was not written (S7): the marks
            have not moved.
        """

    def finish() -> None:
        """Release the written caches, keep the others.  On the reactor thread, after every begun step has ended."""

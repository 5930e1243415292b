"""The files of one journal directory: they are prepared before their use, and recycled or deleted after it.

A file is created under the name ``<n>.spare``, which no reader takes for a journal file.  It gets a header and zeros,
is synced, and only then renamed to ``<id>.txn``.  So every journal file has a header, and to begin the next file takes
only a rename and a sync of the directory.  A sync after a write to existing blocks is several times faster than after a
write that extends the file, or that is the first to blocks that are only allocated.  So old files are renamed to spare
files and overwritten later (recycled), and new files are filled with zeros in advance.  Where a file is longer than
that, zeros are written in advance of small groups only (:meth:`JournalFiles.make_room`): for larger ones they would
double what the disk has to write, and each of its syncs serves many records.

Two threads share a JournalFiles object: ``begin_next`` runs on the journal thread, ``prepare`` and ``release`` on one
other thread.  They pass files to each other through deques, whose operations are atomic.
"""

import errno
import posixpath
from collections import deque
from contextlib import closing
from itertools import count

import attrs

from ...errors import NO_FILES, NO_SPACE, JournalDamageError
from ..interfaces import REFUSED, IFile, IFileSystem
from ..ledger_dirs import journal_ids, journal_name
from .format import HEADER_SIZE, SECTOR, FileIdentity, pack_header, parse_header
from .known_sizes import KnownSizes

SPARE_SUFFIX = ".spare"
# number of zero bytes to write to a file while the journal waits for it; fewer than usual, so that it waits less
_AT_ONCE = 1 << 20
# maximum number of bytes of a small group: more than the reactor thread writes itself, less than many clients fill
_SMALL = 32 << 10


@attrs.frozen
class JournalSettings:
    """Settings for the files of a journal; all sizes are in bytes.

    :ivar max_size: a file that is longer than this gets no more records; the next file is begun.
    :ivar alignment: each group of records (written and synced together) is padded up to a multiple of this number,
        itself a multiple of 512.
    :ivar block: each group is followed by zeros up to a multiple of this number, itself a multiple of 512.  So whole
        pages are written, and the kernel never has to read the rest of a page of a recycled file.
    :ivar max_backups: number of files that are kept as backups although a replay no longer needs them, because all
        their records are in the storage.  None are kept while the disk has fewer than ``max_size`` bytes free.
    :ivar preallocate: a new file is filled with zeros up to this size before its use.  If it becomes full before it has
        ``max_size`` bytes, it is extended by at most this number of bytes at a time.
    :ivar fill_step: maximum number of bytes of zeros that one call of
        :meth:`~bookkeeper_twisted.storage.journal.interfaces.IJournal.prepare` writes.
    :ivar reuse: whether files that are no longer needed are recycled: overwritten as the next journal files.
    :ivar max_spares: maximum number of files that wait to be recycled; further files are deleted.
    :ivar direct: whether writes bypass the page cache; a cache is of no use, because only a replay reads the journal.
    """

    max_size: int = 2048 << 20
    alignment: int = 512
    block: int = 4096
    max_backups: int = 5
    preallocate: int = 16 << 20
    fill_step: int = 4 << 20
    reuse: bool = True
    max_spares: int = 2
    direct: bool = True


@attrs.define
class PreparedFile:
    """A prepared journal file: it has a header, and no records yet.

    :ivar file_id: the file id in its header.
    :ivar filled: the size of the file in bytes, rounded down to whole sectors.  A new file was filled with zeros up to
        this size, so that it has disk space for all these bytes.
    :ivar recycled: whether it is an old journal file that is used again.
    """

    file: IFile
    file_id: int
    filled: int
    recycled: bool


class JournalFiles:
    """The journal files of a directory, and its spare files, which are prepared for later use as journal files.

    :ivar ids: ids of the journal files, ascending.
    :ivar sizes: sizes that the newest journal files must have at least, because a shorter file was cut; they are stored
        in the file ``journalSizes``.
    :ivar created, recycled: numbers of new and of recycled files that became journal files so far.
    """

    def __init__(self, fs: IFileSystem, directory: str, settings: JournalSettings, first_id: int, salt: bytes) -> None:
        self._fs = fs
        self._directory = directory
        self._settings = settings
        self._salt = salt
        self.ids = journal_ids(fs, directory)
        self.sizes = KnownSizes(fs, directory)
        self.created = self.recycled = 0
        self._next_id = self.ids[-1] + 1 if self.ids else first_id
        self._spares: deque[str] = deque()
        self._filling: PreparedFile | None = None
        self._written, self._may_grow = 0, True  # of the newest file
        self._ready: deque[PreparedFile] = deque()
        self._names = count(self._collect_spares() + 1)

    def path(self, file_id: int) -> str:
        """Return the path of the journal file ``file_id``."""
        return posixpath.join(self._directory, journal_name(file_id))

    def begin_next(self) -> tuple[IFile, FileIdentity]:
        """Begin the next journal file, and return it; its header, its name and its recorded size are durable.

        :raises OSError: no file could be prepared.  If the process had no file descriptor left
            (:data:`~bookkeeper_twisted.errors.NO_FILES`), call this again later.
        """
        self.sizes.open()
        file_id = self._next_id
        try:
            prepared = self._ready.popleft()
        except IndexError:
            prepared = self._prepare_file(file_id)
            while prepared.filled < min(_AT_ONCE, self._settings.preallocate):
                self._fill(prepared, _AT_ONCE)
        # the file was prepared for an id that another file has got meanwhile: write the header again
        if prepared.file_id != file_id:
            self._write_header(prepared.file, file_id)
        self._name(prepared, self.path(file_id))
        # record the size only after the rename: a start fails if a file with a recorded size is missing
        self.sizes.record(file_id, prepared.filled)
        self._written, self._may_grow = prepared.filled, True
        self._next_id += 1
        self.ids.append(file_id)
        if prepared.recycled:
            self.recycled += 1
        else:
            self.created += 1
        return prepared.file, FileIdentity.of(file_id, self._salt)

    def has_room(self, end: int) -> bool:
        """Test whether a group up to offset ``end`` is written to blocks of the newest file that were written before.

        So it does not extend the file: the size of these blocks is durable, and recorded in ``journalSizes``.
        """
        return end <= self._written

    def make_room(self, file: IFile, start: int, end: int) -> None:
        """Prepare the newest file for the next group of records if it has no room for it.

        A small group gets blocks that were written before, so that its sync does not have to make new ones durable: if
        there are none, zeros are written to the blocks of this group and of many that follow.  A larger group gets
        blocks that are only allocated.  If the file becomes longer, its new size is durable and recorded before the
        group is written, so that a later start notices if something has cut the file.

        A file with ``max_size`` bytes is not extended.  Neither is a file on a disk that is full, or cannot allocate
        space in advance: each write of a group then extends it.

        :param file: the newest file.
        :param start: offset at which the next group will begin: nothing after it is needed.
        :param end: offset at which it will end, with the zeros after it.
        """
        known, settings = self.sizes.newest, self._settings
        is_small = end - start <= _SMALL
        if end <= (self._written if is_small else known.size) or not self._may_grow:
            return
        if end > known.size >= settings.max_size:
            return
        more = start + min(_AT_ONCE, settings.preallocate) if is_small else known.size + settings.preallocate
        size = max(end, min(more, max(known.size, settings.max_size)))
        size += -size % SECTOR
        try:
            if is_small:
                file.write_zeros(size - start, start)
            else:
                file.allocate(size)
        except OSError as error:
            if error.errno not in (*NO_SPACE, *REFUSED):
                raise
            self._may_grow = False
            return
        file.sync(metadata=True)
        if is_small:
            self._written = size
        if size > known.size:
            self.sizes.record(known.file_id, size)

    def _name(self, prepared: PreparedFile, path: str) -> None:
        """Rename a prepared file to its name as a journal file.

        If the process has no file descriptor left to sync the directory, undo the renaming.  A power cut may then leave
        the file with its new name.  This does no harm, because a replay ignores the newest file if it contains no group
        of records.
        """
        spare = prepared.file.path
        self._fs.rename(spare, path)
        try:
            self._fs.sync_directory(self._directory)
        except OSError as error:
            if error.errno in NO_FILES:
                self._fs.rename(path, spare)
                self._ready.appendleft(prepared)
            raise
        prepared.file.path = path

    def prepare(self) -> bool:
        """Do one step of the preparation of the next file.

        If the disk is full or read-only, or no file descriptor is left, prepare no file, and raise no error: a bookie
        that has become read-only may never need the file.  If the journal needs the file, :meth:`begin_next` tries to
        create it.

        :returns: True if no step is left.
        """
        if self._ready:
            return True
        try:
            is_filled = self._filled_further()
        except OSError as error:
            if error.errno not in (*NO_SPACE, *NO_FILES, errno.EROFS):
                raise
            prepared, self._filling = self._filling, None
            if prepared is not None:
                self._remove(prepared.file)
            return True
        if is_filled and self._filling is not None:
            self._ready.append(self._filling)
            self._filling = None
        return is_filled

    def _filled_further(self) -> bool:
        """Append zeros to the next journal file; return whether it now has ``preallocate`` bytes."""
        prepared = self._filling
        if prepared is None:
            prepared = self._filling = self._prepare_file(self._next_id)
        if prepared.filled < self._settings.preallocate:
            self._fill(prepared, self._settings.fill_step)
        return prepared.filled >= self._settings.preallocate

    def _remove(self, file: IFile) -> None:
        """Close and delete a file that could not be prepared; on a read-only disk, it stays, and is not used."""
        file.close()
        try:
            self._fs.unlink(file.path)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise

    def release(self, file_id: int) -> None:
        """Recycle or delete the journal files with ids below ``file_id``, except the newest ``max_backups`` files.

        If the disk has no space for another file, keep no backups: they must not be what ends the bookie.  A file that
        a read-only disk does not let go is released by a later call.

        :raises OSError: another operation failed; other files may already be deleted.
        """
        below = [i for i in self.ids if i < file_id]
        has_space = self._fs.usage(self._directory)[1] >= self._settings.max_size
        unneeded = below[: max(0, len(below) - self._settings.max_backups)] if has_space else below
        freed: list[str] = []
        for old in unneeded:
            has_room = len(self._spares) + len(freed) < self._settings.max_spares
            spare = self._spare_path() if self._settings.reuse and has_room and self._is_itself(old) else ""
            try:
                if spare:
                    self._fs.rename(self.path(old), spare)
                else:
                    self._fs.unlink(self.path(old))
            except OSError as error:
                if error.errno == errno.EROFS:
                    return  # those that were renamed before are no spare files: the directory was not synced
                raise
            freed += [spare] if spare else []
            self.ids.remove(old)
        if unneeded:
            # make the renames durable before the files are overwritten; else, after a power cut, an overwritten file
            # could have its old name again, and be taken for the old journal file
            self._fs.sync_directory(self._directory)
            self._spares.extend(freed)

    def _is_itself(self, file_id: int) -> bool:
        """Test whether the id in a file's header is the id in its name.

        The ids differ if a power cut has undone the renaming of a recycled file.  Such a file must not be recycled
        again, because its records may still be needed.  A file whose header cannot be read must not be recycled either,
        so the method returns False.
        """
        try:
            with closing(self._fs.open(self.path(file_id))) as file:
                identity = parse_header(file.pread(HEADER_SIZE, 0), self.path(file_id)).identity
        except JournalDamageError:
            return False
        except OSError as error:
            if error.errno in NO_FILES:
                raise
            return False  # a file that cannot be read can still be deleted: no replay needs it
        return identity is None or identity.file_id == file_id

    def drop(self, file_id: int) -> None:
        """Delete the journal file ``file_id``, to which no record was written; its id is not used again."""
        self.sizes.forget(file_id)
        self._fs.unlink(self.path(file_id))
        self._fs.sync_directory(self._directory)
        self.ids.remove(file_id)

    def close(self) -> None:
        """Close the prepared files; the next start finds them as spare files."""
        self.sizes.close()
        for prepared in (*self._ready, self._filling):
            if prepared is not None:
                prepared.file.close()

    def _collect_spares(self) -> int:
        """Find the spare files that an earlier process has left; if they are more than ``max_spares``, delete the rest.

        If the directory has no journal file, delete all spare files.

        :returns: the highest number in the names of spare files, 0 if there are none.
        """
        names = [n for n in self._fs.list(self._directory) if n.endswith(SPARE_SUFFIX)]
        kept = names[: self._settings.max_spares] if self.ids and self._settings.reuse else []
        for name in names:
            path = posixpath.join(self._directory, name)
            if name in kept:
                self._spares.append(path)
            else:
                self._fs.unlink(path)
        numbers = [n.removesuffix(SPARE_SUFFIX) for n in names]
        return max([int(n) for n in numbers if n.isdecimal()], default=0)

    def _spare_path(self) -> str:
        return posixpath.join(self._directory, f"{next(self._names)}{SPARE_SUFFIX}")

    def _prepare_file(self, file_id: int) -> PreparedFile:
        """Return a file with a header and without records: an old file to recycle if possible, else a new file."""
        spare = self._open_spare()
        recycled = spare is not None
        file = spare or self._fs.open(self._spare_path(), create=True, direct=self._settings.direct)
        try:
            if recycled:
                self._write_end(file)
            self._write_header(file, file_id)
        except OSError:
            self._remove(file)
            raise
        return PreparedFile(file, file_id, file.size() // SECTOR * SECTOR, recycled)

    def _open_spare(self) -> IFile | None:
        """Open the next spare file; skip files that cannot be opened, because spare files contain no needed records.

        :raises OSError: no file descriptor is left.
        """
        while self._spares:
            path = self._spares.popleft()
            try:
                return self._fs.open(path, direct=self._settings.direct)
            except OSError as error:
                if error.errno in NO_FILES:
                    self._spares.appendleft(path)
                    raise
        return None

    def _write_end(self, file: IFile) -> None:
        """Write the last bytes of a recycled file again, so that the next sync makes its size durable.

        If a sync has failed in an earlier process, the size that the kernel reports may not be on the disk.
        """
        size = file.size() // SECTOR * SECTOR
        offset = max(size - 1, 0) // self._settings.block * self._settings.block
        file.write_zeros(size - offset, offset)

    def _write_header(self, file: IFile, file_id: int) -> None:
        header = pack_header(FileIdentity.of(file_id, self._salt))
        file.pwrite(header.ljust(max(self._settings.block, 2 * HEADER_SIZE), b"\0"), 0)
        file.sync(metadata=True)

    def _fill(self, prepared: PreparedFile, step: int) -> None:
        size = min(step, self._settings.preallocate - prepared.filled)
        size += -size % SECTOR
        prepared.file.write_zeros(size, prepared.filled)
        prepared.file.sync(metadata=True)
        prepared.filled += size

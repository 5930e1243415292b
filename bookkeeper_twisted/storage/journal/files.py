"""The numbered files of one journal directory, and their preparation, recycling and removal.

A file is made under a name that is no journal's (``<n>.spare``), gets header and zeros, is synced and
only then renamed to ``<id>.txn``: a journal file never lacks its header, and taking one into use costs a
rename and a sync of the directory.  Writing over blocks that exist syncs several times faster than growing
a file, so files no longer needed become spares, and new ones are filled with zeros beforehand.

Two lanes share this object: ``take`` belongs to the journal lane, ``prepare`` and ``release`` to one
other.  What passes between them is whole files in deques, whose ends are atomic.
"""

import posixpath
from collections import deque
from itertools import count

import attrs

from ...errors import NO_FILES, NO_SPACE, JournalDamageError
from ..interfaces import IFile, IFileSystem
from ..ledger_dirs import journal_ids, journal_name
from .format import HEADER_SIZE, SECTOR, FileMark, pack_header, parse_header

SPARE_SUFFIX = ".spare"
_AT_ONCE = 1 << 20  # the bytes of zeros to write at once while a writer waits for its file


@attrs.frozen
class JournalSettings:
    """The settings of a journal's files; sizes in bytes.

    :ivar max_size: size after which the next file begins.
    :ivar alignment: of groups; a multiple of 512.
    :ivar block: zeros after a group reach up to a multiple of this, so that the page cache never has to
        read the rest of a page of a recycled file; a multiple of 512.
    :ivar max_backups: files kept below the mark.
    :ivar preallocate: size to which a new file is filled with zeros before its use.
    :ivar fill_step: bytes that :meth:`~bookkeeper_twisted.storage.interfaces.IJournal.prepare` writes in one call.
    :ivar reuse: whether old files are recycled.
    :ivar max_spares: old files kept for recycling.
    :ivar direct: whether to write past the page cache, since only a start reads a journal.
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
class Blank:
    """A prepared journal file without records.

    :ivar file_id: the id of the journal file in its header.
    :ivar filled: end of its existing blocks, in bytes.
    :ivar recycled: whether it is an old journal file.
    """

    file: IFile
    file_id: int
    filled: int
    recycled: bool


class JournalFiles:
    """The journal files of a directory, and the files prepared for later use; see the module docstring.

    :ivar ids: of the journal files, ascending.
    :ivar created, recycled: numbers of new and of old files taken into use.
    """

    def __init__(self, fs: IFileSystem, directory: str, settings: JournalSettings, first_id: int, salt: bytes) -> None:
        self._fs = fs
        self._directory = directory
        self._settings = settings
        self._salt = salt
        self.ids = journal_ids(fs, directory)
        self.created = self.recycled = 0
        self._next_id = self.ids[-1] + 1 if self.ids else first_id
        self._spares: deque[str] = deque()
        self._filling: Blank | None = None
        self._ready: deque[Blank] = deque()
        self._names = count(self._collect_spares() + 1)

    def path(self, file_id: int) -> str:
        """Return the path of the journal file ``file_id``."""
        return posixpath.join(self._directory, journal_name(file_id))

    def take(self) -> tuple[IFile, FileMark]:
        """Return the next journal file, positioned after its header; the name of the file is durable.

        :raises OSError: there is none; if no file descriptor was left (:data:`~bookkeeper_twisted.errors.NO_FILES`) it
            can be tried again.
        """
        file_id = self._next_id
        try:
            blank = self._ready.popleft()
        except IndexError:
            blank = self._blank(file_id)
            while blank.filled < min(_AT_ONCE, self._settings.preallocate):
                self._fill(blank, _AT_ONCE)
        # The file was prepared for a lower id, which a rotation has used up when no prepared file was ready.
        if blank.file_id != file_id:
            self._write_header(blank.file, file_id)
        self._name(blank, self.path(file_id))
        self._next_id += 1
        self.ids.append(file_id)
        if blank.recycled:
            self.recycled += 1
        else:
            self.created += 1
        return blank.file, FileMark.of(file_id, self._salt)

    def _name(self, blank: Blank, path: str) -> None:
        """Rename a prepared file to its journal name.

        If the process has no descriptor left to sync the directory, the file gets its old name back.

        After a power cut a start may find the name, but then of an empty file behind the last written one, which it
        ignores.
        """
        spare = blank.file.path
        self._fs.rename(spare, path)
        try:
            self._fs.sync_directory(self._directory)
        except OSError as error:
            if error.errno in NO_FILES:
                self._fs.rename(path, spare)
                self._ready.appendleft(blank)
            raise
        blank.file.path = path

    def prepare(self) -> bool:
        """Take one step in the preparation of the next file.

        On a full disk, or without a file descriptor, nothing is prepared: that is no failure of the journal,
        and a bookie that has become read-only may never need the file.  :meth:`take` makes it then, or fails.

        :returns: whether no step is left.
        """
        if self._ready:
            return True
        try:
            is_filled = self._filled_further()
        except OSError as error:
            if error.errno not in (*NO_SPACE, *NO_FILES):
                raise
            blank, self._filling = self._filling, None
            if blank is not None:
                self._remove(blank.file)
            return True
        if is_filled and self._filling is not None:
            self._ready.append(self._filling)
            self._filling = None
        return is_filled

    def _filled_further(self) -> bool:
        """Write some zeros to the next file; return whether all its blocks are written."""
        blank = self._filling
        if blank is None:
            blank = self._filling = self._blank(self._next_id)
        if blank.filled < self._settings.preallocate:
            self._fill(blank, self._settings.fill_step)
        return blank.filled >= self._settings.preallocate

    def _remove(self, file: IFile) -> None:
        """Close and remove a file that cannot be filled, to free its disk blocks."""
        file.close()
        self._fs.unlink(file.path)

    def release(self, file_id: int) -> None:
        """Release the files below ``file_id``: recycle or remove the oldest files beyond ``max_backups``.

        :raises OSError: some files may be removed, others not.
        """
        below = [i for i in self.ids if i < file_id]
        freed: list[str] = []
        for old in below[: max(0, len(below) - self._settings.max_backups)]:
            has_room = len(self._spares) + len(freed) < self._settings.max_spares
            if self._settings.reuse and has_room and self._is_itself(old):
                freed.append(self._spare_path())
                self._fs.rename(self.path(old), freed[-1])
            else:
                self._fs.unlink(self.path(old))
            self.ids.remove(old)
        if len(below) > self._settings.max_backups:
            # Make the removal of the old names durable before a recycled file is overwritten.
            self._fs.sync_directory(self._directory)
            self._spares.extend(freed)

    def _is_itself(self, file_id: int) -> bool:
        """Test whether a file's header has the id of the file name; a recycled file under an old name has another id.

        A lost sync of the directory can bring the old name back: the file may be needed under its other name.
        """
        file = self._fs.open(self.path(file_id))
        try:
            mark = parse_header(file.pread(HEADER_SIZE, 0), self.path(file_id)).mark
        except JournalDamageError:
            return False
        finally:
            file.close()
        return mark is None or mark.file_id == file_id

    def drop(self, file_id: int) -> None:
        """Remove the file ``file_id``, which never held a group; the id is never used again."""
        self._fs.unlink(self.path(file_id))
        self._fs.sync_directory(self._directory)
        self.ids.remove(file_id)

    def close(self) -> None:
        """Close the prepared files, which the next start finds as spares."""
        for blank in (*self._ready, self._filling):
            if blank is not None:
                blank.file.close()

    def _collect_spares(self) -> int:
        """Find spare files of an earlier process.

        Files beyond the limit are removed, and all of them if there is no journal.

        :returns: the highest number in their names.
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

    def _blank(self, file_id: int) -> Blank:
        """Return a file with a header: a recycled spare file, or else a new file."""
        try:
            path, recycled = self._spares.popleft(), True
        except IndexError:
            path, recycled = self._spare_path(), False
        try:
            file = self._fs.open(path, create=not recycled, direct=self._settings.direct)
        except OSError:
            if recycled:
                self._spares.appendleft(path)
            raise
        try:
            self._write_header(file, file_id)
        except OSError:
            self._remove(file)
            raise
        return Blank(file, file_id, file.size() // SECTOR * SECTOR, recycled)

    def _write_header(self, file: IFile, file_id: int) -> None:
        header = pack_header(FileMark.of(file_id, self._salt))
        file.pwrite(header.ljust(max(self._settings.block, 2 * HEADER_SIZE), b"\0"), 0)
        file.sync(metadata=True)

    def _fill(self, blank: Blank, step: int) -> None:
        size = min(step, self._settings.preallocate - blank.filled)
        size += -size % SECTOR
        blank.file.pwrite(bytes(size), blank.filled)
        blank.file.sync(metadata=True)
        blank.filled += size

"""The file ``journalSizes`` of a journal directory: the minimum sizes of the newest journal files.

A journal file gets disk blocks before records are written to them, and the journal never makes a file shorter.  So if a
start finds the newest file shorter, something else has cut it, and acknowledged records may be lost.  The content of a
cut file does not tell that: its end looks like the end of the journal after a crash.  Therefore the journal records the
size of each file, after this size is durable, and before a record in the file is acknowledged::

    0   8s   "BKTWSIZE"
    8   i64  id of the newest journal file
    16  i64  minimum size of this file in bytes
    24  i64  id of the journal file before it, 0 if unknown
    32  i64  minimum size of this file in bytes
    40  u32  CRC32C of 0-39

The file ``journalSizes`` has one sector and is overwritten in place.  If it is missing or damaged, no sizes are known,
and no journal file counts as cut, because earlier versions of this bookie and Apache's bookie do not write it.  It does
not tell the sizes of journal files that are newer than the ids in it.
"""

import posixpath
import struct
from contextlib import closing

import attrs

from ...crc32c import crc32c
from ..interfaces import IFile, IFileSystem

SIZES_NAME = "journalSizes"
_SECTOR = 512
_START = b"BKTWSIZE"
_SIZES = struct.Struct(">8sqqqq")
_SUM = struct.Struct(">I")


@attrs.frozen
class KnownSize:
    """The size in bytes that a journal file must have at least; a shorter file has lost its end.

    :ivar file_id: id of the journal file; 0 if no size is known.
    """

    file_id: int = 0
    size: int = 0


class KnownSizes:
    """The minimum sizes of the two newest journal files of a directory, as they are recorded in ``journalSizes``.

    :ivar newest: the minimum size of the newest journal file.
    :ivar previous: the minimum size of the journal file before it.
    """

    def __init__(self, fs: IFileSystem, directory: str) -> None:
        """Read the minimum sizes of the journal files from ``journalSizes``.

        :param directory: path of the journal directory, ending in ``current``.
        :raises OSError: the file with the sizes cannot be read.
        """
        self._fs = fs
        self._directory = directory
        self._path = posixpath.join(directory, SIZES_NAME)
        self._file: IFile | None = None
        self.newest = self.previous = KnownSize()
        if fs.exists(self._path):
            with closing(fs.open(self._path)) as file:
                self._parse(file.pread(_SIZES.size + _SUM.size, 0))

    def _parse(self, data: bytes) -> None:
        sizes = data[: _SIZES.size]
        if len(data) == _SIZES.size + _SUM.size and _SUM.pack(crc32c(sizes)) == data[_SIZES.size :]:
            start, newest_id, newest_size, previous_id, previous_size = _SIZES.unpack(sizes)
            if start == _START:
                self.newest = KnownSize(newest_id, newest_size)
                self.previous = KnownSize(previous_id, previous_size)

    def of(self, file_id: int) -> int:
        """Return the size in bytes that the journal file ``file_id`` must have at least; 0 if no size is recorded."""
        return max((known.size for known in (self.newest, self.previous) if known.file_id == file_id), default=0)

    def open(self) -> None:
        """Open the file for :meth:`record`, or create it; do nothing if it is open.

        :raises OSError: the file cannot be opened or created.  If the process had no file descriptor left
            (:data:`~bookkeeper_twisted.errors.NO_FILES`), call this again later.
        """
        if self._file is not None:
            return
        file = self._fs.open(self._path, create=not self._fs.exists(self._path))
        try:
            self._fs.sync_directory(self._directory)
        except OSError:
            file.close()
            raise
        self._file = file

    def record(self, file_id: int, size: int) -> None:
        """Record ``size`` bytes as the minimum size of the newest journal file, ``file_id``; durable on return.

        :raises OSError: the write failed.
        """
        if file_id != self.newest.file_id:
            self.previous = self.newest
        self.newest = KnownSize(file_id, size)
        self._write()

    def forget(self, file_id: int) -> None:
        """Remove the recorded size of the journal file ``file_id``, because this file will be deleted.

        :raises OSError: the write failed.
        """
        if self.newest.file_id == file_id:
            self.open()
            self.newest, self.previous = self.previous, KnownSize()
            self._write()

    def _write(self) -> None:
        assert self._file is not None
        newest, previous = self.newest, self.previous
        data = _SIZES.pack(_START, newest.file_id, newest.size, previous.file_id, previous.size)
        self._file.pwrite((data + _SUM.pack(crc32c(data))).ljust(_SECTOR, b"\0"), 0)
        self._file.sync(metadata=True)

    def close(self) -> None:
        """Close the file, if it is open."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

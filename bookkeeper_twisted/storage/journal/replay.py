"""Replays the journal of a directory from its log mark on: yields every durable record, or raises an error.

A *group* is the records that were written and synced together.  The *end* of a file is the end of its last valid group.
The trailer of each group has a durable position: the position up to which the journal was durable when the group was
written.  So a replay can notice that durable records are missing.  In each of these cases it raises an error, and the
bookie does not start:

- A trailer after the end of a file has a durable position after this end.
- The first group of a later file has such a durable position.
- A file that is not the last one has torn bytes after its end (a file is synced before the next file gets its name).
- The file with the log mark is missing or ends before it, or a file between two other files is missing.
- A file is shorter than its recorded size (:mod:`.known_sizes`), or has lost its header, or the newest file with a
  recorded size is missing.  An operator, or a repair of the file system, may have cut or deleted the file.  The size is
  not checked if the last group of the file marks the end of the file.

In all other cases, the bytes after the end of the last file are a torn tail, and no record in it was acknowledged.  The
replay cuts the tail off: before anything else is written, it writes and syncs a group that marks the end of the file.

After a failed sync, the kernel treats pages as written although they never reached the disk.  So the last groups that
the replay has read may be in the page cache only.  The replay writes and syncs them again before it marks the end of
the file.

After a failed sync of the directory, the name of the newest file may be in memory only.  Such a file has no group, and
no other file refers to it.  So the newest file is ignored and deleted if it has no group.
"""

import posixpath
from collections.abc import Iterator, Sequence
from contextlib import closing

import attrs

from ...errors import NO_SPACE, JournalDamageError
from ..interfaces import IFile, IFileSystem, JournalPosition
from ..ledger_dirs import journal_name
from .format import HEADER_SIZE, SECTOR, pack_group
from .known_sizes import KnownSizes
from .reader import CHUNK, JournalReader

_ADVICE = (
    "put the whole file back if there is a copy of it; else this bookie has lost acknowledged entries: treat it as one "
    "whose disk is lost"
)


def _damage(text: str) -> JournalDamageError:
    """Return the error for a journal that lacks durable records; its text also says what an operator can do."""
    return JournalDamageError(f"{text}; {_ADVICE}")


@attrs.frozen
class Cut:
    """A torn tail (bytes of an interrupted write) that the replay has cut off at ``offset`` of the file ``path``."""

    path: str
    offset: int


class JournalReplay:
    """A replay of the records in one journal directory.

    :ivar end: the end of the journal, once :meth:`records` is exhausted.
    :ivar cuts: the torn tails that were cut off.
    :ivar unused: id of the newest file if no record was ever written to it, so that the caller must delete it; else
        None.
    """

    def __init__(
        self, fs: IFileSystem, directory: str, file_ids: Sequence[int], sizes: KnownSizes, alignment: int
    ) -> None:
        """:param file_ids: ids of all journal files in the directory, ascending.
        :param sizes: the recorded sizes that the newest journal files must have at least.
        :param alignment: a group (records that are written together) ends at a multiple of this number of bytes.
        """
        self.end = JournalPosition()
        self.cuts: list[Cut] = []
        self.unused: int | None = None
        self._fs = fs
        self._directory = directory
        self._ids = file_ids
        self._sizes = sizes
        self._alignment = alignment

    def records(self, log_mark: JournalPosition) -> Iterator[bytes]:
        """Yield the body of each record after the position ``log_mark``, in order.

        :raises JournalDamageError: records that were synced are missing.
        """
        self.end = log_mark
        ids = [file_id for file_id in self._ids if file_id >= log_mark.file_id]
        if log_mark.file_id > 0 and (not ids or ids[0] != log_mark.file_id):
            raise _damage(f"{self._path(log_mark.file_id)} is missing: the mark is in it, at {log_mark.offset}")
        self._check_newest()
        if ids and ids[-1] > log_mark.file_id and self._is_empty(ids[-1]):
            self.unused = ids.pop()
        for index, file_id in enumerate(ids):
            start = log_mark.offset if file_id == log_mark.file_id else 0
            with closing(self._fs.open(self._path(file_id))) as file:
                if start > file.size():
                    raise _damage(f"{file.path} ends at offset {file.size()}: the mark is in it, at {start}")
                reader = self._reader(file, file_id)
                self._check_predecessor(reader, ids)
                for bodies in reader.records(start):
                    yield from bodies
                self.end = JournalPosition(file_id, reader.end)
                self._judge(file, reader, ids[index + 1 :])

    def _reader(self, file: IFile, file_id: int) -> JournalReader:
        if file.size() < HEADER_SIZE:  # report a cut file, not a damaged header
            self._check_size(file, file_id)
        return JournalReader(file, file_id)

    def _is_empty(self, file_id: int) -> bool:
        with closing(self._fs.open(self._path(file_id))) as file:
            reader = self._reader(file, file_id)
            empty = reader.identity is not None and reader.first_durable() is None and not reader.tail().torn
            if empty:
                self._check_size(file, file_id)
            return empty

    def _check_newest(self) -> None:
        """Raise an error if the newest journal file with a recorded size is missing.

        A file without a recorded size may be missing: no record in it was acknowledged.
        """
        newest = self._sizes.newest
        if newest.file_id > max(self._ids, default=0):
            raise _damage(
                f"{self._path(newest.file_id)} is missing: it had at least {newest.size} bytes when records in it were "
                "acknowledged"
            )

    def _check_size(self, file: IFile, file_id: int) -> None:
        """Raise an error if a journal file is shorter than its recorded size: acknowledged records may be lost."""
        size, least = file.size(), self._sizes.of(file_id)
        if size < least:
            raise _damage(
                f"{file.path} was cut short: it has {size} bytes, but had at least {least} when records in it were "
                "acknowledged"
            )

    def _check_predecessor(self, reader: JournalReader, ids: Sequence[int]) -> None:
        """Raise an error if the journal file before the file of ``reader`` is missing.

        The first group of a file contains the id of the file before it.
        """
        durable = reader.first_durable()
        if durable is not None and ids[0] <= durable.file_id and durable.file_id not in ids:
            raise _damage(
                f"{self._path(durable.file_id)} is missing: {reader.path} follows its offset {durable.offset}"
            )

    def _judge(self, file: IFile, reader: JournalReader, later: Sequence[int]) -> None:
        """Check that no durable records are missing after the last valid group of a file.

        If it is the last file, write a group that marks its end.
        """
        if reader.finished:
            return
        self._check_size(file, reader.file_id)
        durable = self._known_durable(later)
        is_continued = durable.file_id == reader.file_id
        if is_continued and durable > self.end:
            raise _damage(f"{reader.path}: ends at offset {reader.end}, durable up to {durable.offset}")
        if reader.identity is None:
            # a file with a recorded size was written by our bookie, so its header must contain an identity
            if self._sizes.of(reader.file_id):
                raise _damage(f"{reader.path} has lost its header")
            return
        if is_continued:
            return
        tail = reader.tail()
        if tail.durable > self.end:
            raise _damage(
                f"{reader.path}: damaged at offset {reader.end}, durable up to {tail.durable.offset}"
            )
        if later:
            if tail.torn:
                raise _damage(f"{reader.path}: damaged at offset {reader.end}, and it is not the last file")
            return
        if tail.torn:
            self.cuts.append(Cut(reader.path, reader.end))
        self._finish(file, reader)

    def _known_durable(self, later: Sequence[int]) -> JournalPosition:
        """Return the position up to which the journal was durable when the first group of ``later`` files was written.

        The trailer of this group contains the position.

        :returns: (0, 0) if these files have no group of records.
        """
        for file_id in later:
            with closing(self._fs.open(self._path(file_id))) as file:
                durable = JournalReader(file, file_id).first_durable()
            if durable is not None:
                return durable
        return JournalPosition()

    def _finish(self, file: IFile, reader: JournalReader) -> None:
        """Write and sync the last groups of a file again, then append a group that marks the end of the file.

        The previous process may have ended before it synced these groups, or the sync may have failed, so they may not
        be on the disk.

        A disk that the journal itself has filled has space only after the replay, when the replayed files are released.
        The mark needs none, because zeros follow each group; the zeros after the mark may need some, and are left out.
        """
        assert reader.identity is not None
        for offset in range(reader.durable, reader.end, CHUNK):
            file.pwrite(file.pread(min(CHUNK, reader.end - offset), offset), offset)
        file.sync()
        group, end = pack_group(reader.identity, reader.end, (), self.end, self._alignment, SECTOR, last=True)
        try:
            file.pwritev(group, reader.end)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            file.pwrite(b"".join(group)[: end - reader.end], reader.end)
        file.sync(metadata=True)
        self.end = JournalPosition(reader.file_id, end)

    def _path(self, file_id: int) -> str:
        return posixpath.join(self._directory, journal_name(file_id))

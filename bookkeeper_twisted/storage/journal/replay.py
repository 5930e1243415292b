"""Replays the journal of a directory from a mark on: yields every durable record, or raises an error (safety 3.3).

Groups record up to which position the journal was durable before them; this tells whether a file of ours ends too
early.  Records are lost, and the bookie must not start, in three cases: a trailer behind the end of a file records a
durable position behind that end; the first group of a later file does; or a file has torn bytes, although it is not the
last (a file is synced before the next one gets its name).  In all other cases, bytes behind the end of the last file
are a torn tail, of which nothing was acknowledged.  The tail is cut off by a group that says "the file ends here",
which is synced before anything else is written.

The replayed bytes may be in memory only.  If a sync failed and the process ended, the kernel treats pages as written
that never reached the disk.  So groups that no later group records as durable are written and synced again, before a
last group records them as durable.

File names may be in memory only, too: a sync of the directory failed, and the process ended.  This can be so if the
newest file has no group.  Nothing refers to such a file, so it is ignored and deleted.
"""

import posixpath
from collections.abc import Iterator, Sequence

import attrs

from ...errors import JournalDamageError
from ..interfaces import IFile, IFileSystem, JournalPosition
from ..ledger_dirs import journal_name
from .format import SECTOR, pack_group
from .reader import CHUNK, JournalReader


@attrs.frozen
class Cut:
    """A torn tail that the replay has cut off: it began at ``offset`` of the file ``path``."""

    path: str
    offset: int


class JournalReplay:
    """A replay of the records in one journal directory.

    :ivar end: the end of the journal, once :meth:`records` is exhausted.
    :ivar cuts: the torn tails that were cut off.
    :ivar unused: id of the newest file if it has no group and does not contain the mark; the caller deletes this file.
    """

    def __init__(self, fs: IFileSystem, directory: str, file_ids: Sequence[int], alignment: int) -> None:
        """:param file_ids: ids of all journal files in the directory, ascending.
        :param alignment: alignment of the group that this replay writes to end a file.
        """
        self.end = JournalPosition()
        self.cuts: list[Cut] = []
        self.unused: int | None = None
        self._fs = fs
        self._directory = directory
        self._ids = file_ids
        self._alignment = alignment

    def records(self, mark: JournalPosition) -> Iterator[bytes]:
        """Yield the body of each record behind ``mark``.

        :raises JournalDamageError: records are missing that were durable.
        """
        self.end = mark
        ids = [file_id for file_id in self._ids if file_id >= mark.file_id]
        if mark.file_id > 0 and (not ids or ids[0] != mark.file_id):
            raise JournalDamageError(f"{self._path(mark.file_id)} is missing: the mark is in it, at {mark.offset}")
        if ids and ids[-1] > mark.file_id and self._is_empty(ids[-1]):
            self.unused = ids.pop()
        for index, file_id in enumerate(ids):
            start = mark.offset if file_id == mark.file_id else 0
            file = self._fs.open(self._path(file_id))
            try:
                if start > file.size():
                    raise JournalDamageError(f"{file.path} ends at offset {file.size()}: the mark is in it, at {start}")
                reader = JournalReader(file, file_id)
                self._check_predecessor(reader, ids)
                for bodies in reader.records(start):
                    yield from bodies
                self.end = JournalPosition(file_id, reader.end)
                self._judge(file, reader, ids[index + 1 :])
            finally:
                file.close()

    def _is_empty(self, file_id: int) -> bool:
        file = self._fs.open(self._path(file_id))
        try:
            reader = JournalReader(file, file_id)
            return reader.mark is not None and reader.first_durable() is None and not reader.tail().torn
        finally:
            file.close()

    def _check_predecessor(self, reader: JournalReader, ids: Sequence[int]) -> None:
        """Raise an error if a file is missing: the one in which the journal ended when the reader's file was begun."""
        durable = reader.first_durable()
        if durable is not None and ids[0] <= durable.file_id and durable.file_id not in ids:
            raise JournalDamageError(
                f"{self._path(durable.file_id)} is missing: {reader.path} follows its offset {durable.offset}"
            )

    def _judge(self, file: IFile, reader: JournalReader, later: Sequence[int]) -> None:
        """Decide whether a file may end behind the last group that was found; raise an error if records are lost."""
        if reader.mark is None or reader.finished:
            return
        durable = self._known_durable(later)
        if durable.file_id == reader.file_id:
            if durable > self.end:
                raise JournalDamageError(f"{reader.path}: ends at offset {reader.end}, durable up to {durable.offset}")
            return
        tail = reader.tail()
        if tail.durable > self.end:
            raise JournalDamageError(
                f"{reader.path}: damaged at offset {reader.end}, durable up to {tail.durable.offset}"
            )
        if later:
            if tail.torn:
                raise JournalDamageError(f"{reader.path}: damaged at offset {reader.end}, and it is not the last file")
            return
        if tail.torn:
            self.cuts.append(Cut(reader.path, reader.end))
        self._finish(file, reader)

    def _known_durable(self, later: Sequence[int]) -> JournalPosition:
        """Return the durable position that the first group in later files records; (0, 0) if they have no group."""
        for file_id in later:
            file = self._fs.open(self._path(file_id))
            try:
                durable = JournalReader(file, file_id).first_durable()
            finally:
                file.close()
            if durable is not None:
                return durable
        return JournalPosition()

    def _finish(self, file: IFile, reader: JournalReader) -> None:
        """Write and sync the replayed bytes again, then write a group that ends the file."""
        assert reader.mark is not None
        for offset in range(reader.durable, reader.end, CHUNK):
            file.pwrite(file.pread(min(CHUNK, reader.end - offset), offset), offset)
        file.sync()
        group, end = pack_group(reader.mark, reader.end, (), self.end, self._alignment, SECTOR, last=True)
        file.pwritev(group, reader.end)
        file.sync(metadata=True)
        self.end = JournalPosition(reader.file_id, end)

    def _path(self, file_id: int) -> str:
        return posixpath.join(self._directory, journal_name(file_id))

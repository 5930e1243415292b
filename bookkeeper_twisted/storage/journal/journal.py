"""The journal of one directory: appends and syncs groups of records, begins new files, replays records at a start."""

import errno
from collections.abc import Iterator, Sequence

from zope.interface import implementer

from ...errors import NO_FILES, StorageError, StorageFailedError
from ..interfaces import IFile, IFileSystem, JournalPosition
from .files import JournalFiles, JournalSettings
from .format import HEADER_SIZE, FileIdentity, pack_group
from .interfaces import GroupWrite, IJournal
from .replay import Cut, JournalReplay


@implementer(IJournal)
class Journal:
    """The journal of one directory: it appends groups of records, syncs them, and replays them at a start.

    One thread at a time calls its methods; one other thread may call :meth:`prepare`, :meth:`release`.

    An existing journal must be replayed before it is written, because only a replay finds its end.  The first group
    after a start goes to a new file.  The replay changes only the end of the last old file: it writes the last groups
    again, because they may not have reached the disk, and it cuts off a torn tail.

    :ivar cuts: the torn tails that the replay has cut off.
    :ivar groups, record_bytes, padding_bytes, syncs: number of groups, of bytes of records and of padding, and of syncs
        so far.
    """

    def __init__(self, fs: IFileSystem, files: JournalFiles, directory: str, settings: JournalSettings) -> None:
        """Store the arguments; use :meth:`open` to create a journal."""
        self.position = JournalPosition()
        self.durable = JournalPosition()
        self.cuts: Sequence[Cut] = ()
        self.groups = self.record_bytes = self.padding_bytes = self.syncs = 0
        self._fs = fs
        self._files = files
        self.directory = directory
        self._settings = settings
        self._replayed = not files.ids
        self._failure: BaseException | None = None
        self._file: IFile | None = None
        self._identity = FileIdentity(0, b"")
        self._begun_bytes = self._begun_end = 0

    @classmethod
    def open(
        cls, fs: IFileSystem, directory: str, settings: JournalSettings, first_id: int, salt: bytes = b""
    ) -> "Journal":
        """Open the journal in an existing directory.

        :param directory: path of the journal directory, ending in ``current``.
        :param first_id: id of the first file if the directory is empty.  As in Apache's bookie, the caller passes the
            present time in milliseconds since the epoch, plus one.
        :param salt: a few random bytes, from which the identities of files in headers and trailers are made, so that
            clients cannot guess them.
        :raises StorageError: a file has the suffix of a journal file, but no number as its name.
        """
        return cls(fs, JournalFiles(fs, directory, settings, first_id, salt), directory, settings)

    @property
    def file_ids(self) -> Sequence[int]:
        """Return the ids of the journal files, ascending."""
        return tuple(self._files.ids)

    @property
    def files_created(self) -> int:
        """Return the number of journal files so far that were newly created, and not recycled."""
        return self._files.created

    @property
    def files_recycled(self) -> int:
        """Return the number of journal files so far that were recycled: old files that are overwritten."""
        return self._files.recycled

    def replay(self, log_mark: JournalPosition) -> Iterator[bytes]:
        self._check()
        if self._file is not None:
            raise StorageError(f"the journal in {self.directory} is being written: too late for a replay")
        files = self._files
        replay = JournalReplay(self._fs, self.directory, files.ids, files.sizes, self._settings.alignment)
        try:
            yield from replay.records(log_mark)
        except Exception as error:
            self._failure = error
            raise
        if replay.unused is not None:
            self._drop(replay.unused)
        self.cuts = replay.cuts
        self.position = self.durable = replay.end
        self._replayed = True

    def _drop(self, file_id: int) -> None:
        try:
            self._files.drop(file_id)
        except Exception as error:
            self._failure = error
            raise

    def write_group(self, records: Sequence[bytes], sync: bool = True) -> JournalPosition:
        self._check()
        try:
            file = self._file
            # begin a new file only between two groups of records, because a group never spans two files
            if file is None or self.position.offset > self._settings.max_size:
                file = self._next_file()
            self._write(file, records, sync)
        except Exception as error:
            self._failure = error
            raise
        return self.position

    def begin_group(self, records: Sequence[bytes]) -> GroupWrite | None:
        file, start = self._file, self.position.offset
        if self._failure is not None or file is None or start > self._settings.max_size or not self._is_synced:
            return None
        group, end = self._group(records)
        size = sum(map(len, group))
        if not self._files.has_room(start + size):
            return None
        self._begun_bytes, self._begun_end = sum(map(len, records)), end
        return GroupWrite(file, group, start)

    def end_group(self, failure: BaseException | None = None) -> JournalPosition:
        if failure is not None:
            self._failure = failure
            return self.position
        self._appended(self._begun_bytes, self._begun_end)
        self._synced()
        return self.position

    def sync(self) -> JournalPosition:
        self._check()
        if self._file is not None and self.durable != self.position:
            try:
                self._sync(self._file)
            except Exception as error:
                self._failure = error
                raise
        return self.durable

    def release(self, log_mark: JournalPosition) -> None:
        self._check()
        try:
            self._files.release(log_mark.file_id)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in NO_FILES:
                return  # no file descriptor is left: the next call of release() recycles or deletes these files
            self._failure = error
            raise

    def prepare(self) -> bool:
        self._check()
        try:
            return self._files.prepare()
        except Exception as error:
            self._failure = error
            raise

    def close(self) -> None:
        """Close the files.

        If the journal has not failed, first write and sync an empty group of records that marks the end of the file; on
        a disk that has become read-only, the file stays without this mark, as after a crash.
        """
        file, self._file = self._file, None
        if self._failure is None and file is not None:
            try:
                self._write(file, (), sync=True, last=True)
            except Exception as error:
                self._failure = error
                if not isinstance(error, OSError) or error.errno != errno.EROFS:
                    raise
            finally:
                file.close()
        elif file is not None:
            file.close()
        self._files.close()
        self._failure = self._failure or StorageError(f"the journal in {self.directory} is closed")

    def _write(self, file: IFile, records: Sequence[bytes], sync: bool, last: bool = False) -> None:
        start = self.position.offset
        group, end = self._group(records, last)
        self._files.make_room(file, start, start + sum(map(len, group)))
        at_once = sync and self._is_synced
        file.pwritev(group, start, durable=at_once)
        self._appended(sum(map(len, records)), end)
        if at_once:
            self._synced()
        elif sync:
            self._sync(file)

    @property
    def _is_synced(self) -> bool:
        """Test whether all earlier groups of the file are durable.

        If so, one durable write (``RWF_DSYNC``) is enough for the next group; else the whole file must be synced.
        """
        return self.durable == self.position or self.position.offset == HEADER_SIZE

    def _group(self, records: Sequence[bytes], last: bool = False) -> tuple[Sequence[bytes], int]:
        settings = self._settings
        start = self.position.offset
        return pack_group(self._identity, start, records, self.durable, settings.alignment, settings.block, last)

    def _appended(self, size: int, end: int) -> None:
        """Record that a group was written.

        :param size: bytes of its records.
        :param end: offset at which it ends.
        """
        self.groups += 1
        self.record_bytes += size
        self.padding_bytes += end - self.position.offset - size
        self.position = JournalPosition(self._identity.file_id, end)

    def _sync(self, file: IFile) -> None:
        file.sync()
        self._synced()

    def _synced(self) -> None:
        self.syncs += 1
        self.durable = self.position

    def _next_file(self) -> IFile:
        """Sync the current file completely, and only then begin the next file.

        :returns: the next file; if the process has no file descriptor left, the current file, which then stays in use.
        """
        if not self._replayed:
            raise StorageError(f"the journal in {self.directory} was not replayed: its end is not known")
        old = self._file
        if old is not None and self.durable != self.position:
            self._sync(old)
        try:
            self._file, self._identity = self._files.begin_next()
        except OSError as error:
            if old is None or error.errno not in NO_FILES:
                raise
            return old
        if old is not None:
            old.close()
        # keep ``durable`` at the end of the old file: the first group in the new file stores this position, so that a
        # replay knows up to which offset the old file must be complete
        self.position = JournalPosition(self._identity.file_id, HEADER_SIZE)
        return self._file

    def _check(self) -> None:
        if self._failure is not None:
            raise StorageFailedError(f"the journal in {self.directory} failed: {self._failure}") from self._failure

"""Scrubs a journal while the bookie runs: it verifies the records that a replay would need.

So damage is found while the bookie still has the entries of the damaged records in memory, and not only after a crash,
which loses these entries.
"""

import errno
import posixpath
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from ...errors import JournalDamageError
from ..interfaces import IFileSystem, JournalPosition
from ..ledger_dirs import journal_ids, journal_name
from .reader import JournalReader


class JournalScrub:
    """One scrub of a journal, in steps on the maintenance thread, while the bookie writes to the journal.

    :ivar damages: one text for each damage found so far, with file and offset.
    """

    def __init__(self, fs: IFileSystem, directory: str, log_mark: JournalPosition, durable: JournalPosition) -> None:
        """:param log_mark: the position at which a replay would begin.
        :param durable: the position up to which the journal is durable; the scrub ends there.
        """
        self.damages: list[str] = []
        self._fs = fs
        self._directory = directory
        self._log_mark = log_mark
        self._durable = durable
        self._steps = self._run()

    def step(self) -> int | None:
        """Verify the next group of records.

        :returns: the number of verified bytes; None when the scrub has ended.
        :raises OSError: the disk failed.  Unreadable bytes do not raise this error; they count as damage.
        """
        return next(self._steps, None)

    def close(self) -> None:
        """Close the file that is being verified."""
        self._steps.close()

    def _run(self) -> Generator[int, None, None]:
        first, last = self._log_mark.file_id, self._durable.file_id
        ids = [i for i in journal_ids(self._fs, self._directory) if first <= i <= last]
        for number, file_id in enumerate(ids, 1):
            try:
                yield from self._verify(file_id, ids[number:])
            except FileNotFoundError:
                continue  # the journal has recycled or deleted this file meanwhile
            except JournalDamageError as error:
                self._found(file_id, str(error))
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                self._found(file_id, f"{self._path(file_id)}: the disk cannot read it: {error.strerror}")

    def _verify(self, file_id: int, later: Sequence[int]) -> Iterator[int]:
        start = self._log_mark.offset if file_id == self._log_mark.file_id else 0
        end = self._needed_end(file_id, later)
        with closing(self._fs.open(self._path(file_id), direct=True)) as file:
            reader = JournalReader(file, file_id)
            at = max(start, reader.start)
            for _ in reader.records(start):
                yield reader.at - at
                at = reader.at
                if at >= end:
                    return
            yield max(min(reader.end, end) - at, 0)
            # report no damage in a file of Apache's bookie (which has no identity): without checksums, the end of its
            # records is not known for certain
            if reader.identity is not None and reader.end < end:
                self._found(file_id, f"{reader.path}: damaged at offset {reader.end}, durable up to {end}")

    def _needed_end(self, file_id: int, later: Sequence[int]) -> int:
        """Return the offset up to which a file must be intact; 0 if it is unknown.

        For the newest file, this is the end of the durable records.  For another file, the first group of records in
        the next file contains it as a value: the position up to which the journal was durable before that group.

        :param later: ids of the files after this file.
        """
        if file_id == self._durable.file_id:
            return self._durable.offset
        for each in later:
            with closing(self._fs.open(self._path(each), direct=True)) as file:
                known = JournalReader(file, each).first_durable()
            if known is not None:
                return known.offset if known.file_id == file_id else 0
        return 0

    def _found(self, file_id: int, text: str) -> None:
        """Record damage, unless the journal has recycled the file meanwhile, because it may then be overwritten."""
        if self._fs.exists(self._path(file_id)):
            self.damages.append(text)

    def _path(self, file_id: int) -> str:
        return posixpath.join(self._directory, journal_name(file_id))

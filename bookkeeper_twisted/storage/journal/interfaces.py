"""The interface of a journal, and the description of a write that the caller of the journal makes itself."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from zope.interface import Attribute, Interface

from ...crc32c import Buffer
from ..interfaces import IFile, JournalPosition


class GroupWrite(NamedTuple):
    """A write that the caller of the journal must make, to append a group of records.

    The group is part of the journal when all ``parts`` are written and durable.

    :ivar file: the journal file; it has disk space for the group already.
    :ivar parts: the bytes, in several buffers.
    :ivar offset: offset in the file.
    """

    file: IFile
    parts: Sequence[Buffer]
    offset: int


class IJournal(Interface):
    """The journal in one directory: it appends groups of records, recycles files, and replays records at a start.

    ``Journal.open`` creates it.  After any exception from a writing method, the journal has failed: every further call
    raises :class:`~bookkeeper_twisted.errors.StorageFailedError`.

    While the bookie serves, the journal thread calls the methods.  The reactor thread may call :meth:`begin_group` and
    :meth:`end_group` while the journal thread has nothing to write.  One other thread may call :meth:`prepare` and
    :meth:`release` at any time.
    """

    directory: str = Attribute("Where its files are, ``current`` included.")
    position: JournalPosition = Attribute("End of the last group written.")
    durable: JournalPosition = Attribute("End of the last group synced.")

    def write_group(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
        """Append a group of records; with ``sync``, make this group and all earlier groups durable.

        :param records: byte strings, each with one or more complete records (``i32 length``, body).
        :returns: the position of the end of the group.  A new file is begun only between two groups, so that a group
            never spans files; the old file is synced and closed before a record in the new one is acknowledged.
        """

    def begin_group(records: Sequence[bytes]) -> GroupWrite | None:
        """Return the one durable write that appends a group of records; this call itself writes nothing.

        The caller makes the write and then calls :meth:`end_group`; between the two calls, it calls no other method
        that writes.  If the caller has not begun the write, it may drop the returned object instead.

        :param records: byte strings, each with one or more complete records.
        :returns: None if one write is not enough: a new file must be begun, the file must be extended, or earlier
            groups are not durable yet.  Also None if the journal has failed.  Call :meth:`write_group` then.
        """

    def end_group(failure: BaseException | None = None) -> JournalPosition:
        """Record the result of the write that :meth:`begin_group` has returned; return the end of the journal.

        :param failure: the error of the write, which makes the journal fail; None if the group is durable.
        """

    def sync() -> JournalPosition:
        """Make all written groups of records durable; return the position of their end."""

    def replay(log_mark: JournalPosition) -> Iterator[bytes]:
        """Yield the body of each record after ``log_mark``, in order.  Call this before the first write only.

        :raises bookkeeper_twisted.errors.JournalDamageError: records are missing that were durable.
        """

    def release(log_mark: JournalPosition) -> None:
        """Recycle or delete the journal files that end before ``log_mark``; keep the newest of these files as backups.

        :param log_mark: the new log mark; no later replay begins before it.
        """

    def prepare() -> bool:
        """Do one short step to prepare the next journal file: an old file to overwrite, or a new file full of zeros.

        When the journal needs the prepared file, it only has to rename it.

        :returns: False if another call is needed; True if the file is ready, or the disk is too full for it.
        """

    def close() -> None: ...

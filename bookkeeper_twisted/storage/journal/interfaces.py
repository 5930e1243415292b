"""The interface of a journal, and the write of a group of records that its caller makes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from zope.interface import Attribute, Interface

from ...crc32c import Buffer
from ..interfaces import IFile, JournalPosition


class GroupWrite(NamedTuple):
    """A write that appends a group of records to a journal if it is made as a whole, and durably.

    :ivar file: the journal file, all blocks of which exist where the group is written.
    :ivar parts: the bytes, in several buffers.
    :ivar offset: offset in the file.
    """

    file: IFile
    parts: Sequence[Buffer]
    offset: int


class IJournal(Interface):
    """The journal in one directory: it appends groups of records, recycles files, and replays records at a start.

    ``Journal.open`` creates it.  After any exception from a writing method, the journal has failed: every further call
    raises :class:`~bookkeeper_twisted.errors.StorageFailedError`.  While the bookie serves, one thread at a time calls
    it: the journal thread, or the reactor thread while the journal thread has nothing to write
    (:meth:`begin_group`, :meth:`end_group`); but :meth:`prepare` and :meth:`release` may run on one other thread.
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
        """Return the one durable write that appends a group of records; touch memory only.

        The caller makes the write, then calls :meth:`end_group`, and nothing else that writes before; or it forgets the
        write, if it has not begun.

        :param records: byte strings, each with one or more complete records.
        :returns: None if more than one write is needed, because a new file or more room must come first, or earlier
            groups are not durable, or if the journal has failed; :meth:`write_group` then does it, or fails.
        """

    def end_group(failure: BaseException | None = None) -> JournalPosition:
        """Record the end of the write that :meth:`begin_group` has returned; return the position of the group's end.

        :param failure: why the group is not durable: then the journal has failed; None if the group is durable.
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
        """Do one short step to prepare the next file (recycled or filled with zeros), so that a rename can begin it.

        :returns: False if another call is needed; True if the file is ready, or the disk is too full for it.
        """

    def close() -> None: ...

"""The interface to a RocksDB database.  Tests implement it in memory."""

from collections.abc import Callable, Iterator, Sequence

from zope.interface import Interface

from ..interfaces import IFileSystem

Pair = tuple[bytes, bytes]


class IKeyValues(Interface):
    """A map of byte strings on disk, ordered by key.  Its methods block; only one thread may use it.

    All methods raise :class:`~bookkeeper_twisted.errors.StorageError` if the database fails.
    """

    def items(first: bytes = b"") -> Iterator[Pair]:
        """Yield all pairs from the key ``first`` on, ascending; memory use does not grow with their number.

        :param first: the lowest key.
        """

    def put(pairs: Sequence[Pair]) -> None:
        """Add or replace ``pairs``; a crash before the next :meth:`flush` may lose them."""

    def flush() -> None:
        """Make durable all pairs of key and value that :meth:`put` has written so far."""

    def close() -> None:
        """Close the files and release their lock; pairs that are not flushed may be lost."""


OpenKeyValues = Callable[[IFileSystem, str, bool], IKeyValues]
"""A function that opens and locks a database: (file system, path of the database, whether to create a missing one).

:raises bookkeeper_twisted.errors.DirectoryLockedError: another process has the database open.
:raises bookkeeper_twisted.errors.StorageError: the database cannot be opened, or the library ``rocksdict`` is not
    installed.
"""

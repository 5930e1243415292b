"""The interface to RocksDB."""

from collections.abc import Callable, Iterator, Sequence

from zope.interface import Interface

from ..interfaces import IFileSystem

Pair = tuple[bytes, bytes]


class IKeyValues(Interface):
    """A map of byte strings on disk, ordered by key.  Its methods block; only one thread may use it.

    All methods raise :class:`~bookkeeper_twisted.errors.StorageError`.
    """

    def items(first: bytes = b"") -> Iterator[Pair]:
        """Yield the pairs from the key ``first`` upwards, ascending; memory use does not grow with their number.

        :param first: the lowest key.
        """

    def put(pairs: Sequence[Pair]) -> None:
        """Add or replace ``pairs``, which may be lost in a crash before the next :meth:`flush`."""

    def flush() -> None:
        """Make all pairs durable."""

    def close() -> None:
        """Release the files and the lock on them, without a flush."""


OpenKeyValues = Callable[[IFileSystem, str, bool], IKeyValues]
"""Opens the database of a directory and locks it; with the flag it is made if there is none.

:raises bookkeeper_twisted.errors.DirectoryLockedError: another process has it open.
:raises bookkeeper_twisted.errors.StorageError: it cannot be opened, or the library for that is not installed.
"""

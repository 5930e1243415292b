"""The test suite for ordered maps of keys to values on disk.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from itertools import islice

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...errors import DirectoryLockedError, StorageError
from ...storage.apache.interfaces import IKeyValues


def _pair(number: int) -> tuple[bytes, bytes]:
    return number.to_bytes(8, "big"), b"value %d" % number


class KeyValuesContract(SynchronousTestCase):
    """The tests that each map passes; a subclass defines how a map is opened."""

    def open(self, name: str, create: bool) -> IKeyValues:
        """Open the map called ``name``; if it is missing and ``create`` is set, make it."""
        raise NotImplementedError

    def test_interface(self) -> None:
        """The map provides all methods of ``IKeyValues``."""
        database = self.open("a", True)
        verifyObject(IKeyValues, database)
        database.close()

    def test_flushed(self) -> None:
        """Pairs that were flushed are in the map when it is opened again, with or without ``create``."""
        database = self.open("a", True)
        database.put([_pair(2), _pair(1)])
        database.put([_pair(1), (_pair(3)[0], b"")])
        database.flush()
        database.close()
        for create in (False, True):
            database = self.open("a", create)
            self.assertEqual([*database.items()], [_pair(1), _pair(2), (_pair(3)[0], b"")])
            database.close()

    def test_more_than_a_page(self) -> None:
        """An iteration yields all pairs in the order of keys, from any key on, even if there are many."""
        database = self.open("a", True)
        pairs = [_pair(number) for number in range(25_000)]
        database.put(pairs[::-1])
        self.assertEqual([*database.items()], pairs)
        self.assertEqual([*database.items(pairs[20_000][0])], pairs[20_000:])
        self.assertEqual([*database.items(pairs[7][0] + b"\0")], pairs[8:])
        database.close()

    def test_order(self) -> None:
        """Keys of any length are ordered by their bytes."""
        keys = [b"", b"\0", b"\0\0", b"\0\1", b"\1", b"a", b"a\0", b"aa", b"b", b"\x7f", b"\x80", b"\xff"]
        keys += [b"\xff\0", b"\xff" * 9]
        database = self.open("a", True)
        database.put([(key, key * 2) for key in keys[::-1]])
        for start, first in enumerate(keys):
            self.assertEqual([key for key, _ in database.items(first)], keys[start:])
        database.close()

    def test_locked(self) -> None:
        """A map cannot be opened twice at the same time; it can be closed during an iteration over it."""
        database = self.open("a", True)
        database.put([_pair(1), _pair(2)])
        database.flush()
        begun = database.items()
        self.assertEqual([*islice(begun, 1)], [_pair(1)])
        self.assertRaises(DirectoryLockedError, self.open, "a", False)
        database.close()
        self.open("a", False).close()

    def test_absent(self) -> None:
        """Without ``create``, opening a missing map fails and creates no file."""
        self.assertRaises(StorageError, self.open, "b", False)
        self.assertRaises(StorageError, self.open, "b", False)

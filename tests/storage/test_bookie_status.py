"""The status file."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.bookie_status import BookieStatus, load_status, save_status
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk

from .ledger_storages import DIRECTORIES, make_directories


class BookieStatusTests(SynchronousTestCase):
    """Apache's line, and reasons after it."""

    def setUp(self) -> None:
        self.disk = make_directories(SimDisk())

    def test_format(self) -> None:
        """The first line is Apache's."""
        status = BookieStatus(True, 1700000000123, True, ("a disk is full",))
        self.assertEqual(status.encode(), b"1,READ_ONLY,1700000000123,true\na disk is full\n")
        self.assertEqual(BookieStatus().encode(), b"1,READ_WRITE,0,false\n")

    def test_parsed(self) -> None:
        """Apache's files are understood, the older form with three fields too; anything else is none."""
        self.assertEqual(BookieStatus.parse(b"1,READ_ONLY,5,false\n"), BookieStatus(True, 5, False))
        self.assertEqual(BookieStatus.parse(b"1,READ_WRITE,5\n"), BookieStatus(False, 5, True))
        for data in (b"", b"2,READ_ONLY,5,true", b"1,READ,5,true", b"1,READ_ONLY,x,true", b"\xff\xfe", b"1"):
            self.assertIsNone(BookieStatus.parse(data))

    def test_durable(self) -> None:
        """What was saved is loaded after a power cut."""
        status = BookieStatus(True, 7, False, ("one", "two"))
        save_status(self.disk, DIRECTORIES, status)
        self.assertEqual(load_status(self.disk.crash(()), DIRECTORIES), status)

    def test_newest(self) -> None:
        """The newest file counts, also where another directory took no newer one."""
        save_status(self.disk, DIRECTORIES, BookieStatus(True, 7, True))
        self.disk.fail(errno.ENOSPC, when=lambda op: op.path.startswith("/l0/"))
        save_status(self.disk, DIRECTORIES, BookieStatus(False, 8, False))
        self.disk.heal()
        self.assertEqual(load_status(self.disk, DIRECTORIES), BookieStatus(False, 8, False))

    def test_not_saved(self) -> None:
        """It is an error if no directory took the status."""
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "create", times=9)
        self.assertRaises(OSError, save_status, self.disk, DIRECTORIES, BookieStatus())

    def test_none(self) -> None:
        """Without a file the bookie was writable."""
        self.assertEqual(load_status(self.disk, DIRECTORIES), BookieStatus())

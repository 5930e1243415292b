"""The status file."""

import errno

from hypothesis import example, given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.bookie_status import BookieStatus, load_status, save_status

from ..simulated_disk.sim_disk import SimDisk
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

    def test_since(self) -> None:
        """A reason that is older than the status has its own time; of others, it is the time of the status."""
        status = BookieStatus(True, 9, True, ("forced", "full"), (5, 9))
        self.assertEqual(status.encode(), b"1,READ_ONLY,9,true\nforced\t5\nfull\n")
        self.assertEqual(BookieStatus.parse(status.encode()), status)
        self.assertEqual([status.began(reason) for reason in ("forced", "full", "other")], [5, 9, 9])
        for line in ("a\tb", "a\t", "a\t" + "9" * 19, "a\t" + "9" * 99, "a\t-1"):
            found = BookieStatus(True, 9, True, (line,))
            self.assertEqual(BookieStatus.parse(b"1,READ_ONLY,9,true\n" + line.encode()), found)

    def test_parsed(self) -> None:
        """Apache's files are understood, the older form with three fields too; anything else is none."""
        self.assertEqual(BookieStatus.parse(b"1,READ_ONLY,5,false\n"), BookieStatus(True, 5, False))
        self.assertEqual(BookieStatus.parse(b"1,READ_WRITE,5\n"), BookieStatus(False, 5, True))
        for data in (b"", b"2,READ_ONLY,5,true", b"1,READ,5,true", b"1,READ_ONLY,x,true", b"\xff\xfe", b"1"):
            self.assertIsNone(BookieStatus.parse(data))

    @given(st.binary() | st.text("1,READ_ONLYWITE٣-0 \r\n").map(str.encode))
    @example(b"1,READ_ONLY,%b,true" % (b"9" * 5000))
    @example(b"1,READ_ONLY,%d,true" % (1 << 63))
    @example(b"1,READ_ONLY,9999999999999999999,true")
    @example(b"1,READ_ONLY,\xd9\xa3,true")
    @example(b"1,READ_ONLY,-1,true")
    def test_any_content(self, data: bytes) -> None:
        """A file of any content is a status, of a time that Apache can read, or none."""
        found = BookieStatus.parse(data)
        if found is not None:
            self.assertTrue(0 <= found.millis < 1 << 63)
            self.assertEqual(data.split(b",")[2].split(b"\n")[0].strip(), b"%d" % found.millis)

    def test_damaged_file(self) -> None:
        """A file that is no status hides none: a number of thousands of digits does not keep a bookie from starting."""
        status = BookieStatus(True, 7, True, ("one",))
        save_status(self.disk, DIRECTORIES, status)
        path = f"{DIRECTORIES[0]}/BOOKIE_STATUS"
        self.disk.open(path).pwrite(b"1,READ_WRITE,%b,false\n" % (b"9" * 5000), 0)
        self.assertEqual(load_status(self.disk, DIRECTORIES[:1]), BookieStatus())
        self.assertEqual(load_status(self.disk, DIRECTORIES), status if len(DIRECTORIES) > 1 else BookieStatus())

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

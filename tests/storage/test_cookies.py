"""Cookie files and locks: does every directory belong to this bookie (S6)?"""

import errno
from collections.abc import Collection

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DirectoryLockedError, InvalidCookieError
from bookkeeper_twisted.storage.cookies import DirectoryLocks, must_stamp, read_cookies, stamp, stamp_for_apache
from bookkeeper_twisted.storage.files.replace import replace_file
from bookkeeper_twisted.storage.ledger_dirs import EVENTS_NAME, make_currents

from ..simulated_disk.crash import Facts, enumerate_crashes
from ..simulated_disk.sim_disk import SimDisk

DIRECTORIES = ["/j", "/l0", "/l1"]
OURS = b"bookie a: /j /l0 /l1"
SMALLER = b"bookie a: /j /l0"
OTHER = b"bookie b: /j /l0 /l1"


def verify(cookie: bytes, where: str) -> None:
    """Ours, or ours before it had all directories."""
    if cookie not in (OURS, SMALLER):
        raise InvalidCookieError(f"the cookie in {where} is not ours")


def known(cookie: bytes) -> Collection[str]:
    """The directories in one of these cookies."""
    return cookie.decode().split(": ")[1].split()


def build() -> SimDisk:
    """Directories without cookies."""
    disk = SimDisk()
    make_currents(disk, DIRECTORIES)
    return disk


class CookieTests(SynchronousTestCase):
    """The table of the module."""

    def setUp(self) -> None:
        self.disk = build()

    def data_in(self, *directories: str) -> None:
        """Entries exist there."""
        for directory in directories:
            self.disk.open(f"{directory}/current/0.log", create=True)

    def decide(self, stored: bytes | None, allow_expansion: bool = False) -> bool:
        """What the table says."""
        files = read_cookies(self.disk, DIRECTORIES)
        return must_stamp(files, OURS, stored, verify, known, allow_expansion)

    def refused(self, stored: bytes | None, allow_expansion: bool = False) -> str:
        """The reason not to start."""
        return str(self.assertRaises(InvalidCookieError, self.decide, stored, allow_expansion))

    def test_new_bookie(self) -> None:
        """Empty directories and no cookie anywhere: stamp."""
        self.assertTrue(self.decide(None))
        stamp(self.disk, ["/j"], OURS)
        self.assertTrue(self.decide(None))

    def test_locks_are_no_data(self) -> None:
        """A lock, a half-written cookie and events of the console leave a directory empty."""
        DirectoryLocks(self.disk, DIRECTORIES)
        self.disk.open(f"/l0/current/{EVENTS_NAME}", create=True)
        self.disk.open("/j/current/IDENTITY.tmp", create=True)
        self.assertTrue(self.decide(None))

    def test_directories_that_are_not_made(self) -> None:
        """A directory without ``current`` counts as an empty one, and stays without."""
        disk = SimDisk()
        files = read_cookies(disk, DIRECTORIES)
        self.assertEqual((files.found, files.missing, files.with_data), ({}, list(DIRECTORIES), []))
        self.assertEqual(disk.list("/"), [])

    def test_data_without_a_cookie(self) -> None:
        """A directory with data and no cookie belongs to no known bookie."""
        self.data_in("/l1")
        self.assertIn("/l1", self.refused(None))

    def test_all_fine(self) -> None:
        """All cookies present and ours: nothing to do."""
        stamp(self.disk, DIRECTORIES, OURS)
        self.data_in(*DIRECTORIES)
        self.assertFalse(self.decide(OURS))

    def test_store_without_a_cookie(self) -> None:
        """All directories stamped and used, the store has no cookie: it was removed, or is another store."""
        stamp(self.disk, DIRECTORIES, OURS)
        self.data_in("/l0")
        self.assertIn("/l0", self.refused(None))

    def test_interrupted_first_start(self) -> None:
        """All directories stamped and nothing else in them: the first start goes on."""
        stamp(self.disk, DIRECTORIES, OURS)
        self.assertTrue(self.decide(None))

    def test_lost_directory(self) -> None:
        """An empty directory under a known identity is data loss, never a fresh start."""
        stamp(self.disk, ["/j", "/l0"], OURS)
        self.assertIn("/l1", self.refused(OURS))
        self.assertIn("/l1", self.refused(OURS, allow_expansion=True))

    def test_all_directories_lost(self) -> None:
        """So are all of them."""
        self.refused(OURS)
        self.refused(OURS, allow_expansion=True)

    def test_expansion(self) -> None:
        """A new empty directory is stamped if that is allowed."""
        stamp(self.disk, ["/j", "/l0"], SMALLER)
        self.assertIn("allowStorageExpansion=true", self.refused(SMALLER))
        self.assertTrue(self.decide(SMALLER, allow_expansion=True))
        self.data_in("/l1")
        self.assertIn("/l1", self.refused(SMALLER, allow_expansion=True))

    def test_interrupted_expansion(self) -> None:
        """An expansion that ended at any point is finished by the next start."""
        stamp(self.disk, ["/j", "/l0"], SMALLER)
        for directory in DIRECTORIES:
            stamp(self.disk, [directory], OURS)
            self.assertTrue(self.decide(SMALLER, allow_expansion=True), directory)

    def test_foreign_cookies(self) -> None:
        """A cookie of another bookie anywhere is refused, with the place (S6)."""
        stamp(self.disk, DIRECTORIES, OURS)
        self.assertIn("metadata store", self.refused(OTHER))
        for directory in DIRECTORIES:
            stamp(self.disk, [directory], OTHER)
            self.assertIn(f"{directory}/current/IDENTITY", self.refused(OURS))
            self.assertIn(f"{directory}/current/IDENTITY", self.refused(None))
            stamp(self.disk, [directory], OURS)

    def of_apache(self, *directories: str) -> None:
        """Apache's bookie serves them: its cookie, and entries."""
        for directory in directories:
            replace_file(self.disk, f"{directory}/current/VERSION", OURS)
        self.data_in(*directories)

    def _take_over(self, disk: SimDisk) -> bool:
        return must_stamp(read_cookies(disk, DIRECTORIES), OURS, OURS, verify, known, take_over=True)

    def test_directories_of_apache(self) -> None:
        """They are refused unless they are to be taken over, one of them or all; the text says how."""
        self.of_apache("/l0")
        for stored in (None, OURS):
            self.assertIn("rebuildIndex=true", self.refused(stored))
        self.of_apache("/j", "/l1")
        self.assertIn("/j is a directory of Apache's bookie", self.refused(OURS))
        self.assertTrue(self._take_over(self.disk))

    def test_taken_over(self) -> None:
        """Afterwards they are ours only: Apache's bookie finds none of its cookies, and nothing is to do again."""
        self.of_apache(*DIRECTORIES)
        stamp(self.disk, DIRECTORIES, OURS)
        self.assertFalse(any(self.disk.exists(f"{d}/current/VERSION") for d in DIRECTORIES))
        self.assertFalse(self._take_over(self.disk))
        self.assertFalse(self.decide(OURS))

    def test_another_bookie_of_apache(self) -> None:
        """Its cookie is checked like ours before directories are taken over."""
        self.of_apache(*DIRECTORIES)
        replace_file(self.disk, "/l1/current/VERSION", OTHER)
        self.assertRaises(InvalidCookieError, self._take_over, self.disk)

    def test_part_of_the_directories_of_apache(self) -> None:
        """A directory with entries that neither bookie has a cookie in is refused, as it always is (S6)."""
        self.of_apache("/j", "/l0")
        self.data_in("/l1")
        self.assertRaises(InvalidCookieError, self._take_over, self.disk)

    def test_back_to_apache(self) -> None:
        """Each directory has one cookie under Apache's name afterwards; what was cut off is finished."""
        disk = build()
        stamp(disk, DIRECTORIES, OURS)
        disk.fail(errno.EIO, when=lambda operation: operation.path == "/l1/current/VERSION.tmp")
        self.assertRaises(OSError, stamp_for_apache, disk, DIRECTORIES)
        self.assertEqual(read_cookies(disk, DIRECTORIES).found, dict.fromkeys(DIRECTORIES, OURS))
        for _ in range(2):
            stamp_for_apache(disk, DIRECTORIES)
            files = read_cookies(disk, DIRECTORIES)
            self.assertEqual((files.found, files.of_apache), ({}, dict.fromkeys(DIRECTORIES, OURS)))
        disk.unlink("/l0/current/VERSION")
        self.assertRaises(InvalidCookieError, stamp_for_apache, disk, DIRECTORIES)

    def test_every_take_over_goes_on(self) -> None:
        """Cut anywhere it can be repeated, and until it is at its end no directory is without a cookie."""

        def build_of_apache() -> SimDisk:
            self.disk = build()
            self.of_apache(*DIRECTORIES)
            for directory in DIRECTORIES:
                self.disk.sync_directory(f"{directory}/current")
            return self.disk

        def take_over(disk: SimDisk, facts: Facts) -> None:
            if self._take_over(disk):
                stamp(disk, DIRECTORIES, OURS)

        report = enumerate_crashes(take_over, take_over, seed=1, build=build_of_apache)
        self.assertEqual(report.violations, [])
        self.assertGreater(report.states, 18)

    def test_every_first_start_goes_on(self) -> None:
        """A first start cut anywhere can be repeated; a cookie in the store means all directories have theirs."""

        def first_start(disk: SimDisk, facts: Facts) -> None:
            if must_stamp(read_cookies(disk, DIRECTORIES), OURS, OURS if facts else None, verify, known):
                stamp(disk, DIRECTORIES, OURS)
                facts.append("stored")

        report = enumerate_crashes(first_start, first_start, seed=1, build=build)
        self.assertEqual(report.violations, [])
        self.assertGreater(report.states, 18)


    def test_every_expansion_goes_on(self) -> None:
        """An expansion cut anywhere is finished by the next start; the new directory is never taken for a lost one."""

        def build_smaller() -> SimDisk:
            disk = build()
            stamp(disk, DIRECTORIES[:2], SMALLER)
            disk.open("/l0/current/0.log", create=True).pwrite(b"x", 0)
            return disk

        def expand(disk: SimDisk, facts: Facts) -> None:
            stored = OURS if facts else SMALLER
            if must_stamp(read_cookies(disk, DIRECTORIES), OURS, stored, verify, known, allow_expansion=True):
                stamp(disk, DIRECTORIES, OURS)
                facts.append("stored")

        report = enumerate_crashes(expand, expand, seed=1, build=build_smaller)
        self.assertEqual(report.violations, [])
        self.assertGreater(report.states, 18)


class LockTests(SynchronousTestCase):
    """Locks for life."""

    def test_second_process(self) -> None:
        """Who comes second gets nothing, and leaves nothing locked (S6)."""
        disk = build()
        locks = DirectoryLocks(disk, ["/l0"])
        error = self.assertRaises(DirectoryLockedError, DirectoryLocks, disk, DIRECTORIES)
        self.assertIn("/l0/current/LOCK", str(error))
        DirectoryLocks(disk, ["/j", "/l1"]).release()
        locks.release()
        DirectoryLocks(disk, DIRECTORIES).release()

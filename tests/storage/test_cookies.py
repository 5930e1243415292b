"""Cookie files and locks: does every directory belong to this bookie (S6)?"""

from collections.abc import Collection

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DirectoryLockedError, InvalidCookieError
from bookkeeper_twisted.storage.cookies import DirectoryLocks, must_stamp, read_cookies, stamp
from bookkeeper_twisted.storage.ledger_dirs import make_current
from bookkeeper_twisted.testing.disk.crash import Facts, enumerate_crashes
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk

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
    for directory in DIRECTORIES:
        make_current(disk, directory)
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
        """A lock and a half-written cookie leave a directory empty."""
        DirectoryLocks(self.disk, DIRECTORIES)
        self.disk.open("/j/current/VERSION.tmp", create=True)
        self.assertTrue(self.decide(None))

    def test_data_without_a_cookie(self) -> None:
        """A directory with data and no cookie belongs to nobody known."""
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
            self.assertIn(f"{directory}/current/VERSION", self.refused(OURS))
            self.assertIn(f"{directory}/current/VERSION", self.refused(None))
            stamp(self.disk, [directory], OURS)

    def test_every_first_start_goes_on(self) -> None:
        """A first start cut anywhere can be repeated; a cookie in the store means all directories have theirs."""

        def first_start(disk: SimDisk, facts: Facts) -> None:
            if must_stamp(read_cookies(disk, DIRECTORIES), OURS, OURS if facts else None, verify, known):
                stamp(disk, DIRECTORIES, OURS)
                facts.append("stored")

        report = enumerate_crashes(first_start, first_start, seed=1, build=build)
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

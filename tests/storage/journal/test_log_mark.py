"""The log mark."""

import errno
import struct

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.crc32c import crc32c
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.log_mark import LogMark, log_mark_commits, read_log_mark

from ...simulated_disk.crash import Facts, enumerate_crashes
from ...simulated_disk.sim_disk import SimDisk

DIRECTORIES = ("/l0/current", "/l1/current", "/l2/current")


def build() -> SimDisk:
    """Three ledger directories."""
    disk = SimDisk()
    for directory in DIRECTORIES:
        disk.make_directories(directory)
    return disk


class LogMarkTests(SynchronousTestCase):
    """See the module."""

    def setUp(self) -> None:
        self.disk = build()

    def put(self, index: int, data: bytes, name: str = "lastMark") -> None:
        """A log mark file with these bytes."""
        self.disk.open(f"{DIRECTORIES[index]}/{name}", create=True).pwrite(data, 0)

    def read(self, name: str = "lastMark") -> JournalPosition:
        """What a start finds."""
        return read_log_mark(self.disk, DIRECTORIES, name)

    def test_none(self) -> None:
        """Without a file the log mark is at the beginning of everything."""
        self.assertEqual(self.read(), JournalPosition(0, 0))

    def test_layout(self) -> None:
        """Two big-endian numbers, as Apache's bookie has them, the commits of the index, and their checksum (S5)."""
        LogMark(self.disk, DIRECTORIES, "lastMark.1").advance(JournalPosition(0x1A1FBB5930E, 5632), [7, 0, 300])
        written = [self.disk.open(f"{directory}/lastMark.1").pread(100, 0) for directory in DIRECTORIES]
        self.assertEqual({data[:16].hex() for data in written}, {"000001a1fbb5930e0000000000001600"})
        self.assertEqual([int.from_bytes(data[16:24], "big") for data in written], [7, 0, 300])
        self.assertEqual([data[24:] for data in written], [struct.pack(">I", crc32c(data[:24])) for data in written])
        self.assertEqual([log_mark_commits(self.disk, directory) for directory in DIRECTORIES], [7, 0, 300])
        self.assertEqual(
            (self.read("lastMark.1"), self.read()), (JournalPosition(0x1A1FBB5930E, 5632), JournalPosition())
        )

    def test_lowest_valid(self) -> None:
        """Of several log marks the lowest counts; torn, empty and impossible ones do not (S7)."""
        self.put(0, struct.pack(">qq", 7, 100))
        self.put(1, struct.pack(">qq", 6, 9000))
        self.assertEqual(self.read(), JournalPosition(6, 9000))
        whole = struct.pack(">qqI", 5, 1, crc32c(struct.pack(">qq", 5, 1)))
        counted = struct.pack(">qqQ", 5, 1, 3)
        counted += struct.pack(">I", crc32c(counted))
        both = [(data, i) for data in (whole, counted) for i in range(len(data))]
        flipped = [data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for data, i in both]
        for bad in (
            b"", b"\0" * 15, b"\0" * 17, b"\0" * 20, struct.pack(">qq", -1, 5), struct.pack(">qq", 5, -1),
            whole + b"\0", whole[:19], counted + b"\0", counted[:27], counted[:20], *flipped,
        ):  # fmt: skip
            self.put(2, bad)
            self.assertEqual((self.read(), log_mark_commits(self.disk, DIRECTORIES[2])), (JournalPosition(6, 9000), 0))
            self.disk.unlink(f"{DIRECTORIES[2]}/lastMark")
        self.put(2, counted)
        self.assertEqual((self.read(), log_mark_commits(self.disk, DIRECTORIES[2])), (JournalPosition(5, 1), 3))

    def test_commits_of_several_marks(self) -> None:
        """The highest number of commits counts, whichever journal's mark has it; other files and forms have none."""
        for number, name in ((4, "lastMark.0"), (9, "lastMark.11"), (6, "lastMark"), (99, "lastMark.tmp")):
            LogMark(self.disk, DIRECTORIES[:1], name).advance(JournalPosition(5, 1), [number])
        self.assertEqual(log_mark_commits(self.disk, DIRECTORIES[0]), 9)
        numbers = struct.pack(">qq", 5, 1)
        self.put(1, numbers)
        self.put(1, numbers + struct.pack(">I", crc32c(numbers)), "lastMark.0")
        self.assertEqual(log_mark_commits(self.disk, DIRECTORIES[1]), 0)
        self.assertEqual(read_log_mark(self.disk, DIRECTORIES[1:2], "lastMark.0"), JournalPosition(5, 1))

    def test_never_back(self) -> None:
        """A log mark that is not ahead is not written (S7)."""
        log_mark = LogMark(self.disk, DIRECTORIES, "lastMark")
        log_mark.advance(JournalPosition(7, 100))
        before = len(self.disk.operations)
        for lower in (JournalPosition(7, 100), JournalPosition(7, 99), JournalPosition(6, 5000)):
            log_mark.advance(lower)
        self.assertEqual(
            (len(self.disk.operations), log_mark.position, self.read()), (before, *[JournalPosition(7, 100)] * 2)
        )

    def test_failure(self) -> None:
        """If one directory cannot be written the log mark has not moved."""
        log_mark = LogMark(self.disk, DIRECTORIES, "lastMark")
        log_mark.advance(JournalPosition(7, 100))
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.startswith("/l1"))
        self.assertRaises(OSError, log_mark.advance, JournalPosition(8, 0))
        self.assertEqual((log_mark.position, self.read()), (JournalPosition(7, 100),) * 2)
        log_mark.advance(JournalPosition(8, 0))
        self.assertEqual(LogMark(self.disk, DIRECTORIES, "lastMark").position, JournalPosition(8, 0))

    def test_not_synced(self) -> None:
        """A log mark that the process before had not synced is durable before anything depends on it (S7)."""
        LogMark(self.disk, DIRECTORIES, "lastMark").advance(JournalPosition(7, 100))
        self.disk.fail(errno.EIO, when=lambda op: op.name == "sync_directory" and op.path == DIRECTORIES[-1])
        self.assertRaises(OSError, LogMark(self.disk, DIRECTORIES, "lastMark").advance, JournalPosition(8, 0))
        self.disk.kill()
        LogMark(self.disk, DIRECTORIES, "lastMark").advance(JournalPosition(8, 0))
        self.disk = self.disk.crash(())
        self.assertEqual(self.read(), JournalPosition(8, 0))

    def test_crashes(self) -> None:
        """A crash anywhere leaves the log mark before or the one being written, and never less than was promised."""
        steps = [JournalPosition(5, 512), JournalPosition(5, 1024), JournalPosition(9, 512)]

        def workload(disk: SimDisk, facts: Facts) -> None:
            log_mark = LogMark(disk, DIRECTORIES, "lastMark")
            for step in steps:
                log_mark.advance(step)
                facts.append(step)

        def recover(disk: SimDisk, facts: Facts) -> None:
            allowed = [JournalPosition(), *steps][len(facts) : len(facts) + 2]
            found = LogMark(disk, DIRECTORIES, "lastMark").position
            if found not in allowed:
                raise AssertionError(f"{found} is none of {allowed}")

        report = enumerate_crashes(workload, recover, seed=1, build=build)
        self.assertEqual(report.violations, [])
        self.assertGreater(report.states, 35)

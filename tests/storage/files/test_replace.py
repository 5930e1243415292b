"""Small files are replaced whole or not at all."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.files.replace import replace_file

from ...simulated_disk.sim_disk import SimDisk


def _content(disk: SimDisk, path: str) -> bytes:
    return disk.open(path).pread(1000, 0)


class ReplaceTests(SynchronousTestCase):
    """On a disk that forgets."""

    def test_durable(self) -> None:
        """The new content survives a power cut at once."""
        disk = SimDisk()
        replace_file(disk, "/x", b"old")
        replace_file(disk, "/x", b"new")
        self.assertEqual(_content(disk.crash(()), "/x"), b"new")

    def test_crash(self) -> None:
        """A power cut at any operation, with any of its changes kept, leaves old or new."""
        disk = SimDisk()
        replace_file(disk, "/x", b"old")
        before, seen = len(disk.operations), set()

        def crash(_: object) -> None:
            for kept in range(1 << disk.pending_count()):
                after = disk.crash([i for i in range(8) if kept >> i & 1])
                seen.add(_content(after, "/x"))

        disk.observer = crash
        replace_file(disk, "/x", b"new")
        self.assertGreaterEqual(len(disk.operations) - before, 5)
        self.assertEqual(seen, {b"old", b"new"})

    def test_failures(self) -> None:
        """Each operation may fail; the old or the new content stays, and the next attempt succeeds."""
        for number in range(1, 6):
            disk = SimDisk()
            replace_file(disk, "/x", b"old")
            disk.fail(errno.EIO, at=len(disk.operations) + number)
            self.assertRaises(OSError, replace_file, disk, "/x", b"new")
            self.assertIn(_content(disk.crash(()), "/x"), (b"old", b"new"))
            replace_file(disk, "/x", b"newer")
            self.assertEqual(_content(disk.crash(()), "/x"), b"newer")

"""Verifying a journal while it is written."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.journal.journal import Journal
from bookkeeper_twisted.storage.journal.scrub import JournalScrub

from ...simulated_disk.sim_disk import SimDisk

SETTINGS = JournalSettings(max_size=2048, block=512, preallocate=4096, fill_step=4096, max_backups=0)


class JournalScrubTests(SynchronousTestCase):
    """A journal of several files, of two or three groups each."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.disk.make_directories("/j")
        self.journal = Journal.open(self.disk, "/j", SETTINGS, 100)
        self.ends = [self._write(number) for number in range(8)]

    def _write(self, number: int) -> JournalPosition:
        body = number.to_bytes(16, "big") + bytes([number]) * 700
        return self.journal.write_group([len(body).to_bytes(4, "big") + body])

    def scrub(self, log_mark: JournalPosition | None = None) -> list[str]:
        """The damages from a log mark on."""
        scrub = JournalScrub(self.disk, "/j", log_mark or JournalPosition(), self.journal.durable)
        self.read = 0
        while (n_bytes := scrub.step()) is not None:
            self.read += n_bytes
        return scrub.damages

    def flip(self, file_id: int, offset: int) -> str:
        """Damages a byte."""
        file = self.disk.open(f"/j/{file_id:x}.txn")
        file.pwrite(bytes([file.pread(1, offset)[0] ^ 1]), offset)
        return file.path

    def test_good(self) -> None:
        """All groups of all files are verified, up to the last durable one; others may follow it."""
        self.assertGreater(self.ends[-1].file_id, self.ends[0].file_id + 1)
        self.assertEqual(self.scrub(), [])
        sizes = {end.file_id: end.offset - 512 for end in self.ends}
        self.assertEqual(self.read, sum(sizes.values()))
        self.journal.write_group([b"\0\0\0\x10" + bytes(16)], sync=False)
        self.flip(self.journal.position.file_id, self.journal.position.offset - 3)
        self.assertEqual(self.scrub(), [])

    def test_every_group(self) -> None:
        """Damage of any group is found, in whichever file, unless it lies below the log mark."""
        for end in self.ends:
            path = self.flip(end.file_id, end.offset - 1)
            self.assertIn(path, self.scrub()[0])
            self.assertEqual(self.scrub(end), [])
            self.flip(end.file_id, end.offset - 1)
        self.assertEqual(self.scrub(), [])

    def test_header(self) -> None:
        """A damaged header is found, as is a file that was cut."""
        first, last = self.ends[0].file_id, self.ends[-1].file_id
        self.flip(first, 2)
        self.assertIn(f"/j/{first:x}.txn", self.scrub()[0])
        self.flip(first, 2)
        self.disk.open(f"/j/{last:x}.txn").truncate(600)
        self.assertIn("damaged at offset 512", self.scrub()[0])

    def test_released(self) -> None:
        """A file that was released while it was read is not damaged, whatever it holds by now."""
        self.assertEqual(self.ends[0].file_id, self.ends[1].file_id)
        self.flip(self.ends[1].file_id, self.ends[1].offset - 1)
        scrub = JournalScrub(self.disk, "/j", JournalPosition(), self.journal.durable)
        scrub.step()
        self.journal.release(self.ends[-1])
        while scrub.step() is not None:
            pass
        self.assertEqual(scrub.damages, [])

    def test_closed(self) -> None:
        """A pass that is ended before its end leaves nothing open, and does nothing more."""
        scrub = JournalScrub(self.disk, "/j", JournalPosition(), self.journal.durable)
        scrub.step()
        scrub.close()
        self.assertIsNone(scrub.step())

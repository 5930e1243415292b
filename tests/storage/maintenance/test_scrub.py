"""The verification of what an index refers to, step by step."""

import errno

from bookkeeper_twisted.storage.maintenance.row_reader import PAGE
from bookkeeper_twisted.storage.maintenance.scrub import Scrub

from ..entries import run
from .test_copying import CopyCase


class ScrubTests(CopyCase):
    """One pass over a directory."""

    def scrub(self, step: int) -> list[tuple[int, int, int]]:
        """Ledgers and entries that a pass finds damaged."""
        scrub = Scrub(self.disk, self.directory, 0)
        self.read: list[tuple[int, int]] = []
        while (reading := scrub.cutter.next_step(step)) is not None:
            self.read += [(piece.row.ledger_id, piece.start) for piece in reading.pieces]
            scrub.take(scrub.read(reading))
        scrub.close()
        return [(found.ledger_id, found.first, found.last) for found in scrub.record.findings]

    def test_steps(self) -> None:
        """A damaged byte is found in whichever step of its row it lies; the rows behind it are verified."""
        self.log_of(run(1, 0, 90, size=100), run(2, 0, 5), run(3, 0, 5))
        file = self.disk.open("/l0/0.log")
        offsets = [row.offset for ledger_id in (1, 3) for row in self.directory.index.rows(ledger_id)]
        self.assertEqual(self.scrub(PAGE), [])
        for offset in (offsets[0] + 100, offsets[1] + 100):
            file.pwrite(bytes([file.pread(1, offset)[0] ^ 1]), offset)
        for step in (PAGE, 1 << 20):
            self.assertEqual(self.scrub(step), [(1, 0, 89), (3, 0, 4)])

    def test_unreadable_step(self) -> None:
        """A row whose first step cannot be read is one finding, and its other steps are left out."""
        self.log_of(run(1, 0, 90, size=100), run(2, 0, 5))
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread", times=2)
        self.assertEqual(self.scrub(PAGE), [(1, 0, 89)])
        self.assertEqual(self.read, [(1, 0), (2, 0)])

"""The progress of a scrub over several ledger directories."""

import errno
from typing import NoReturn

from bookkeeper_twisted.bookie.maintenance import maintained
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.index.rows import live_totals

from ...simulated_disk.sim_disk import SimDisk
from ..crash_life import Parts
from .crash_case import steps
from .test_scrubber import ScrubberCase


class PassTotalsTests(ScrubberCase):
    """What is done and left of a pass."""

    def test_several_directories(self) -> None:
        """Progress and end are those of the pass over all directories; the one at hand is named."""
        self.patch(maintained, "_LEAST_STEP", 500)
        self.disk = SimDisk()
        self.facts = []
        self.start(rate=2000.0, parts=Parts(n_ledger_dirs=2))
        steps(self.life, range(3))
        stored = [live_totals(each.storage.index)[1] for each in self.life.maintenance.directories]
        self.assertGreater(min(stored), 0)
        self.begin()
        progress, named, done = self.scrubber.state.progress, list[str](), 0
        assert progress is not None
        self.assertGreaterEqual(progress.eta(self.life.clock.seconds()) or 0.0, (sum(stored) - 2 * 500) / 2000)
        while at := self.scrubber.state.at:
            if at not in named:
                named.append(at)
            self.assertEqual((progress.done + progress.left, progress.done >= done), (sum(stored), True))
            done = progress.done
            self.life.wait(0.25)
        self.assertEqual(progress.done, sum(stored))
        self.assertEqual(named[:2], [f"/ledgers{n}/current, directory {n + 1} of 2" for n in (0, 1)])
        self.assertEqual((self.scrubber.state.passes, self.scrubber.state.at), (1, ""))

    def test_unmeasured_directory(self) -> None:
        """A directory that cannot be measured ends no pass before its turn, and nothing is left of it afterwards."""
        self.disk = SimDisk()
        self.facts = []
        self.start(rate=2000.0, parts=Parts(n_ledger_dirs=3))
        steps(self.life, range(3))
        first, broken, last = self.life.maintenance.directories
        stored = [live_totals(each.storage.index)[1] for each in (first, last)]

        def fails() -> NoReturn:
            raise StorageError("damaged")

        self.patch(broken.storage.index, "live", fails)
        self.begin()
        progress = self.scrubber.state.progress
        assert progress is not None
        self.assertEqual(progress.done + progress.left, sum(stored))
        while self.scrubber.state.at:
            self.life.wait(1)
        self.assertEqual((progress.done, progress.left, self.scrubber.state.failures), (sum(stored), 0, 1))

    def test_unread_directory(self) -> None:
        """Nothing is left of the last directory after its disk has failed."""
        self.patch(maintained, "_LEAST_STEP", 500)
        self.start(rate=2000.0)
        self.begin()
        progress = self.scrubber.state.progress
        assert progress is not None
        self.assertGreater(progress.left, 0)
        self.disk.fail(errno.ENXIO, when=lambda op: op.name == "pread" and op.path.endswith("0.log"))
        while self.scrubber.state.at:
            self.life.wait(1)
        self.assertEqual((progress.left, self.scrubber.state.failures), (0, 1))

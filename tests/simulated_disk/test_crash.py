"""Crash enumeration: what is tried, and that a broken workload is caught."""

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from .crash import Facts, crash_choices, enumerate_crashes
from .sim_disk import SimDisk


def build() -> SimDisk:
    """A directory."""
    disk = SimDisk()
    disk.make_directories("/d")
    return disk


def note(disk: SimDisk, facts: Facts, *, sync: bool = True, sync_directory: bool = True) -> None:
    """Writes two sectors to a new file and promises that they are there."""
    file = disk.open("/d/note", create=True)
    file.pwrite(b"x" * 1024, 0)
    if sync:
        file.sync(metadata=True)
    if sync_directory:
        disk.sync_directory("/d")
    facts.append("written")


def look(disk: SimDisk, facts: Facts) -> None:
    """Checks the promise."""
    if facts:
        found = disk.open("/d/note").pread(2000, 0) if disk.exists("/d/note") else b""
        if found != b"x" * 1024:
            raise AssertionError(f"lost: {len(found)} bytes")


class EnumerationTests(SynchronousTestCase):
    """The driver."""

    def _violations(self, workload: Callable[[SimDisk, Facts], None]) -> int:
        return len(enumerate_crashes(workload, look, seed=1, build=build).violations)

    def test_sound_workload(self) -> None:
        """A workload that keeps its promises passes; every operation was a crash point."""
        report = enumerate_crashes(note, look, seed=1, build=build)
        self.assertEqual((report.operations, report.violations), (4, []))
        self.assertEqual(report.states, 6)
        self.assertIn("4 operations", str(report))

    def test_missing_sync(self) -> None:
        """A promise before the sync is caught, with the operation and the changes that were kept."""
        report = enumerate_crashes(lambda d, f: note(d, f, sync=False), look, seed=1, build=build)
        violation = report.violations[0]
        self.assertEqual((violation.at, violation.kept, violation.pending), (None, (), 3))
        self.assertIn("lost", str(violation.error))

    def test_missing_directory_sync(self) -> None:
        """A promise before the name is durable is caught."""
        self.assertGreater(self._violations(lambda d, f: note(d, f, sync_directory=False)), 0)

    def test_crash_inside_the_recovery(self) -> None:
        """A recovery that destroys what it has not yet replaced is caught by the second cut."""

        def rewrite(disk: SimDisk, facts: Facts) -> None:
            look(disk, facts)
            if facts:
                disk.unlink("/d/note")
                disk.sync_directory("/d")
                note(disk, [])

        def enumerate_with(second_every: int) -> list[object]:
            report = enumerate_crashes(note, rewrite, seed=1, build=build, second_every=second_every)
            return [violation.second for violation in report.violations]

        self.assertEqual(enumerate_with(0), [])
        seconds = enumerate_with(1)
        self.assertTrue(seconds)
        self.assertNotIn(None, seconds)

    def test_the_same_each_time(self) -> None:
        """Equal seeds try equal states."""
        states = [enumerate_crashes(note, look, seed=seed, build=build).states for seed in (1, 1)]
        self.assertEqual(states[0], states[1])

    def test_chosen_points(self) -> None:
        """Crash points can be limited to some operations."""
        report = enumerate_crashes(
            lambda d, f: note(d, f, sync=False), look, seed=1, build=build, points=lambda op: op.name == "pwrite"
        )
        self.assertLess(report.states, 10)


class ChoiceTests(SynchronousTestCase):
    """Which crash states are tried."""

    def test_choices(self) -> None:
        """Nothing, everything, each change dropped and alone, the last write torn, random subsets."""
        disk = build()
        file = disk.open("/d/f", create=True)
        disk.sync_directory("/d")
        file.pwrite(b"a" * 512, 0)
        file.pwrite(b"b" * 1024, 512)
        found = {tuple(choice) for choice in crash_choices(disk, 1)}
        size, data, bigger, first, last = range(5)
        expected = {(), (size, data, bigger, first, last), (size, data, bigger), (size, data, bigger, first)}
        expected |= {(single,) for single in range(5)}
        expected |= {tuple(i for i in range(5) if i != single) for single in range(5)}
        self.assertLessEqual(expected, found)
        self.assertGreater(len(found - expected), 2)

    def test_many_changes_are_sampled(self) -> None:
        """Beyond some number of pending changes only a sample is tried one by one."""
        disk = build()
        disk.open("/d/f", create=True).pwrite(b"a" * 512 * 500, 0)
        alone = [choice for choice in crash_choices(disk, 1) if len(choice) == 1]
        self.assertTrue(20 < len(alone) < 60)

    def test_nothing_pending(self) -> None:
        """Without pending changes there is one state."""
        self.assertEqual(list(crash_choices(build(), 1)), [()])

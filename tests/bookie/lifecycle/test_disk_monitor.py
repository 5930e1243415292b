"""How full the disks are."""

import errno

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.admin import DirectoryUsage
from bookkeeper_twisted.bookie.lifecycle.disk_history import DiskHistory
from bookkeeper_twisted.bookie.lifecycle.disk_monitor import (
    FEW_INODES,
    READ_ONLY,
    REPLACED,
    DiskMonitor,
    DiskState,
    DiskThresholds,
)
from bookkeeper_twisted.bookie.lifecycle.store import StorePaths
from bookkeeper_twisted.testing.executor import StepExecutor

from ...simulated_disk.sim_disk import SimDisk


class _Disks(SimDisk):
    """Directories on disks of a given usage; None is a disk that cannot be asked."""

    def __init__(self, **usage: tuple[int, int] | None) -> None:
        super().__init__()
        self.by_path = usage
        self.inodes_by_path: dict[str, tuple[int, int]] = {}
        self.names: dict[str, list[str]] = {}
        self.no_descriptor = ""
        self.refused: set[str] = set()
        self.numbers: dict[str, int] = {}

    def takes_writes(self, path: str) -> bool:
        return path not in self.refused

    def disk(self, path: str) -> int:
        return self.numbers.get(path, 1)

    def usage(self, path: str) -> tuple[int, int]:
        found = self.by_path[path]
        if found is None:
            raise OSError(5, "Input/output error")
        return found

    def inodes(self, path: str) -> tuple[int, int]:
        return self.inodes_by_path.get(path, (0, 0))

    def list(self, path: str) -> list[str]:
        if path in self.no_descriptor:
            raise OSError(errno.EMFILE, "Too many open files")
        return self.names.get(path, ["VERSION"])


class MonitorTests(SynchronousTestCase):
    """What is told."""

    def setUp(self) -> None:
        self.disks = _Disks(a=(100, 50), b=(1000, 700), j=(10, 4), i=(100, 1))
        self.clock, self.executor = Clock(), StepExecutor()
        self.told: list[DiskState] = []
        thresholds = DiskThresholds(full=0.95, low=0.80, warn=0.90, reserve=4)
        self.steady = Clock()
        self.monitor = DiskMonitor(
            self.disks, ["a", "b"], self.executor, self.clock, thresholds, self.told.append, ["j"],
            lambda: DiskHistory(self.steady.seconds), indexes=["i"],
        )  # fmt: skip

    def stop(self) -> None:
        self.successResultOf(Deferred.fromCoroutine(self.monitor.stop()))

    def check(self, free: int) -> DiskState:
        """What is told when a disk of 100 has so much free."""
        self.disks.by_path["a"] = (100, free)
        self.wait(10)
        self.executor.drain()
        return self.told[-1]

    def wait(self, seconds: float) -> None:
        """Both clocks go on."""
        self.steady.advance(seconds)
        self.clock.advance(seconds)

    def measured(self, *, journals: bool = False) -> list[DirectoryUsage]:
        """The measured ledger directories, or the journal directories."""
        measuring = self.monitor.measure_journals() if journals else self.monitor.measure_ledgers()
        self.executor.drain()
        return self.successResultOf(measuring)

    def growth(self) -> list[float | None]:
        """The growth of each ledger directory's disk."""
        return [each.growth for each in self.measured()]

    def test_growth(self) -> None:
        """The growth of each disk is known once its checks cover long enough."""
        self.monitor.start(10)
        self.assertEqual(self.growth(), [None, None])
        for free in range(50, 0, -1):
            self.check(free)
            self.wait(590)
        growth = self.growth()
        self.assertGreater(self.measured()[0].span, 1800)
        self.assertAlmostEqual(growth[0] or 0.0, 1 / 600)
        self.assertEqual(growth[1], 0.0)
        self.stop()

    def test_growth_of_a_lost_journal(self) -> None:
        """A disk that cannot be read does not count as empty; it would seem to grow when it can be read again."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        for is_lost in (True, True, False):
            self.disks.by_path["j"] = None if is_lost else (10, 4)
            for _ in range(4):
                self.check(50)
                self.wait(590)
        self.assertEqual([each.growth for each in self.measured(journals=True)], [0.0])

    def test_gone(self) -> None:
        """A directory that is gone, empty or unreadable is measured as the reason; the others have their numbers."""
        self.disks.by_path |= {"a": None, "j": None}
        first, second = self.measured()
        self.assertEqual(first, DirectoryUsage("a", 0, 0, reason="[Errno 5] Input/output error"))
        self.assertEqual((second.total, second.free, second.reason), (1000, 700, ""))
        self.assertEqual([each.reason for each in self.measured(journals=True)], ["[Errno 5] Input/output error"])
        self.disks.by_path["a"], self.disks.names["a"] = (100, 50), []
        self.assertEqual(self.measured()[0].reason, "it is empty: was its disk unmounted?")
        self.disks.names["a"], self.disks.no_descriptor = ["VERSION"], "b"
        self.assertEqual([each.reason for each in self.measured()], ["", "[Errno 24] Too many open files"])
        self.disks.no_descriptor = ""
        self.assertEqual([(each.total, each.reason) for each in self.measured()], [(100, ""), (1000, "")])

    def test_full_disks(self) -> None:
        """It is told which disks are full: all that are, but none while they do not count as full."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.assertEqual(self.check(50).full_disks, ())
        self.assertEqual(self.check(4).full_disks, ("a",))
        self.disks.by_path["b"] = (1000, 0)
        self.assertEqual(self.check(4).full_disks, ("a", "b"))
        self.monitor.change(DiskThresholds(any_full=False), 10)
        self.assertEqual(self.check(4).full_disks, ("a", "b"))
        self.assertEqual(self.check(50).full_disks, ())

    def test_set_clock(self) -> None:
        """The growth is right although the clock of the reactor is set."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        for free in range(50, 30, -1):
            self.check(free)
            self.wait(590)
            self.clock.advance(86400 if free == 40 else 0)
        self.assertAlmostEqual(self.growth()[0] or 0.0, 1 / 600)

    def test_hysteresis(self) -> None:
        """A disk is full above one threshold, and usable again below a lower one."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        full = [self.check(free).full for free in (50, 6, 4, 6, 19, 21, 6)]
        self.assertEqual(full, [False, False, True, True, True, False, False])

    def test_change(self) -> None:
        """Other thresholds count at once where the monitor runs, and the disks are checked at the new interval."""
        self.monitor.change(DiskThresholds(full=0.95, low=0.80), 1)
        self.executor.drain()
        self.assertEqual(self.told, [])
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.monitor.change(DiskThresholds(full=0.4, low=0.4, warn=0.4), 3)
        self.executor.drain()
        self.assertEqual([disks.full for disks in self.told], [True])
        for _ in range(3):
            self.clock.advance(3)
            self.executor.drain()
        self.assertEqual(len(self.told), 4)

    def test_look(self) -> None:
        """It looks when it is told to, once at a time, between its regular looks and not after the last of them."""
        self.monitor.look()
        self.executor.drain()
        self.assertEqual(self.told, [])
        self.monitor.start(10)
        self.disks.by_path["a"] = (100, 4)
        for _ in range(3):
            self.monitor.look()
        self.executor.drain()
        self.assertEqual([state.full for state in self.told], [True])
        self.monitor.look()
        self.executor.drain()
        self.assertEqual(len(self.told), 2)
        self.stop()
        self.monitor.look()
        self.executor.drain()
        self.assertEqual(len(self.told), 2)

    def test_almost_full(self) -> None:
        """A disk is almost full above the threshold for warnings."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.assertEqual([self.check(free).almost_full for free in (11, 9, 4)], [False, True, True])

    def test_text(self) -> None:
        """A full or almost full disk is named, with its used share and the thresholds that decide."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        full = "full above 95.0% (diskUsageThreshold) until down to 80.0% (diskUsageLwmThreshold)"
        for free, text in (
            (11, ""), (9, "the disk of a is almost full: 91.0% used, almost full above 90.0% (diskUsageWarnThreshold)"),
            (4, f"the disk of a is full: 96.0% used, {full}"), (15, f"the disk of a is full: 85.0% used, {full}"),
            (25, ""),
        ):  # fmt: skip
            self.assertEqual(self.check(free).text, text)

    def test_reserve(self) -> None:
        """High priority goes on as long as there is a reserve."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.assertEqual([self.check(free).has_reserve for free in (5, 4)], [True, False])

    def test_unwritten(self) -> None:
        """Entries that only memory has count as used; those of a checkpoint in progress, only if the disk is full."""
        unwritten = [(0, 0), (50, 50)]
        self.monitor = DiskMonitor(
            self.disks, ["a", "b"], self.executor, self.clock, DiskThresholds(full=0.95, low=0.95, reserve=4),
            self.told.append, unwritten=lambda: unwritten,
        )  # fmt: skip
        self.monitor.start(10)
        self.addCleanup(self.stop)
        for sizes, full, almost_full, has_reserve in (
            ((0, 0), False, False, True), ((0, 7), False, False, True), ((2, 7), False, True, True),
            ((7, 0), True, True, False), ((0, 7), True, True, False), ((200, 0), True, True, False),
            ((0, 0), False, False, True),
        ):  # fmt: skip
            unwritten[0] = sizes
            state = self.check(11)
            self.assertEqual((state.full, state.almost_full, state.has_reserve), (full, almost_full, has_reserve))
        self.assertEqual(self.measured()[0].free, 11)

    def test_unwritten_on_one_disk(self) -> None:
        """Directories on one disk take space of each other; one that cannot be used is not full."""
        self.monitor = DiskMonitor(
            self.disks, ["a", "b"], self.executor, self.clock, DiskThresholds(any_full=False), self.told.append,
            unwritten=lambda: [(4, 0), (3, 0)],
        )  # fmt: skip
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.by_path["b"] = (100, 11)
        self.assertEqual(self.check(11).full_disks, ("a", "b"))
        self.assertEqual(self.check(12).full_disks, ())
        self.disks.by_path |= {"a": None, "b": None}
        self.clock.advance(10)
        self.executor.drain()
        self.assertEqual((self.told[-1].full, len(self.told[-1].unusable)), (False, 2))

    def test_all_full(self) -> None:
        """With the rule for all disks, one full disk does not count."""
        thresholds = DiskThresholds(full=0.95, low=0.80, any_full=False)
        self.monitor = DiskMonitor(self.disks, ["a", "b"], self.executor, self.clock, thresholds, self.told.append)
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.assertFalse(self.check(1).full)
        self.disks.by_path["b"] = (1000, 1)
        self.assertTrue(self.check(1).full)
        self.assertFalse(self.check(50).full)

    def test_unreadable(self) -> None:
        """A directory that cannot be read is logged once and makes adds of all kinds impossible until it can be."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.by_path["a"] = None
        with capturedLogs() as events:
            for _ in range(3):
                self.clock.advance(10)
                self.executor.drain()
        self.assertEqual(
            [formatEvent(event) for event in events], ["a cannot be used: [Errno 5] Input/output error"]
        )
        self.assertEqual(self.told[-1].unusable, {"a": "[Errno 5] Input/output error"})
        self.assertEqual((self.told[-1].has_reserve, self.told[-1].full), (False, False))
        self.assertEqual(self.check(50), DiskState())

    def test_no_descriptors(self) -> None:
        """Without file descriptors nothing is said of any directory, and what was known of them stays; logged once."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        before = self.check(4)
        for path in ("a", "j"):
            self.disks.no_descriptor = path
            with capturedLogs() as events:
                for _ in range(3):
                    self.assertIs(self.check(50), before)
            text = "the check of the disks failed: [Errno 24] Too many open files"
            self.assertEqual([formatEvent(event) for event in events], [text])
            self.disks.no_descriptor = ""
            before = self.check(4)
        self.assertEqual(len(self.told), 3)

    def test_unforeseen(self) -> None:
        """An error that no disk makes is logged with its traceback, once, wherever in a check it comes from."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        nothing: dict[str, int] = {}
        for step in ("_survey", "_described"):
            failing = self.patch(self.monitor, step, lambda *found: nothing["a"])
            with capturedLogs() as events:
                for _ in range(3):
                    self.clock.advance(10)
                    self.executor.drain()
            self.assertEqual(["log_failure" in event for event in events], [True], step)
            failing.restore()
            self.check(50)
        self.flushLoggedErrors(KeyError)

    def test_vanished(self) -> None:
        """A directory without any file is a mount point whose disk is gone, of ledgers or of a journal."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.names = {"b": [], "j": []}
        state = self.check(50)
        self.assertEqual(state.unusable, {"b": "it is empty: was its disk unmounted?"})
        self.assertEqual(state.lost_journals, ("j: it is empty: was its disk unmounted?",))

    def test_read_only(self) -> None:
        """A disk that takes no writes is not usable until it does, be it of ledgers, of an index or of a journal."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.names = {name: ["LOCK"] for name in "abij"}
        text = "its file system is read-only: what it has can be read"
        for refused in ("b", "i", "j", "", "bij", "", "i", ""):
            self.disks.refused = {f"{name}/LOCK" for name in refused}
            with capturedLogs() as events:
                state = self.check(50)
                self.assertEqual(self.check(50), state)
            said = [str(formatEvent(event)) for event in events if "cannot be used" in str(formatEvent(event))]
            self.assertEqual(sorted(said), [f"{name} cannot be used: {text}" for name in refused])
            told = [{name: text for name in names if name in refused} for names in ("ab", "i", "j")]
            self.assertEqual([state.unusable, state.unusable_indexes, state.stuck_journals], told)
            self.assertEqual((state.lost_journals, state.has_reserve, state.full), ((), not refused, False))
            self.assertEqual([each.reason for each in self.measured(journals=True)], [text if "j" in refused else ""])
            self.assertEqual(self.monitor.used("j"), None if "j" in refused else 0.6)

    def test_replaced_journal_disk(self) -> None:
        """A journal directory that is on another disk after it took no writes stays unusable: its open files are not
        there.  Where it was writable all the time, nothing is said of the disk."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.names["j"] = ["LOCK"]
        for refused, number, stuck in (
            ("", 1, {}), ("", 2, {}), ("j/LOCK", 2, {"j": READ_ONLY}), ("", 2, {"j": REPLACED}),
            ("", 2, {"j": REPLACED}), ("", 1, {}),
        ):  # fmt: skip
            self.disks.refused, self.disks.numbers["j"] = {refused}, number
            state = self.check(50)
            self.assertEqual((state.stuck_journals, state.lost_journals, state.has_reserve), (stuck, (), not stuck))

    def test_replaced_before_writable(self) -> None:
        """The same where no check has found the disk of the journal writable, as it failed right after the start."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.names["j"] = ["LOCK"]
        for refused, number, stuck in (("j/LOCK", 1, {"j": READ_ONLY}), ("", 2, {"j": REPLACED}), ("", 1, {})):
            self.disks.refused, self.disks.numbers["j"] = {refused}, number
            self.assertEqual(self.check(50).stuck_journals, stuck)

    def test_index_directory(self) -> None:
        """An index directory that is gone or empty is not usable; what its bytes are does not count."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.names["i"] = []
        self.assertEqual(self.check(50).unusable_indexes, {"i": "it is empty: was its disk unmounted?"})
        self.disks.names["i"] = ["LOCK"]
        self.assertEqual(self.check(50), DiskState())
        self.assertEqual(self.monitor.n_writable, 2)

    def test_disk_of_an_index(self) -> None:
        """A disk that an index has for itself is full as one of ledgers is, has a reserve, and is measured; what it has
        free is not the bookie's space."""
        self.monitor.start(10)
        self.addCleanup(self.stop)

        def indexes() -> list[DirectoryUsage]:
            measuring = self.monitor.measure_indexes()
            self.executor.drain()
            return self.successResultOf(measuring)

        self.assertEqual((self.check(50).full_disks, indexes()), ((), []), "the disk is that of a ledger directory")
        self.disks.numbers["i"] = 2
        with capturedLogs() as events:
            for free, full in ((6, ()), (4, ("i",)), (19, ("i",)), (20, ()), (4, ("i",))):
                self.disks.by_path["i"] = (100, free)
                self.assertEqual(self.check(50), DiskState(has_reserve=free > 4, full_disks=full))
        self.assertIn("the disk of i is full: 96.0% used, 4 bytes free", map(formatEvent, events))
        self.assertEqual([(each.directory, each.total, each.free) for each in indexes()], [("i", 100, 4)])
        paths = StorePaths(("j",), ("l",), ("x",))
        self.assertIn(("a disk is full: that of x", True), DiskState(full_disks=("x/current",)).reasons(paths))
        self.monitor.change(DiskThresholds(any_full=False), 10)
        self.assertEqual(self.check(50).full_disks, ())
        self.disks.names["i"] = []
        self.assertEqual([each.reason for each in indexes()], ["it is empty: was its disk unmounted?"])

    def test_used(self) -> None:
        """The use of each disk is known, also of a journal's; it is unknown while the directory is gone."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.assertEqual(self.monitor.used("j"), 0)
        self.check(25)
        self.assertEqual([self.monitor.used(path) for path in ("a", "b", "j")], [0.75, 1 - 0.7, 0.6])
        self.disks.by_path["j"] = None
        self.assertEqual(self.check(25).lost_journals, ("j: [Errno 5] Input/output error",))
        self.assertIsNone(self.monitor.used("j"))
        self.assertEqual(self.monitor.n_writable, 2)
        self.disks.names["b"] = []
        self.check(25)
        self.assertEqual(([self.monitor.used(path) for path in "ab"], self.monitor.n_writable), ([0.75, None], 1))
        self.disks.names["b"] = ["VERSION"]
        self.check(25)
        self.assertEqual(([self.monitor.used(path) for path in "ab"], self.monitor.n_writable), ([0.75, 1 - 0.7], 2))

    def test_logged_once(self) -> None:
        """Each state of a directory is logged once, with its path: almost full, full, space again."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        with capturedLogs() as events:
            for free in (50, 9, 8, 4, 3, 50, 50):
                self.check(free)
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "the disk of a is almost full: 91.0% used, 9 bytes free",
                "the disk of a is full: 96.0% used, 4 bytes free",
                "the disk of a has space: 50.0% used, 50 bytes free",
            ],
        )  # fmt: skip

    def test_journal(self) -> None:
        """A journal's disk has its growth, and is logged when it is full; one that has ledgers, too, is logged once."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        with capturedLogs() as events:
            for free in (4, 3, 2, 1, 0):
                self.disks.by_path["j"] = (10, free)
                self.check(50)
                self.wait(600)
        texts = [formatEvent(event) for event in events]
        self.assertEqual(texts, ["the disk of j is full: 100.0% used, 0 bytes free"])
        (found,) = self.measured(journals=True)
        self.assertEqual((found.directory, found.free, found.free_inodes), ("j", 0, None))
        self.assertGreater(found.growth or 0.0, 0)
        with capturedLogs() as events:
            self.disks.by_path["j"] = (100, 1)
            self.check(1)
        self.assertEqual([formatEvent(event)[:16] for event in events], ["the disk of a is"])

    def test_inodes(self) -> None:
        """A disk without free inodes is logged once, whatever bytes it has, and again when it has some."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        with capturedLogs() as events:
            for free in (FEW_INODES, 999, 998, 0, 0, FEW_INODES):
                self.disks.inodes_by_path["a"] = (5000, free)
                self.check(50)
        self.assertEqual(
            [formatEvent(event).partition(";")[0] for event in events],
            [f"the disk of a has {left} of 5,000 inodes left" for left in ("999", "0", "1,000")],
        )
        self.assertEqual([each.free_inodes for each in self.measured()], [FEW_INODES, None])

    def test_space(self) -> None:
        """Total and free bytes are summed; two directories on one disk count once, and one that is gone not at all."""
        for usage, expected in (((100, 50), (1100, 750)), ((1000, 700), (1000, 700)), (None, (1000, 700))):
            self.disks.by_path["a"] = usage
            asking = self.monitor.space()
            self.executor.drain()
            self.assertEqual(self.successResultOf(asking), expected)

    def test_space_of_an_unmounted_disk(self) -> None:
        """An empty directory, whose disk is not mounted, does not count: its size is that of another disk."""
        self.monitor.start(10)
        self.addCleanup(self.stop)
        self.disks.names["b"] = []
        self.check(50)
        asking = self.monitor.space()
        self.executor.drain()
        self.assertEqual(self.successResultOf(asking), (100, 50))

    def test_stop(self) -> None:
        """Nothing is left behind."""
        self.monitor.start(10)
        self.stop()
        self.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])

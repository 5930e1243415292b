"""Journal groups whose writes the reactor thread begins: the power goes at every operation, every operation fails."""

import contextlib
import errno
from collections.abc import Callable, Sequence

from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.crc32c import Buffer
from bookkeeper_twisted.storage.interfaces import IFile
from bookkeeper_twisted.storage.journal.format import SECTOR
from bookkeeper_twisted.testing.executor import StepExecutor

from ..silence import forget_failures
from ..simulated_disk.crash import Facts, enumerate_crashes
from ..simulated_disk.sim_disk import SimDisk
from .crash_life import EXPECTED_FAILURES, ROOMY, Life, Parts, Script, check_promises, verifier, workload
from .test_bookie_crash import append, checkpoints, fences, in_turn, rotation, second_start, seeded

Done = Callable[[Failure | None], object]

_PARTS = Parts(journals=ROOMY)
_SCRIPTS = (append, fences, rotation, in_turn)


class BegunWritesTests(SynchronousTestCase):
    """Writes by the kernel, as a whole or in part, and failures."""

    timeout = 300

    def setUp(self) -> None:
        self.begun = 0

    def _make(self, file: IFile, parts: Sequence[Buffer], offset: int) -> None:
        """Makes a write as a whole."""
        file.pwritev(parts, offset, True)

    def _make_in_part(self, file: IFile, parts: Sequence[Buffer], offset: int) -> None:
        """Makes a part of a write, and then, as a journal thread does, the whole."""
        data = b"".join(parts)
        file.pwritev([data[: len(data) // 2 // SECTOR * SECTOR]], offset, True)
        file.pwritev(parts, offset, True)

    def _watch(self, in_part: bool = False) -> None:
        test = self

        def write(
            self: StepExecutor, thread: str, file: IFile, parts: Sequence[Buffer], offset: int, done: Done
        ) -> bool:
            test.begun += 1
            self.submit(thread, test._make_in_part if in_part else test._make, file, parts, offset).addBoth(done)
            return True

        self.patch(StepExecutor, "write", write)

    def _survives(self, script: Script, lives: Sequence[Script] = ()) -> None:
        begun = self.begun
        report = enumerate_crashes(workload(script, _PARTS, lives), verifier(_PARTS), seed=1)
        self.assertEqual(report.violations, [], str(report))
        self.assertGreater(self.begun, begun)

    def test_crashes(self) -> None:
        """Nothing that was acknowledged is lost, no fence, no LAC (S1-S4)."""
        self._watch()
        for script in _SCRIPTS:
            self._survives(script)

    def test_checkpoints(self) -> None:
        """Nor beside checkpoints, and over starts (S7)."""
        self._watch()
        self._survives(checkpoints, (second_start,))

    def test_seeds(self) -> None:
        """Nor in mixtures drawn by chance."""
        self._watch()
        for seed in range(1, 4):
            self._survives(seeded(seed), (seeded(seed + 1000, 1000),))

    def test_in_part(self) -> None:
        """Nor if the kernel makes a part of a write and power goes before the journal thread makes the whole (S1)."""
        self._watch(in_part=True)
        for script in (append, fences, rotation):
            self._survives(script)

    def test_failures(self) -> None:
        """EIO and ENOSPC at every operation: nothing is acknowledged that depends on what failed (S1, S10)."""
        self._watch()
        for script in _SCRIPTS:
            intact = SimDisk()
            workload(script, _PARTS)(intact, [])
            for number in range(1, len(intact.operations) + 1):
                for error in (errno.EIO, errno.ENOSPC):
                    self._fails_safely(script, number, error)
        self.assertGreater(self.begun, 1000)

    def _fails_safely(self, script: Script, number: int, error: int) -> None:
        disk, facts = SimDisk(), Facts()
        disk.fail(error, at=number)
        with contextlib.suppress(*EXPECTED_FAILURES):
            script(Life(disk, facts, _PARTS))
        forget_failures(self)
        for kept in ((), None):
            after = disk.crash(kept)
            try:
                check_promises(Life(after, [], _PARTS), facts)
            except AssertionError as broken:
                raise AssertionError(f"{script.__name__}, operation {number}: {broken}") from broken

    def test_ack_before_the_write(self) -> None:
        """Planted bug: acknowledged groups whose write was only begun get lost (S1)."""

        def write(
            self: StepExecutor, thread: str, file: IFile, parts: Sequence[Buffer], offset: int, done: Done
        ) -> bool:
            assert self._clock is not None
            self._clock.callLater(0, done, None)
            self._clock.callLater(0, self.submit, thread, file.pwritev, parts, offset, True)
            return True

        self.patch(StepExecutor, "write", write)
        report = enumerate_crashes(workload(append, _PARTS), verifier(_PARTS), seed=1)
        self.assertNotEqual(report.violations, [], f"not noticed in {report}")

"""Cuts the power at every operation of a workload and looks at every disk that could be left (safety 5.6).

A *workload* is a function that works on a :class:`~.sim_disk.SimDisk` and appends to a list of *facts* what
it was promised, at the moment it was promised (an add acknowledged) or begun.  A *recovery* is a
function that starts on the disk a crash left, is given the facts up to the crash, and raises if what it
finds contradicts them.  Both must do the same each time they are run::

    report = enumerate_crashes(workload, recover, seed=1)
    self.assertEqual(report.violations, [])

Crash states that were seen before with the same facts are not tried again.  At every tenth state the
recovery itself is cut at each of its operations, and has to succeed on what that leaves.
"""

from collections.abc import Callable, Collection, Iterator
from hashlib import blake2b
from typing import Any

import attrs

from .sim_disk import Operation, SimDisk

Facts = list[Any]
Workload = Callable[[SimDisk, Facts], None]
Recovery = Callable[[SimDisk, Facts], None]

_SINGLES = 48  # changes dropped and kept one by one at a crash point; of more, an even sample
_SUBSETS = 8
_SECOND_EVERY = 10
_SECOND_SUBSETS = 2
_ENOUGH = 20  # violations after which nothing new is learnt


@attrs.frozen
class Violation:
    """A crash state on which recovery failed.

    :ivar at: the operation the power was cut before; None: after the last one.
    :ivar kept: the pending changes that survived.
    :ivar pending: how many there were.
    :ivar second: the same for the cut inside the recovery, or None.
    """

    at: Operation | None
    kept: tuple[int, ...]
    pending: int
    error: Exception
    second: "Violation | None" = None


@attrs.define
class CrashReport:
    """What was tried.

    :ivar operations: of the workload; each of them was a crash point.
    :ivar states: distinct disks recovery was run on, those of second crashes included.
    :ivar second_crashes: disks left by a cut inside a recovery.
    """

    operations: int = 0
    states: int = 0
    second_crashes: int = 0
    violations: list[Violation] = attrs.field(factory=list)

    def __str__(self) -> str:
        return (
            f"{self.operations} operations, {self.states} crash states, {self.second_crashes} of them inside a "
            f"recovery, {len(self.violations)} violations"
        )


def enumerate_crashes(
    workload: Workload,
    recover: Recovery,
    *,
    seed: int,
    build: Callable[[], SimDisk] = SimDisk,
    subsets: int = _SUBSETS,
    second_every: int = _SECOND_EVERY,
    points: Callable[[Operation], bool] | None = None,
) -> CrashReport:
    """Runs the workload once, and the recovery on every crash state of every operation.

    :param seed: of the random subsets.
    :param build: makes the disk the workload begins on.
    :param subsets: random choices tried at each crash point.
    :param second_every: cut the recovery too at every so many states; 0: never.
    :param points: which operations to crash at; all if not given.
    """
    return _Enumeration(recover, seed, subsets, second_every, points).run(workload, build())


class _Enumeration:
    """One run of :func:`enumerate_crashes`."""

    def __init__(
        self,
        recover: Recovery,
        seed: int,
        subsets: int,
        second_every: int,
        points: Callable[[Operation], bool] | None,
    ) -> None:
        self._recover = recover
        self._seed = seed
        self._subsets = subsets
        self._second_every = second_every
        self._points = points
        self._seen: set[tuple[bytes, int]] = set()
        self._disks: set[bytes] = set()
        self.report = CrashReport()

    def run(self, workload: Workload, disk: SimDisk) -> CrashReport:
        facts: Facts = []

        def crash(operation: Operation | None) -> None:
            if operation is None or self._points is None or self._points(operation):
                self._try_all(disk, facts, operation)

        disk.observer = crash
        first = len(disk.operations)
        workload(disk, facts)
        crash(None)
        disk.observer = None
        self.report.operations = len(disk.operations) - first
        self.report.states = len(self._disks)
        return self.report

    def _try_all(self, disk: SimDisk, facts: Facts, operation: Operation | None) -> None:
        for kept, state in self._new_states(disk, facts, self._subsets):
            if len(self.report.violations) >= _ENOUGH:
                return
            second = self._second_every and len(self._seen) % self._second_every == 0
            cut = self._second_cut(state, facts) if second else _Cut()
            try:
                self._recover(state, list(facts))
            except Exception as error:
                pending = disk.pending_count()
                self.report.violations.append(Violation(operation, tuple(kept), pending, error, None))
            for inner in cut.violations:
                pending = disk.pending_count()
                self.report.violations.append(Violation(operation, tuple(kept), pending, inner.error, inner))

    def _second_cut(self, state: SimDisk, facts: Facts) -> "_Cut":
        """Cuts the coming recovery on ``state`` at each of its operations."""
        cut = _Cut()

        def crash(operation: Operation) -> None:
            for kept, disk in self._new_states(state, facts, _SECOND_SUBSETS):
                self.report.second_crashes += 1
                try:
                    self._recover(disk, list(facts))
                except Exception as error:
                    cut.violations.append(Violation(operation, tuple(kept), state.pending_count(), error))

        state.observer = crash
        return cut

    def _new_states(self, disk: SimDisk, facts: Facts, subsets: int) -> Iterator[tuple[Collection[int], SimDisk]]:
        for kept in crash_choices(disk, self._seed, subsets):
            state = disk.crash(kept)
            digest = state.digest()
            if (digest, len(facts)) not in self._seen:
                self._seen.add((digest, len(facts)))
                self._disks.add(digest)
                yield kept, state


@attrs.define
class _Cut:
    """What the cuts inside one recovery found."""

    violations: list[Violation] = attrs.field(factory=list)


def crash_choices(disk: SimDisk, seed: int, subsets: int = _SUBSETS) -> Iterator[Collection[int]]:
    """Sets of pending changes to keep: none, all, all but one, one alone, the last write torn at each
    sector, and random subsets."""
    steps = disk.steps_of_pending()
    count = len(steps)
    yield ()
    if not count:
        return
    every = range(count)
    yield every
    for single in every[:: -(-count // _SINGLES)]:
        yield [index for index in every if index != single]
        yield (single,)
    newest = max(steps)
    last = [index for index in every if steps[index] == newest]
    before = [index for index in every if steps[index] != newest]
    for length in range(1, len(last)):
        yield [*before, *last[:length]]
    for number in range(subsets if count > 2 else 0):
        bits = _random_bits(f"{seed}:{len(disk.operations)}:{number}", count)
        yield [index for index in every if bits >> index & 1]


def _random_bits(name: str, count: int) -> int:
    """As many bits as the name decides: the same in every run, on every machine."""
    parts = [blake2b(f"{name}:{at}".encode()).digest() for at in range(0, count, 512)]
    return int.from_bytes(b"".join(parts), "big")

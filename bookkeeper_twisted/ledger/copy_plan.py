"""The plan of copies: which entries of a fragment are copied to which bookies.

An entry is copied only to those positions of its write set whose bookies lack the entry.  So the repair of a striped
ledger writes only the lost entries.  Consecutive entries that are copied to the same bookies form one run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from .findings import LossKind, ReplicaLoss
from .fragments import LedgerFragment


@attrs.frozen
class CopyRun:
    """Consecutive entries to copy to the same bookies.

    :ivar targets: ids of these bookies, in the order of their positions in the ensemble.
    """

    first: int
    count: int
    targets: tuple[str, ...]

    @property
    def last(self) -> int:
        """The id of the last entry."""
        return self.first + self.count - 1


def copy_plan(fragment: LedgerFragment, losses: Iterable[ReplicaLoss], targets: Mapping[int, str]) -> Iterator[CopyRun]:
    """Yield the lost entries to copy, as runs (consecutive entries for the same bookies) in ascending order.

    :param losses: the lost entries of this fragment.
    :param targets: for each position of the ensemble to repair, the id of the bookie to which the lost entries of the
        position are copied.
    """
    lacking: dict[int, list[tuple[int, int]]] = {}
    for loss in losses:
        if loss.position in targets:
            lacking.setdefault(loss.position, []).extend(loss.ranges)
    queues = {position: _kept(fragment, position, ranges) for position, ranges in sorted(lacking.items())}
    heads = {position: head for position, queue in queues.items() if (head := next(queue, None)) is not None}
    while heads:
        at = min(first for first, _ in heads.values())
        active = [position for position, (first, _) in heads.items() if first == at]
        ends = [last + 1 for first, last in heads.values() if first == at]
        end = min(ends + [first for first, _ in heads.values() if first > at])
        yield CopyRun(at, end - at, tuple(targets[position] for position in active))
        for position in active:
            rest = (end, heads[position][1]) if heads[position][1] >= end else next(queues[position], None)
            if rest is None:
                del heads[position]
            else:
                heads[position] = rest


def losses_of_targets(
    fragment: LedgerFragment, lost: Mapping[int, Sequence[ReplicaLoss]], targets: Mapping[int, str]
) -> list[ReplicaLoss]:
    """Return the entries that each target lacks; a target is a bookie to which a repair copies entries.

    If the target is already in the ensemble at the repaired position, it lacks only the entries that it has lost.  A
    new bookie lacks all entries of the fragment that belong to the position.

    :param lost: for each position in the ensemble, the lost entries that a check has found.
    :param targets: for each position to repair, the id of the bookie to which entries are copied.
    """
    found: list[ReplicaLoss] = []
    for position, target in targets.items():
        ends = fragment.ends(position)
        if target != fragment.ensemble[position] and ends is not None:
            found.append(attrs.evolve(lost[position][0], ranges=(ends,)))
        else:
            found += lost[position]
    return found


def lost_everywhere(fragment: LedgerFragment, losses: Iterable[ReplicaLoss]) -> Iterator[CopyRun]:
    """Yield the runs (consecutive entries) that all bookies of their write set have lost, according to ``losses``.

    A loss of the kind ``LEAVING`` is ignored: its bookie must be replaced (it is decommissioned, for example), but may
    still have the entries.

    :param losses: the lost entries of this fragment.
    :returns: runs in ascending order; in each run, ``targets`` are the bookies of the entries' write set.
    """
    lost = [loss for loss in losses if loss.kind is not LossKind.LEAVING]
    for run in copy_plan(fragment, lost, dict(enumerate(fragment.ensemble))):
        if len(run.targets) == fragment.schedule.write_quorum:
            yield run


def without(plan: Iterable[CopyRun], left_out: Sequence[CopyRun]) -> Iterator[CopyRun]:
    """Yield the runs of a copy ``plan`` without the entries in ``left_out``; split a run that has such entries inside.

    :param left_out: the entries not to copy, as runs in ascending order; ``targets`` in these runs are ignored.
    """
    for run in plan:
        at = run.first
        for gap in left_out:
            if at <= gap.last and gap.first <= run.last:
                if at < gap.first:
                    yield CopyRun(at, gap.first - at, run.targets)
                at = gap.last + 1
        if at <= run.last:
            yield CopyRun(at, run.last - at + 1, run.targets)


def _kept(fragment: LedgerFragment, position: int, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield (first id, last id) of each run of entries in ``ranges`` that the bookie at ``position`` must store.

    :param position: index in the ensemble.
    :param ranges: (first id, last id) of ranges of entries, which may overlap.
    """
    done = fragment.first - 1
    for first, last in sorted(ranges):
        low, high = max(first, done + 1), min(last, fragment.last)
        if low <= high:
            for start, count in fragment.schedule.stretches(position, low, high):
                yield start, start + count - 1
            done = high

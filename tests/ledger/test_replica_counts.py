"""How many replicas entries have: against counting each entry."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.ledger.schedule import Schedule, fewest_replicas

_masks = st.integers(0, (1 << 31) - 1)


def _ranges(ids: set[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for entry_id in sorted(ids):
        if ranges and ranges[-1][1] == entry_id - 1:
            ranges[-1] = ranges[-1][0], entry_id
        else:
            ranges.append((entry_id, entry_id))
    return ranges


class FewestReplicasTests(SynchronousTestCase):
    """:func:`fewest_replicas`."""

    @given(st.lists(_masks, min_size=1, max_size=5), st.integers(1, 5), st.integers(0, 30), st.integers(0, 30))
    def test_by_counting(self, masks: list[int], quorum: int, first: int, last: int) -> None:
        """The result is that of counting every entry, for all ensembles and write quorums."""
        held = [{i for i in range(31) if mask >> i & 1} for mask in masks]
        write_quorum = min(quorum, len(held))
        schedule = Schedule(len(held), write_quorum, 1)
        counted = [sum(i in held[position] for position in schedule.write_set(i)) for i in range(first, last + 1)]
        found = fewest_replicas(schedule, first, last, [_ranges(ids) for ids in held])
        self.assertEqual(found, min(counted, default=write_quorum))

    def test_empty(self) -> None:
        """Without entries nothing is missing."""
        self.assertEqual(fewest_replicas(Schedule(3, 2, 2), 5, 4, [[], [], []]), 2)

"""Cutting ranges of entries into partitions."""

from collections.abc import Sequence
from itertools import chain

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads import Address
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.spark.driver.planning import MAX_PIECES, USUAL_PARTITIONS, EntryRange, partitions
from bookkeeper_twisted.spark.task.partition import FragmentPart

ADDRESSES = {f"b{i}": Address(f"b{i}", "h", 1) for i in range(5)}


def ledger(ledger_id: int, count: int, size: int = 1000, starts: Sequence[int] = (0,)) -> EntryRange:
    """All entries of a closed ledger whose ensemble changed at some entries."""
    segments = tuple(Segment(start, (f"b{i % 3}", "b3", "b4")) for i, start in enumerate(starts))
    metadata = LedgerMetadata(3, 3, 2, segments, LedgerState.CLOSED, count * size, count - 1)
    return EntryRange(ledger_id, 0, count - 1, metadata, size)


def covered(planned: Sequence[Sequence[FragmentPart]]) -> list[tuple[int, int]]:
    """Every entry that is read."""
    fragments = [piece.fragment for piece in chain.from_iterable(planned)]
    return sorted((f.ledger_id, n) for f in fragments for n in range(f.first, f.last + 1))


LEDGERS = st.tuples(st.integers(0, 300), st.integers(1, 2000), st.sets(st.integers(1, 300), max_size=3))


class PartitionTests(SynchronousTestCase):
    """Partitions."""

    def test_one_ledger_by_size(self) -> None:
        """A large ledger is cut into parts of about the wanted size, which begin with different replicas."""
        planned = partitions([ledger(1, 1000)], ADDRESSES, 100_000)
        self.assertEqual(len(planned), 11)
        self.assertEqual({len(pieces) for pieces in planned}, {1})
        self.assertEqual(len({pieces[0].preferred % 3 for pieces in planned}), 3)

    def test_ensemble_boundaries(self) -> None:
        """No piece has entries of two ensembles, and each goes to the bookies that have it."""
        planned = partitions([ledger(1, 100, starts=(0, 40, 41))], ADDRESSES, 1 << 30)
        found = sorted((p.fragment.first, p.fragment.last, p.fragment.bookies[0].bookie_id) for q in planned for p in q)
        self.assertEqual(found, [(0, 39, "b0"), (40, 40, "b1"), (41, 99, "b2")])

    def test_empty_last_ensemble(self) -> None:
        """An ensemble that got no entry is passed over."""
        planned = partitions([ledger(1, 40, starts=(0, 40))], ADDRESSES, 1 << 30)
        self.assertEqual(len(covered(planned)), 40)

    def test_small_ledgers_share_a_partition(self) -> None:
        """Thousands of small ledgers make few partitions, none with more pieces than the limit."""
        planned = partitions([ledger(n, 10, 10) for n in range(5000)], ADDRESSES, 64 << 20)
        self.assertLessEqual(len(planned), USUAL_PARTITIONS + 1)
        self.assertLessEqual(max(map(len, planned)), MAX_PIECES)

    def test_cores_stay_busy(self) -> None:
        """Of ledgers of very different sizes, none of the partitions costs much more than its share."""
        ranges = [ledger(n, 10 * (n % 20) ** 3 + 1) for n in range(200)]
        planned = partitions(ranges, ADDRESSES, 1 << 40, at_least=16)
        costs = [sum(piece.cost for piece in pieces) for pieces in planned]
        self.assertEqual(costs, sorted(costs, reverse=True))
        self.assertLess(costs[0], 1.2 * sum(costs) / 16)

    def test_usual_number(self) -> None:
        """Where no number is asked for, a large range is cut for many cores, a small one is not cut."""
        self.assertEqual(len(partitions([ledger(1, 200_000, 984)], ADDRESSES, 64 << 20)), USUAL_PARTITIONS)
        self.assertEqual(len(partitions([ledger(1, 8_000, 984)], ADDRESSES, 64 << 20)), 1)

    def test_at_least(self) -> None:
        """So many partitions as are wanted are made where there is enough to read, and none without an entry."""
        self.assertGreaterEqual(len(partitions([ledger(1, 1000)], ADDRESSES, 1 << 40, at_least=8)), 8)
        self.assertEqual(len(partitions([ledger(1, 2, 10**6)], ADDRESSES, 1 << 40, at_least=8)), 2)
        self.assertEqual(partitions([], ADDRESSES, 1, at_least=8), [])

    @settings(max_examples=60)
    @given(
        st.lists(LEDGERS, max_size=8),
        st.integers(1, 200_000), st.integers(1, 10),
    )  # fmt: skip
    def test_every_entry_once(self, sizes: list[tuple[int, int, set[int]]], max_bytes: int, at_least: int) -> None:
        """Whatever the ledgers and limits, every entry is read exactly once."""
        ranges = [
            ledger(n, count, size, (0, *sorted(s for s in starts if s <= count)))
            for n, (count, size, starts) in enumerate(sizes)
        ]
        wanted = [(r.ledger_id, n) for r in ranges for n in range(r.count)]
        self.assertEqual(covered(partitions(ranges, ADDRESSES, max_bytes, at_least)), wanted)

    def test_part_of_a_ledger(self) -> None:
        """A range within a ledger is read and nothing around it."""
        part = attrs.evolve(ledger(1, 100, starts=(0, 50)), first=45, last=52)
        self.assertEqual(covered(partitions([part], ADDRESSES, 3000)), [(1, n) for n in range(45, 53)])

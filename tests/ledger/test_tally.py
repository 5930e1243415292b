"""Which entries of a batch have their ack quorum, and which cannot have it any more."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.ledger.tally import AckTally, Tally, indexes_of, items_at, leading, set_of

FAST = settings(max_examples=150)
ALL = (1 << 50) - 1
ANSWERS = st.lists(
    st.tuples(st.sampled_from(["ack", "ack", "fail", "replace"]), st.integers(0, 4), st.integers(0, (1 << 12) - 1)),
    max_size=30,
)


class TallyTests(SynchronousTestCase):
    """The votes for indexes."""

    def test_threshold(self) -> None:
        """An index is reached with the voter that makes the threshold, and is said to be reached once."""
        for threshold in range(1, 5):
            tally = Tally(threshold)
            for voter in range(threshold - 1):
                self.assertEqual(tally.add(voter, ALL), 0)
            self.assertEqual(tally.reached, 0)
            self.assertEqual(tally.add("last", 0b1011), 0b1011)
            self.assertEqual(tally.add("more", ALL), ALL & ~0b1011)
            self.assertEqual(tally.reached, ALL)

    def test_doubled_votes(self) -> None:
        """A voter that answers twice counts once."""
        tally = Tally(2)
        self.assertEqual([tally.add("a", 0b11), tally.add("a", 0b111)], [0, 0])
        self.assertEqual((tally.reached, tally.of("a"), tally.of("b")), (0, 0b111, 0))

    def test_take_back(self) -> None:
        """What is taken back is not counted, and may be counted again."""
        tally = Tally(2)
        tally.add("a", 0b111)
        tally.add("b", 0b011)
        tally.take_back("a", 0b001)
        self.assertEqual((tally.reached, tally.of("a")), (0b010, 0b110))
        self.assertEqual(tally.add("c", 0b101), 0b101)


class AckTallyTests(SynchronousTestCase):
    """Answers of bookies."""

    def test_failures(self) -> None:
        """An entry is lost once more than Wq - Aq bookies failed it."""
        acks = AckTally(3, 2)
        self.assertEqual(acks.fail("b0", 0b1111), 0b1111)
        self.assertEqual(acks.unreachable, 0)
        acks.fail("b2", 0b0100)
        self.assertEqual(acks.unreachable, 0b0100)
        self.assertEqual([acks.failed("b2", 0b0100), acks.failed("b2", 0b1000), acks.failed("b1", 15)], [1, 0, 0])

    def test_replaced(self) -> None:
        """What a bookie said before it was replaced, and what it says later, does not count (S16)."""
        acks = AckTally(3, 2)
        acks.acknowledge("b0", 0b11)
        acks.acknowledge("b1", 0b11)
        acks.fail("b2", 0b11)
        acks.fail("b3", 0b11)
        self.assertEqual((acks.reached, acks.unreachable), (0b11, 0b11))
        acks.replace("b1", 0b01)
        acks.replace("b2", 0b11)
        self.assertEqual((acks.reached, acks.unreachable), (0b10, 0))
        self.assertEqual(acks.acknowledge("b1", 0b11), 0)
        self.assertEqual(acks.fail("b2", 0b11), 0)
        self.assertEqual((acks.reached, acks.unreachable), (0b10, 0))
        self.assertEqual([acks.is_replaced("b1", 1), acks.is_replaced("b1", 3), acks.is_replaced("b0", 1)], [1, 0, 0])
        self.assertEqual(acks.acknowledge("b4", 0b01), 0b01)

    @FAST
    @given(st.integers(1, 5), st.integers(1, 5), ANSWERS)
    def test_any_answers(self, one: int, other: int, answers: list[tuple[str, int, int]]) -> None:
        """Whatever the answers, the sets are those that counting index by index gives."""
        write_quorum, ack_quorum = max(one, other), min(one, other)
        acks, told = AckTally(write_quorum, ack_quorum), 0
        acked, failed, replaced = set[tuple[int, int]](), set[tuple[int, int]](), set[tuple[int, int]]()
        for kind, voter, index_set in answers:
            votes = {(voter, index) for index in indexes_of(index_set)} if index_set else set[tuple[int, int]]()
            if kind == "ack":
                acked |= votes - replaced
                told |= acks.acknowledge(voter, index_set)
            elif kind == "fail":
                failed |= votes - replaced
                acks.fail(voter, index_set)
            else:
                replaced |= votes
                acked, failed = acked - votes, failed - votes
                acks.replace(voter, index_set)
                told &= acks.reached
        reached = [p for p in range(12) if sum(index == p for _, index in acked) >= ack_quorum]
        lost = [p for p in range(12) if sum(index == p for _, index in failed) > write_quorum - ack_quorum]
        self.assertEqual([p for p in range(12) if acks.reached >> p & 1], reached)
        self.assertEqual([p for p in range(12) if acks.unreachable >> p & 1], lost)
        self.assertEqual(told, acks.reached)


class SetTests(SynchronousTestCase):
    """Sets of indexes, as integers."""

    @FAST
    @given(st.sets(st.integers(0, 300), min_size=1))
    def test_round_trip(self, indexes: set[int]) -> None:
        """A set has the indexes it was made of, in ascending order."""
        index_set = set_of(sorted(indexes, reverse=True))
        self.assertEqual(index_set, sum(1 << index for index in indexes))
        self.assertEqual(list(indexes_of(index_set)), sorted(indexes))

    def test_ranges(self) -> None:
        """Indexes without a gap are a range."""
        for indexes in (range(1), range(5, 300), range(7, 8)):
            self.assertEqual(indexes_of(set_of(indexes)), indexes)

    def test_items_at(self) -> None:
        """Items at indexes with and without a gap; all of them are not copied."""
        items = ["a", "b", "c", "d"]
        for indexes in (range(1, 3), [0, 2, 3], [3], range(3)):
            self.assertEqual(items_at(items, indexes), [items[index] for index in indexes])
        self.assertIs(items_at(items, range(4)), items)

    def test_leading(self) -> None:
        """How many indexes are in a set from one on."""
        index_set = set_of([0, 1, 2, 5, 6])
        self.assertEqual([leading(index_set, first) for first in range(8)], [3, 2, 1, 0, 0, 2, 1, 0])

"""The plan of copies."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.ledger.copy_plan import CopyRun, copy_plan, losses_of_targets, lost_everywhere, without
from bookkeeper_twisted.ledger.findings import CheckReport, FragmentReport, Inconclusive, LossKind, ReplicaLoss
from bookkeeper_twisted.ledger.fragments import LedgerFragment
from bookkeeper_twisted.ledger.schedule import Schedule

from .test_schedule import FAST, QUORUMS


def fragment(quorums: tuple[int, int, int], first: int, last: int) -> LedgerFragment:
    """A fragment with bookies named by their positions."""
    return LedgerFragment(7, first, last, tuple(map(str, range(quorums[0]))), Schedule(*quorums), True)


def gone(position: int, *ranges: tuple[int, int]) -> ReplicaLoss:
    """A position whose bookie is gone."""
    return ReplicaLoss(position, str(position), LossKind.GONE, ranges)


class PlanTests(SynchronousTestCase):
    """What goes where."""

    def test_one_bookie_gone(self) -> None:
        """Without striping a lost bookie is one run."""
        plan = copy_plan(fragment((3, 3, 2), 10, 29), [gone(1, (10, 29))], {1: "new"})
        self.assertEqual(list(plan), [CopyRun(10, 20, ("new",))])

    def test_striped(self) -> None:
        """With striping only what the position kept is copied."""
        plan = list(copy_plan(fragment((5, 3, 2), 0, 9), [gone(1, (0, 9))], {1: "new"}))
        self.assertEqual([(run.first, run.last) for run in plan], [(0, 1), (4, 6), (9, 9)])

    def test_several(self) -> None:
        """Entries that go to the same bookies are one run, with all of them."""
        plan = copy_plan(
            fragment((3, 3, 2), 0, 99), [gone(0, (0, 99)), ReplicaLoss(2, "2", LossKind.MISSING, ((10, 19), (50, 50)))],
            {0: "new", 2: "2"},
        )  # fmt: skip
        self.assertEqual(
            list(plan),
            [CopyRun(0, 10, ("new",)), CopyRun(10, 10, ("new", "2")), CopyRun(20, 30, ("new",)),
             CopyRun(50, 1, ("new", "2")), CopyRun(51, 49, ("new",))],
        )  # fmt: skip

    def test_no_target(self) -> None:
        """A position without a target is left out, a loss without entries gives nothing to copy."""
        self.assertEqual(list(copy_plan(fragment((3, 3, 2), 0, 9), [gone(0, (0, 9)), gone(1)], {1: "new"})), [])

    @given(QUORUMS, st.integers(0, 30), st.integers(0, 40), st.data())
    @FAST
    def test_against_sets(self, quorums: list[int], first: int, count: int, data: st.DataObject) -> None:
        """Every lost entry goes to the target of each position of its write set that lacks it, and nowhere else."""
        one = fragment((quorums[0], quorums[1], quorums[2]), first, first + count - 1)
        ids = st.integers(first - 3, first + count + 3)
        ranges = st.lists(st.tuples(ids, ids), max_size=4)
        losses = [
            ReplicaLoss(position, str(position), LossKind.MISSING, tuple(data.draw(ranges)))
            for position in data.draw(st.lists(st.integers(0, quorums[0] - 1), max_size=5))
        ]
        targets = {position: f"t{position}" for position in range(quorums[0])}
        expected = {
            (entry_id, targets[loss.position]) for loss in losses for low, high in loss.ranges
            for entry_id in range(max(low, first), min(high, first + count - 1) + 1)
            if loss.position in one.schedule.write_set(entry_id)
        }  # fmt: skip
        runs = list(copy_plan(one, losses, targets))
        planned = [(n, target) for run in runs for n in range(run.first, run.last + 1) for target in run.targets]
        self.assertEqual(len(planned), len(set(planned)))
        self.assertEqual(set(planned), expected)
        self.assertEqual([run.first for run in runs], sorted(run.first for run in runs))


class TargetTests(SynchronousTestCase):
    """What targets have to get."""

    def test_losses_of_targets(self) -> None:
        """The bookie of before gets what it lacks, another one everything that the position keeps."""
        one = fragment((3, 2, 2), 0, 8)
        lost = {n: [ReplicaLoss(n, str(n), LossKind.MISSING, ((3, 3),))] for n in range(3)}
        found = losses_of_targets(one, lost, {0: "0", 1: "new"})
        self.assertEqual([(loss.position, loss.ranges) for loss in found], [(0, ((3, 3),)), (1, ((0, 7),))])


class LostTests(SynchronousTestCase):
    """Entries that nobody has."""

    def test_lost_everywhere(self) -> None:
        """Entries are lost if every position of their write set lacks them, and no others are."""
        losses = [gone(0, (0, 9)), ReplicaLoss(1, "1", LossKind.DAMAGED, ((3, 4),)), gone(2, (4, 9))]
        (run,) = lost_everywhere(fragment((3, 3, 2), 0, 9), losses)
        self.assertEqual((run.first, run.last), (4, 4))
        striped = list(lost_everywhere(fragment((3, 2, 2), 0, 9), [gone(0, (0, 9)), gone(1, (0, 9))]))
        self.assertEqual([n for run in striped for n in range(run.first, run.last + 1)], [0, 3, 6, 9])

    def test_without(self) -> None:
        """Runs are cut around what is left out."""
        plan = [CopyRun(0, 10, ("a",)), CopyRun(10, 5, ("a", "b"))]
        gaps = [CopyRun(0, 2, ()), CopyRun(5, 1, ()), CopyRun(8, 4, ()), CopyRun(20, 1, ())]
        self.assertEqual(
            list(without(plan, gaps)),
            [CopyRun(2, 3, ("a",)), CopyRun(6, 2, ("a",)), CopyRun(12, 3, ("a", "b"))],
        )
        self.assertEqual(list(without(plan, [])), plan)


class ReportTests(SynchronousTestCase):
    """What a report says of a ledger."""

    def test_whole_or_not(self) -> None:
        """A ledger is whole only if nothing is lost and everything was checked."""
        one = fragment((3, 3, 2), 0, 9)
        whole = CheckReport(7, (FragmentReport(one),))
        self.assertTrue(whole.is_whole and whole.is_conclusive)
        unsure = CheckReport(7, (FragmentReport(one, (), (Inconclusive(0, "0", "busy"),)),))
        self.assertEqual((unsure.is_whole, unsure.is_conclusive, list(unsure.losses())), (False, False, []))
        bad = CheckReport(7, (FragmentReport(one), FragmentReport(one, (gone(2, (0, 9)), gone(1)))))
        self.assertEqual((bad.is_whole, bad.is_conclusive), (False, True))
        self.assertEqual([loss.bookie_id for loss in bad.losses()], ["2", "1"])
        self.assertEqual(bad.damaged, bad.fragments[1:])

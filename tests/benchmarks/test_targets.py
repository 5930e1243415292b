"""The table of targets."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.targets import FIGURES, PLAIN, RAW, TARGETS, Target, against
from benchmarks.shared.apache import CONFIGURATIONS
from benchmarks.shared.workloads import DATA, WORKLOADS, chosen


class TargetTests(SynchronousTestCase):
    """Targets, and the workloads they are of."""

    def test_names(self) -> None:
        """Targets name workloads, figures and configurations that there are, and every workload has a target."""
        self.assertEqual({target.workload for target in TARGETS}, {workload.name for workload in WORKLOADS})
        self.assertLessEqual({target.figure for target in TARGETS}, set(FIGURES))
        self.assertEqual({target.against for target in TARGETS}, {*CONFIGURATIONS, PLAIN, RAW})

    def test_met(self) -> None:
        """A rate has to be great, a cost small; the bound itself is good enough."""
        rate, cost = Target("", "rate", 2), Target("", "cpu", 0.5)
        self.assertEqual([rate.met(x) for x in (1.9, 2, 3)], [False, True, True])
        self.assertEqual([cost.met(x) for x in (0.4, 0.5, 0.6)], [True, True, False])
        self.assertEqual((rate.text, cost.text), ("≥ 2", "≤ 0.5"))

    def test_against(self) -> None:
        """A workload runs on each configuration that a target of it names, once."""
        self.assertEqual(against("add-1K-1000-v2"), ["java"])
        self.assertEqual(against("add-1K-1-v2"), ["tuned", RAW])
        self.assertEqual(against("tls-batch-1K-x100"), ["java", PLAIN])

    def test_within_tls(self) -> None:
        """Every workload within TLS, and no other, is compared with connections in clear."""
        names = {workload.name for workload in WORKLOADS if workload.tls}
        self.assertEqual({target.workload for target in TARGETS if target.against == PLAIN}, names)
        self.assertEqual({name for name in names if not name.startswith("tls-")}, set())


class WorkloadTests(SynchronousTestCase):
    """The table of workloads."""

    def test_names(self) -> None:
        """Names are not used twice."""
        self.assertEqual(len({workload.name for workload in WORKLOADS}), len(WORKLOADS))

    def test_chosen(self) -> None:
        """Patterns choose by name, in the order of the table; none chooses all."""
        names = [workload.name for workload in chosen(["restart", "add-1K-1*-v3"])]
        self.assertEqual(names, ["add-1K-1000-v3", "restart"])
        self.assertEqual(chosen([]), list(WORKLOADS))

    def test_scaled(self) -> None:
        """A share of the work has fewer requests, and is sent less often, but at least once."""
        (whole,) = chosen(["long-1M"])
        half, least = whole.scaled(0.5), whole.scaled(0.001)
        self.assertEqual((half.count, half.repeats), (whole.count // 2, whole.repeats // 2))
        self.assertEqual((least.count, least.repeats), (20, 1))

    def test_long(self) -> None:
        """A long workload writes at least 8 GiB."""
        for workload in chosen(["long-*"]):
            self.assertGreaterEqual(workload.size * workload.count * workload.repeats, 8 << 30)

    def test_fits(self) -> None:
        """Readers do not ask for more than there is."""
        for workload in WORKLOADS:
            if workload.kind in ("read", "batch"):
                self.assertLessEqual(max(workload.entries, workload.batch), DATA[workload.size], workload.name)

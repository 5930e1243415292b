"""A small run of ``python -m tests.fuzz.floods``."""

from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from ..protocol.tls_ends import missing

_KINDS = {"idle": 50, "let-in": 10, "half-open": 50, "slow": 10}
_BURSTS = {"refused": 1, "updates": 1, "first-flights": 50}


class FloodTests(TestCase):
    """The figures of floods; those of large ones are for the command."""

    timeout = 120
    skip = missing()

    async def test_figures(self) -> None:
        """All connections of a flood are open at once, and the healthy client is served."""
        from ..fuzz.floods import Floods

        class Short(Floods):
            turns, seconds = 5, 0.5

        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        found = await Short(reactor, folder, 0, 1).measure(_KINDS)
        for kind, count in _KINDS.items():
            self.assertGreaterEqual(found[kind]["sockets"], count + 1)
            self.assertEqual(found[kind]["shed"], 0)
            self.assertGreaterEqual(found[kind]["open"]["turns"], 5)
            self.assertLess(found[kind]["mib_more"], 60)


    async def test_bursts(self) -> None:
        """Silent connections send all at once, and healthy clients are served; their waits are measured."""
        from ..fuzz.floods import Floods

        class Short(Floods):
            turns, seconds = 5, 0.5

        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        found = await Short(reactor, folder, 0, 1).measure(_BURSTS)
        for kind in _BURSTS:
            self.assertGreater(found[kind]["cpu_s"], 0.02)
            self.assertGreater(found[kind]["reads"], 4)
            self.assertLess(found[kind]["longest_wait_cpu_s"], 0.1)


class FailureTests(SynchronousTestCase):
    """What fails the command."""

    skip = missing()

    def test_targets(self) -> None:
        """Memory, and the p99 of the healthy client."""
        from ..fuzz.floods import failures

        def figures(mib: float, p99: float, cpu: float = 3.0) -> dict[str, object]:
            before = {"p99_ms": 10.0, "cpu_ms": 1.0}
            return {"mib_more": mib, "before": before, "open": {"p99_ms": p99, "cpu_ms": cpu}}

        self.assertEqual(failures({"idle": figures(300, 30)}), [])
        burst = {"mib_more": 1, "longest_wait_cpu_s": 0.1}
        self.assertEqual(failures({"refused": burst}), [])
        self.assertEqual(failures({"updates": {**burst, "longest_wait_cpu_s": 0.11}}), ["updates: CPU"])
        self.assertEqual(failures({"idle": figures(301, 30), "slow": figures(1, 31)}), ["idle: memory", "slow: p99"])
        self.assertEqual(failures({"idle": figures(1, 30, 3.1)}), ["idle: CPU"])

"""A small run of ``python -m tests.fuzz.floods``."""

from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from ..protocol.tls_ends import missing

_KINDS = {"idle": 50, "half-open": 50, "slow": 10}


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


class FailureTests(SynchronousTestCase):
    """What fails the command."""

    skip = missing()

    def test_targets(self) -> None:
        """Memory, and the p99 of the healthy client."""
        from ..fuzz.floods import failures

        def figures(mib: float, p99: float) -> dict[str, object]:
            return {"mib_more": mib, "before": {"p99_ms": 10.0}, "open": {"p99_ms": p99}}

        self.assertEqual(failures({"idle": figures(300, 30)}), [])
        self.assertEqual(failures({"idle": figures(301, 30), "slow": figures(1, 31)}), ["idle: memory", "slow: p99"])

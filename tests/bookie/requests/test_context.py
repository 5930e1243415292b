"""What is shared by those who answer requests."""

from twisted.internet.defer import succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.requests.context import RequestContext, RequestLimits
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import RequestMetrics, new_registry

from ..rig import Rig


class ContextTests(SynchronousTestCase):
    """Permits and their export."""

    def test_permits(self) -> None:
        """Adds and reads have their own limits, and both are exported."""
        instruments = Instruments()
        limits = RequestLimits(max_adds_in_progress=1, max_reads_in_progress=2)
        context = RequestContext(Rig().bookie, Clock(), RequestMetrics(instruments), lambda: succeed((0, 0)), limits)
        self.assertTrue(context.adds.acquire(3) and context.reads.acquire(1))
        context.adds.wait(1, lambda: None)
        registry = new_registry(instruments)
        for name, value in (
            ("ADD_ENTRY_IN_PROGRESS", 3), ("ADD_ENTRY_BLOCKED", 1), ("READ_ENTRY_IN_PROGRESS", 1),
            ("READ_ENTRY_BLOCKED", 0),
        ):  # fmt: skip
            self.assertEqual(registry.get_sample_value("bookkeeper_server_" + name), value)

"""The threads of bookies on virtual time."""

from typing import Any

from bookkeeper_twisted.testing.contracts import executor_contract

from . import Life, SimClock, stream
from .executor import DiskSpeed, SimExecutor


class SimExecutorTests(executor_contract.ExecutorContract):
    """The contract, and time."""

    def make(self) -> SimExecutor:
        self.sim = SimClock(stream(1, "ties"))
        self.life = Life(self.sim, "bookie")
        self.speed = DiskSpeed()
        return SimExecutor(self.sim, self.life, stream(1, "threads"), self.speed)

    def settle(self, executor: Any) -> None:
        self.sim.run_until(self.sim.seconds() + 1000)

    def test_slow_disk(self) -> None:
        """Work takes time, more on a slow disk, and none begins while the disk hangs."""
        began = self.sim.seconds()
        self.speed.stalled_until = began + 50
        submitted = self.executor.submit("flush", self.sim.seconds)
        self.settle(self.executor)
        self.assertGreater(self.successResultOf(submitted), began + 50)
        self.speed.scale = 100_000
        began = self.sim.seconds()
        submitted = self.executor.submit("flush", self.sim.seconds)
        self.settle(self.executor)
        self.assertGreater(self.successResultOf(submitted), began + 1)

    def test_end_of_the_life(self) -> None:
        """Nothing runs for a life that has ended, and no result arrives."""
        ran: list[int] = []
        submitted = self.executor.submit("flush", ran.append, 1)
        self.life.end()
        self.settle(self.executor)
        self.assertEqual(ran, [])
        self.assertNoResult(submitted)

"""The condition of a bookie, for the service manager of its process."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.admin import BookieState, Phase
from bookkeeper_twisted.bookie.lifecycle.condition import Condition, condition_of
from bookkeeper_twisted.bookie.lifecycle.replay import ReplayProgress

from .test_service import StepTestCase

REPLAY = ReplayProgress(journals=2, journal=1, n_entries=1500, n_bytes=3 << 20)


class ConditionTests(SynchronousTestCase):
    """Phases of a bookie's life."""

    def test_starting(self) -> None:
        """A bookie that starts shows its replay, whose bytes are its progress; no write of a journal counts yet."""
        condition = condition_of(BookieState(Phase.STARTING), REPLAY, 5.0)
        self.assertEqual(condition, Condition("replaying journal 1 of 2: 1,500 entries, 3 MiB", 3 << 20))

    def test_serving(self) -> None:
        """One that serves says so, or why it is read-only; writes of its journals count."""
        serving = condition_of(BookieState(Phase.SERVING), REPLAY, 5.0)
        self.assertEqual(serving, Condition("serving", blocked=5.0))
        full = BookieState(Phase.SERVING, True, reasons=("a disk is full", "forceReadOnlyBookie is set"))
        self.assertEqual(condition_of(full, REPLAY, 0).text, "read-only: a disk is full; forceReadOnlyBookie is set")

    def test_ending(self) -> None:
        """One that ends says why, if it has failed; the last writes of its journals may take long."""
        self.assertEqual(condition_of(BookieState(Phase.STOPPING), REPLAY, 5.0), Condition("stopping"))
        failed = BookieState(Phase.FAILED, reasons=("journal-0 failed",))
        self.assertEqual(condition_of(failed, REPLAY, 5.0), Condition("failed: journal-0 failed"))


class ServiceTests(StepTestCase):
    """The service of a bookie."""

    def test_life(self) -> None:
        """Its conditions follow each other, that of its replay included; a write that lasts is known."""
        service, executor = self.world.service()
        found = [service.condition().text]
        starting = service.start()
        for _ in range(100):
            executor.step()
            self.world.reactor.advance(0)
            if service.condition().text != found[-1]:
                found.append(service.condition().text)
        self.successResultOf(starting)
        self.assertEqual(found, ["starting", "storing what was replayed: 0 entries, 0 MiB", "serving"])
        assert service.engine is not None
        service.engine.commits[0].append(b"x", 1, lambda error: None)
        self.world.reactor.advance(2)
        self.assertEqual(service.condition().blocked, 2)
        self.settle(executor)
        self.assertEqual(service.condition().blocked, 0)
        stopping = service.stop()
        self.assertEqual(service.condition().text, "stopping")
        self.settle(executor)
        self.successResultOf(stopping)
        self.assertEqual(service.condition().text, "stopped")

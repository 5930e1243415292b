"""The outbox."""

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.outbox import Outbox


class _Member:
    def __init__(self, flush: Callable[[], None]) -> None:
        self.flush = flush


class OutboxTests(SynchronousTestCase):
    """Who enrolled is flushed."""

    def setUp(self) -> None:
        self.outbox = Outbox()
        self.flushed: list[str] = []

    def member(self, name: str) -> _Member:
        return _Member(lambda: self.flushed.append(name))

    def test_once_and_in_order(self) -> None:
        """Each enrolment is flushed once, in order."""
        for name in "abc":
            self.outbox.enrol(self.member(name))
        self.outbox.flush()
        self.outbox.flush()
        self.assertEqual(self.flushed, ["a", "b", "c"])

    def test_enrolled_by_a_flush(self) -> None:
        """Who enrols while others are flushed is flushed behind them."""
        late = self.member("late")
        self.outbox.enrol(_Member(lambda: self.outbox.enrol(late)))
        self.outbox.enrol(self.member("a"))
        self.outbox.flush()
        self.assertEqual(self.flushed, ["a", "late"])

"""The outbox."""

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.server.outbox import Outbox


class _Member:
    aborted = False

    def __init__(self, flush: Callable[[], None]) -> None:
        self.flush = flush

    def abort(self) -> None:
        self.aborted = True


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

    def test_one_that_fails(self) -> None:
        """A connection whose replies cannot be written is dropped; those behind it are flushed."""
        broken = _Member(lambda: self.fail("a bug"))
        self.outbox.enrol(broken)
        self.outbox.enrol(self.member("a"))
        self.outbox.flush()
        self.assertEqual((self.flushed, broken.aborted), (["a"], True))
        self.assertEqual(len(self.flushLoggedErrors(self.failureException)), 1)

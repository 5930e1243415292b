"""What answers of bookies lead to."""

from bookkeeper_twisted.client.writing.failed_bookies import AddRules
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    IllegalOperationError,
    LedgerFencedError,
    NotEnoughBookiesError,
    RequestTimeoutError,
    TooManyRequestsError,
    UnauthorizedAccessError,
    WriteOnReadOnlyBookieError,
)

from ..claims.log_case import runs
from .quorum_case import QuorumTestCase

BOOKIE_FAILURES = (
    BookieIOError,
    BookieHandleNotAvailableError,
    RequestTimeoutError,
    TooManyRequestsError,
    WriteOnReadOnlyBookieError,
)


class AnswerTests(QuorumTestCase):
    """What an answer does."""

    def test_ack_quorum(self) -> None:
        """An entry completes when an ack quorum has it, whichever bookies these are."""
        self.send(2)
        self.bookies.answer("b2")
        self.assertEqual(self.completed, [])
        self.bookies.answer("b0")
        self.assertEqual((self.completed, self.writer.length, self.writer.in_flight), ([1], 2, 0))
        self.bookies.answer("b1")
        self.assertEqual(self.completed, [1])

    def test_order(self) -> None:
        """What is acknowledged early waits for what was sent before (S13)."""
        self.send()
        first, last, _ = self.bookies.take("b0") + self.bookies.take("b1") + self.bookies.take("b2")
        self.send()
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.assertEqual(self.completed, [])
        first.answer()
        self.assertEqual(self.completed, [])
        last.answer()
        self.assertEqual(self.completed, [1])

    def test_doubled_answer(self) -> None:
        """A bookie that answers twice counts once."""
        self.send()
        (request,) = self.bookies.take("b0")
        request.answer()
        request.answer()
        self.assertEqual(self.completed, [])

    def test_fatal(self) -> None:
        """A fence, a refused key, an operation that cannot be, a closed client: nothing completes any more."""
        for error in (LedgerFencedError(7), UnauthorizedAccessError(7), IllegalOperationError(), ClientClosedError()):
            self.setUp()
            self.send()
            self.bookies.answer("b0")
            self.bookies.answer("b1", error)
            self.bookies.answer("b2")
            self.assertEqual((self.completed, self.ends, self.writer.in_flight), ([], [error], 0))
            self.send()
            self.assertEqual(self.bookies.requests, [])
            self.assertEqual(self.segments(), [(0, ("b0", "b1", "b2"))])


class ReplacementTests(QuorumTestCase):
    """A bookie that fails is replaced."""

    def test_every_failure_at_every_position(self) -> None:
        """Whatever a bookie answers but fatal errors, another takes its place and gets the same bytes."""
        for error in BOOKIE_FAILURES:
            for position in range(3):
                self.setUp()
                self.send(3)
                (failed,) = self.bookies.take(f"b{position}")
                failed.answer(error())
                ((start, ensemble),) = self.segments()
                self.assertEqual((start, self.writer.ensemble), (0, ensemble))
                (resent,) = self.bookies.take(ensemble[position])
                self.assertEqual(resent.adds.frames, failed.adds.frames)
                resent.answer()
                others = [name for name in self.names if name != failed.bookie_id]
                self.bookies.answer(others[0])
                self.assertEqual(self.completed, [2])

    def test_appended_segment(self) -> None:
        """After completed entries the new bookies get a segment of their own, from the first one not completed."""
        self.send(4)
        self.bookies.answer("b0")
        self.bookies.answer("b2")
        self.send(2)
        self.bookies.answer("b2", BookieIOError())
        (first, second) = self.segments()
        self.assertEqual((first, second[0], second[1][:2]), ((0, self.names), 4, ("b0", "b1")))

    def test_inside_a_run(self) -> None:
        """A change in the middle of a run leaves its completed entries where they are; only the rest is resent."""
        self.send(payloads=[b"a", b"bb", b"ccc", b"dddd"])
        for name in ("b0", "b1"):
            (request,) = self.bookies.take(name)
            request.done(name, range(2), None)
        self.assertEqual((self.completed, self.writer.length), ([1], 3))
        self.bookies.answer("b2", BookieIOError())
        start, ensemble = self.segments()[-1]
        self.assertEqual((start, self.bookies.asked(ensemble[2])), (2, [(2, 2)]))
        self.bookies.answer(ensemble[2])
        self.assertEqual(self.completed, [1])
        request.done("b1", range(2, 4), None)
        self.assertEqual((self.completed, self.writer.length), ([1, 3], 10))

    def test_acks_of_a_replaced_bookie(self) -> None:
        """An ack that comes late from a bookie no longer in the ensemble completes nothing (S16)."""
        self.send()
        self.send()
        first, second = self.bookies.take("b0")
        first.answer(BookieIOError())
        self.bookies.answer("b1")
        second.answer()
        first.answer()
        self.assertEqual(self.completed, [])
        self.bookies.answer("b2")
        self.assertEqual(self.completed, [0, 1])

    def test_acks_are_taken_back(self) -> None:
        """What the replaced bookie acknowledged before does not count any more."""
        self.send()
        self.bookies.answer("b0")
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.bookies.answer("b1")
        self.assertEqual(self.completed, [])
        self.bookies.answer(self.writer.ensemble[0])
        self.assertEqual(self.completed, [0, 1])

    def test_bookie_returns(self) -> None:
        """A bookie that comes back to its position must take the entry again: its late ack does not count."""
        self.spares = 1
        self.setUp()
        self.send()
        self.send()
        first, second = self.bookies.take("b0")
        first.answer(BookieIOError())
        replies = [self.bookies.take(name) for name in ("s0", "b1")]
        for request, _ in replies:
            request.answer()
        self.assertEqual(self.completed, [0])
        replies[0][1].answer(BookieIOError())
        self.assertEqual(self.writer.ensemble, ("b0", "b1", "b2"))
        replies[1][1].answer()
        second.answer()
        self.assertEqual(self.completed, [0])
        self.bookies.answer("b0")
        self.assertEqual(self.completed, [0, 1])

    def test_all_bookies_fail_one_entry(self) -> None:
        """Each bookie gets one chance until something completes: the writer does not go round."""
        for name in ("b0", "s0", "s1"):
            self.bookies.at_once[name] = BookieIOError
        self.send()
        self.assertEqual(self.do(self.driver.ledgers.read(7)).version, 2)
        self.bookies.answer("b1", BookieIOError())
        self.assertEqual([type(e) for e in self.ends], [NotEnoughBookiesError])

    def test_same_bookie_twice(self) -> None:
        """A bookie that fails several runs is replaced once."""
        for _ in range(3):
            self.send()
        for request in self.bookies.take("b1"):
            request.answer(BookieIOError())
        ((_, ensemble),) = self.segments()
        self.assertEqual(self.bookies.asked(ensemble[1]), [(0, 1), (1, 1), (2, 1)])
        self.assertEqual(self.do(self.driver.ledgers.read(7)).version, 1)

    def test_failure_in_the_call(self) -> None:
        """A bookie that fails while it is asked is replaced before the others are, and no bookie is asked twice."""
        self.bookies.at_once = {"b0": BookieIOError, "b2": BookieIOError}
        self.send(2)
        self.assertEqual(set(self.writer.ensemble), {"b1", "s0", "s1"})
        for name in self.writer.ensemble:
            self.assertEqual(self.bookies.asked(name), [(0, 2)])

    def test_success_in_the_call(self) -> None:
        """A bookie that answers while it is asked completes entries, which the other bookies get all the same."""

        def answer() -> None:
            """Success."""

        for self.quorums in ((3, 3, 1), (3, 2, 1)):
            self.setUp()
            self.bookies.at_once = dict.fromkeys(self.names, answer)
            self.send(payloads=[b"%d" % i * 50 for i in range(6)])
            sent = [payload for run in runs(b"".join(self.bookies.sent)) for payload in self.digester.payloads(run)]
            self.assertEqual(sorted(sent), sorted([b"%d" % i * 50 for i in range(6)] * self.quorums[1]))
            self.assertEqual(self.completed[-1], 5)

    def test_striped(self) -> None:
        """A new bookie gets exactly the entries of its position."""
        self.quorums = (5, 3, 2)
        self.setUp()
        self.send(10)
        expected = self.bookies.asked("b3")
        self.bookies.take("b3")[0].answer(BookieIOError())
        self.assertEqual(self.bookies.asked(self.writer.ensemble[3]), expected)


class LateFailureTests(QuorumTestCase):
    """A bookie that fails an entry that has its ack quorum."""

    def _complete(self) -> None:
        self.send()
        self.bookies.answer("b0")
        self.bookies.answer("b1")

    def test_next_add(self) -> None:
        """It is replaced when the next entries are sent, from the first of them on."""
        self._complete()
        self.bookies.answer("b2", BookieIOError())
        self.assertEqual(self.segments(), [(0, self.names)])
        self.send()
        start, ensemble = self.segments()[-1]
        self.assertEqual((start, self.bookies.asked("b2"), self.bookies.asked(ensemble[2])), (1, [], [(1, 1)]))

    def test_not_followed_up(self) -> None:
        """With delayed changes nothing comes of it."""
        self.rules = AddRules(delay_change=True)
        self.writer = self.make()
        self._complete()
        self.bookies.answer("b2", BookieIOError())
        self.send()
        self.assertEqual((self.segments(), self.bookies.asked("b2")), ([(0, self.names)], [(1, 1)]))

    def test_complete_behind_another(self) -> None:
        """That holds for an entry that has its ack quorum and waits for one before it."""
        self.send()
        self.bookies.requests.clear()
        self._complete()
        self.assertEqual(self.completed, [])
        self.bookies.answer("b2", BookieIOError())
        self.assertEqual(len(self.segments()), 1)
        self.assertEqual(self.writer.ensemble, self.names)
        self.send()
        self.assertNotIn("b2", self.writer.ensemble)

    def test_already_replaced(self) -> None:
        """A late failure of a bookie that is gone changes nothing."""
        self._complete()
        (late,) = self.bookies.take("b2")
        self.send()
        self.bookies.answer("b2", BookieIOError())
        before = self.segments()
        late.answer(BookieIOError())
        self.send()
        self.assertEqual(self.segments(), before)

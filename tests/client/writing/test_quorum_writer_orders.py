"""Any order of answers, failures, metadata outcomes and bookies that come and go (S12, S13, S15, S16).

Bookies are puppets, metadata is a store in memory behind a gate.  A run is a list of numbers; each picks
one of the things that could happen next.  The same runs catch writers with one decision made wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing import appends
from bookkeeper_twisted.client.writing.batch import Batch
from bookkeeper_twisted.client.writing.failed_bookies import AddRules
from bookkeeper_twisted.client.writing.quorum_writer import QuorumWriter
from bookkeeper_twisted.client.writing.states import CHANGING
from bookkeeper_twisted.errors import BookieIOError, MetadataError, RequestTimeoutError, WriteOnReadOnlyBookieError

from .quorum_case import QuorumTestCase

QUORUMS = ((3, 3, 2), (3, 2, 2), (4, 3, 2), (5, 3, 3), (3, 3, 1), (2, 2, 2))


class Violated(AssertionError):
    """An invariant does not hold."""


class Run(QuorumTestCase):
    """One writer's life; :meth:`runTest` makes it an object that can be made without a runner."""

    gated = True
    spares = 3
    kind: type[QuorumWriter] = QuorumWriter

    def begin(self, quorums: tuple[int, int, int], kind: type[QuorumWriter], delay: bool) -> None:
        """A new ledger."""
        self.quorums, self.rules = quorums, AddRules(delay_change=delay)
        self.kind = kind
        self.setUp()
        self.holders: dict[int, set[str]] = {}
        self.last = -1
        self.violations: list[Violated] = []

    def make(self, kind: type[QuorumWriter] = QuorumWriter) -> QuorumWriter:
        """The kind of writer to be tried, watched."""
        return super().make(self.kind)

    def advanced(self) -> bool:
        """Looks at what holds."""
        if self.writer.completed != self.last:
            self.check()
        return True

    def runTest(self) -> None:
        """Nothing."""

    # ---- what can happen -----------------------------------------------------------------------------

    def step(self, number: int) -> None:
        """One of the things that could happen now."""
        choices: list[Callable[[int], None]] = [self._send, self._bookie_goes, self._bookie_comes]
        if self.bookies.requests:
            choices += [self._succeed] * 5 + [self._fail, self._fail, self._stored_but_fail]
        if self.ledgers.gate:
            choices += [self._open_gate] * 3 + [self._lose_answer, self._lose_request]
        choices[number % len(choices)](number // len(choices))

    def _send(self, number: int) -> None:
        self.send(1 + number % 4)

    def _request(self, number: int) -> Any:
        return self.bookies.requests.pop(number % len(self.bookies.requests))

    def _hold(self, request: Any) -> None:
        for entry_id in request.adds.entry_ids:
            self.holders.setdefault(entry_id, set()).add(request.bookie_id)

    def _succeed(self, number: int) -> None:
        request = self._request(number)
        self._hold(request)
        request.answer()

    def _fail(self, number: int) -> None:
        errors = (BookieIOError, RequestTimeoutError, WriteOnReadOnlyBookieError)
        self._request(number).answer(errors[number % 3]())

    def _stored_but_fail(self, number: int) -> None:
        request = self._request(number)
        self._hold(request)
        request.answer(RequestTimeoutError())

    def _bookie_goes(self, number: int) -> None:
        self.unregister(f"s{number % 3}")
        self.clock.advance(0)

    def _bookie_comes(self, number: int) -> None:
        self.register(f"s{number % 3}")
        self.clock.advance(0)

    def _open_gate(self, _: int) -> None:
        self.ledgers.open()

    def _lose_answer(self, _: int) -> None:
        self.ledgers.losing.append((True, MetadataError("connection lost")))
        self.ledgers.open()

    def _lose_request(self, _: int) -> None:
        self.ledgers.losing.append((False, MetadataError("connection lost")))
        self.ledgers.open()

    # ---- what must hold ------------------------------------------------------------------------------

    def check(self) -> None:
        """Called at each completion, where nothing may be raised."""
        try:
            self._check()
        except Violated as violated:
            self.violations.append(violated)

    def _check(self) -> None:
        completed, stored = self.writer.completed, self.stored()
        if self.ledgers.gate:
            raise Violated("completed while a change was under way (S16)")
        if completed <= self.last:
            raise Violated(f"{completed} after {self.last} (S13)")
        starts = [segment.first_entry_id for segment in stored.segments]
        if starts != sorted(set(starts)):
            raise Violated(f"segments begin at {starts} (S15)")
        for entry_id in range(completed + 1):  # all of them: a later change must not move an earlier entry
            ensemble = stored.ensemble_at(entry_id)
            members = {ensemble[position] for position in self.schedule.write_set(entry_id)}
            if len(members & self.holders.get(entry_id, set())) < self.schedule.ack_quorum:
                raise Violated(f"entry {entry_id} is on {self.holders.get(entry_id)}, not on {members} (S16)")
        self.last = completed

    def finish(self) -> None:
        """Without further failures everything sent completes, or the writer has ended."""
        for _ in range(10_000):
            if self.bookies.requests:
                self._succeed(0)
            elif self.ledgers.gate:
                self.ledgers.open()
            else:
                break
        if self.writer.failure is None and not self.violations and self.writer.completed != self.last_sent:
            raise Violated(f"{self.writer.completed} of {self.last_sent} completed, and nothing is under way")
        if self.last >= 0:
            self.last = -1
            self._check()
        if self.violations:
            raise self.violations[0]


def live(numbers: Sequence[int], quorums: tuple[int, int, int], kind: type[QuorumWriter], delay: bool) -> Run:
    """A whole life.

    :raises Violated: an invariant did not hold.
    """
    run = Run()
    run.begin(quorums, kind, delay)
    for number in numbers:
        if run.writer.failure is not None or run.violations:
            break
        run.step(number)
    run.finish()
    return run


class OrderTests(SynchronousTestCase):
    """The writer as it is."""

    @given(st.lists(st.integers(0, 10_000), max_size=60), st.sampled_from(QUORUMS), st.booleans())
    def test_any_order(self, numbers: list[int], quorums: tuple[int, int, int], delay: bool) -> None:
        """Adds complete in order, never during a change, and are where the stored metadata says; none hangs."""
        live(numbers, quorums, QuorumWriter, delay)

    def test_long_lives(self) -> None:
        """Nor in long lives, most of which see changes, and some the end."""
        changes = ends = 0
        for numbers, quorums in lives(150):
            run = live(numbers, quorums, QuorumWriter, False)
            changes += len(run.segments()) > 1
            ends += run.writer.failure is not None
        self.assertGreater(changes, 50)
        self.assertGreater(ends, 10)


def lives(count: int) -> Iterator[tuple[list[int], tuple[int, int, int]]]:
    """Random ones, always the same."""
    chance = Random(1)
    for seed in range(count):
        yield [chance.randrange(10_000) for _ in range(120)], QUORUMS[seed % len(QUORUMS)]


class StartsAtZero(QuorumWriter):
    """Lets the new ensemble begin where the newest segment did."""

    def _change_start(self) -> int:
        return 0


class KeepsReplaced(Batch[Any]):
    """Counts what replaced bookies have acknowledged, and what they acknowledge later."""

    def _take_back(self, bookie_id: str, index_set: int) -> None:
        pass


class PlantedTests(SynchronousTestCase):
    """Writers with one decision made wrong are found out."""

    def _caught(self, kind: type[QuorumWriter]) -> None:
        for numbers, quorums in lives(400):
            try:
                live(numbers, quorums, kind, False)
            except Violated:
                return
        self.fail(f"{kind.__name__} was not noticed")

    def test_planted_bugs(self) -> None:
        """Each of them breaks an invariant within a few hundred lives."""
        self._caught(StartsAtZero)

    def test_planted_in_states(self) -> None:
        """So does a writer that completes entries while the metadata is being changed."""
        self.patch(CHANGING, "completes", True)
        self._caught(QuorumWriter)

    def test_planted_in_batches(self) -> None:
        """So does a batch that counts answers of bookies that were replaced."""
        self.patch(appends, "Batch", KeepsReplaced)
        self._caught(QuorumWriter)

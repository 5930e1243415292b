"""The answer table of recovery: every pattern of answers, every ack quorum (S17)."""

from collections.abc import Iterable
from functools import partial
from itertools import combinations_with_replacement, product

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    DataUnknownError,
    DigestMatchError,
    LedgerRecoveryError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
)
from bookkeeper_twisted.ledger.recovery_rules import EntryVote, RecoveryRules, Verdict
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment

from ..client.recovery.recovery_case import LEDGER, RecoveryTestCase

OK, NO_ENTRY, NO_LEDGER, UNKNOWN, DIGEST, TIMEOUT = "ok", "no entry", "no ledger", "unknown", "digest error", "timeout"
ANSWERS = (OK, NO_ENTRY, NO_LEDGER, UNKNOWN, DIGEST, TIMEOUT)
SIZES = [(wq, aq) for wq in range(1, 5) for aq in range(1, wq + 1)]

KEPT, END, FAILS = "the entry is kept", "the ledger ends", "the recovery fails"


def expected(answers: tuple[str, ...], ack_quorum: int) -> str:
    """What must come of answers, in the order in which they arrive."""
    without = 0
    for answer in answers:
        if answer == OK:
            return KEPT
        without += answer in (NO_ENTRY, NO_LEDGER)
        if len(answers) - without < ack_quorum:  # the others cannot have been an ack quorum
            return END
    return FAILS


def error_of(answer: str) -> Exception:
    """What a client makes of an answer."""
    errors = {
        NO_ENTRY: NoSuchEntryError(), NO_LEDGER: NoSuchLedgerError(), UNKNOWN: DataUnknownError(),
        DIGEST: DigestMatchError(LEDGER, 0, "damaged"), TIMEOUT: RequestTimeoutError("late"),
    }  # fmt: skip
    return errors[answer]


def rules(write_quorum: int, ack_quorum: int) -> RecoveryRules:
    """The rules of a ledger that is not striped."""
    names = tuple(f"b{i}" for i in range(write_quorum))
    return RecoveryRules(LedgerMetadata(write_quorum, write_quorum, ack_quorum, (Segment(0, names),)))


class AnswerTableTests(SynchronousTestCase):
    """All patterns of answers of up to four bookies."""

    verdicts = {Verdict.KEPT: KEPT, Verdict.NEVER_ACKNOWLEDGED: END, Verdict.UNDECIDABLE: FAILS}

    def test_table(self) -> None:
        """Each pattern has the one outcome that is safe; there are 5910."""
        n_patterns = 0
        for write_quorum, ack_quorum in SIZES:
            for answers in product(ANSWERS, repeat=write_quorum):
                vote = EntryVote(rules(write_quorum, ack_quorum))
                for answer in answers:
                    vote.found() if answer == OK else vote.failed(error_of(answer))
                outcome = self.verdicts[vote.verdict]
                self.assertEqual(outcome, expected(answers, ack_quorum), (write_quorum, ack_quorum, answers))
                n_patterns += 1
        self.assertEqual(n_patterns, sum(aq and 6**wq for wq, aq in SIZES))

    def test_open_until_decided(self) -> None:
        """Nothing is decided by fewer negatives than it takes, nor by errors while answers are to come."""
        vote = EntryVote(rules(3, 2))
        vote.failed(NoSuchEntryError())
        self.assertIs(vote.verdict, Verdict.OPEN)
        vote.failed(RequestTimeoutError("late"))
        self.assertIs(vote.verdict, Verdict.OPEN)
        vote.found()
        self.assertIs(vote.verdict, Verdict.KEPT)

    def test_first_verdict_stands(self) -> None:
        """What comes after a verdict changes nothing."""
        vote = EntryVote(rules(3, 2))
        vote.failed(NoSuchEntryError())
        vote.failed(NoSuchLedgerError())
        vote.found()
        vote.failed(RequestTimeoutError("late"))
        self.assertIs(vote.verdict, Verdict.NEVER_ACKNOWLEDGED)
        self.assertEqual(len(vote.errors), 3)

    def test_other_errors(self) -> None:
        """A lost connection, or a cancelled request, is no negative either."""
        for error in (BookieHandleNotAvailableError("gone"), CancelledError()):
            vote = EntryVote(rules(1, 1))
            vote.failed(error)
            self.assertIs(vote.verdict, Verdict.UNDECIDABLE)


class AnswersInRecoveryTests(RecoveryTestCase):
    """The same answers, given by bookies to whole recoveries."""

    def _given(self, answers: tuple[str, ...], ack_quorum: int) -> None:
        """A ledger of one entry, for which bookies answer as told."""
        self.quorums = (len(answers), len(answers), ack_quorum)
        RecoveryTestCase.setUp(self)
        self.leave(0, -1, [i for i, answer in enumerate(answers) if answer != NO_ENTRY])
        for name, answer in zip(self.names, answers, strict=True):
            if answer in (NO_LEDGER, UNKNOWN, TIMEOUT):
                self.bookies[name].fail("read", partial(error_of, answer), first=0, last=0)
            elif answer == DIGEST:
                self.bookies[name].fail("read", NoSuchEntryError, last=-1)
                self.bookies[name].damage(LEDGER, 0)

    @staticmethod
    def _patterns(write_quorum: int) -> Iterable[tuple[str, ...]]:
        """All, of four bookies in one order each."""
        if write_quorum < 4:
            return product(ANSWERS, repeat=write_quorum)
        return combinations_with_replacement(ANSWERS, write_quorum)

    def test_recoveries(self) -> None:
        """Recoveries do what the table says: keep the entry, end the ledger before it, or change nothing."""
        for write_quorum, ack_quorum in SIZES:
            for answers in self._patterns(write_quorum):
                with self.subTest(answers=answers, ack_quorum=ack_quorum):
                    self._given(answers, ack_quorum)
                    recovering = self.finished(self.start())
                    outcome = expected(answers, ack_quorum)
                    if outcome == FAILS:
                        self.failureResultOf(recovering, LedgerRecoveryError, RequestTimeoutError)
                        self.assertIs(self.stored().state, LedgerState.IN_RECOVERY)
                        continue
                    closed = self.successResultOf(recovering).value
                    self.assertEqual(closed, self.stored())
                    self.assertIs(closed.state, LedgerState.CLOSED)
                    self.assertEqual(closed.last_entry_id, 0 if outcome == KEPT else -1)

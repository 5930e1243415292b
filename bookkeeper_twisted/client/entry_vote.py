"""What becomes of one entry in a recovery, by the answers of its bookies.  Pure."""

from enum import Enum, auto

from .recovery_rules import RecoveryRules


class Verdict(Enum):
    """The outcomes of a vote."""

    OPEN = auto()
    """Answers are to come."""
    KEPT = auto()
    """Some bookie has it."""
    NEVER_ACKNOWLEDGED = auto()
    """So many say that they do not have it that no ack quorum ever had it: the ledger ends before it."""
    UNDECIDABLE = auto()
    """Everybody was asked, and it may or may not have been acknowledged."""


class EntryVote:
    """Counts answers for one entry; the first verdict that is not OPEN stands.

    :ivar verdict: so far.
    :ivar errors: what bookies answered instead of the entry.
    """

    def __init__(self, rules: RecoveryRules) -> None:
        self.verdict = Verdict.OPEN
        self.errors: list[Exception] = []
        self._rules = rules
        self._negatives = 0

    def found(self) -> None:
        """A bookie gave the entry, whole."""
        if self.verdict is Verdict.OPEN:
            self.verdict = Verdict.KEPT

    def failed(self, error: Exception) -> None:
        """A bookie gave something else."""
        self.errors.append(error)
        if self.verdict is not Verdict.OPEN:
            return
        if self._rules.is_negative(error):
            self._negatives += 1
            if self._rules.was_never_acknowledged(self._negatives):
                self.verdict = Verdict.NEVER_ACKNOWLEDGED
                return
        if len(self.errors) == self._rules.schedule.write_quorum:
            self.verdict = Verdict.UNDECIDABLE

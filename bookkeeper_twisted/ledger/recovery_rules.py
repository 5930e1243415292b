"""The rules for the decisions of a recovery (safety rule S17), without I/O.

Each rule is one method; the rest of a recovery makes no decisions.  The tests show the purpose of a rule: they replace
it by a weaker rule, and acknowledged entries get lost.
"""

from collections.abc import Collection
from enum import Enum, auto

from ..codec.operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD
from ..model import LedgerMetadata
from .read_answers import NO_ENTRY
from .schedule import schedule_of


class RecoveryRules:
    """The rules by which the recovery of one ledger takes its decisions.

    :param metadata: the metadata of the ledger in the state IN_RECOVERY, in which its last ensemble does not change any
        more.
    """

    def __init__(self, metadata: LedgerMetadata) -> None:
        self.metadata = metadata
        self.schedule = schedule_of(metadata)

    def fence_flags(self) -> int:
        """Return the flags for the first reads of a recovery, which fence the ledger and return its LAC."""
        return FENCE | HIGH_PRIORITY

    def read_flags(self) -> int:
        """Return the flags for the reads of entries by a recovery.

        Each read also fences the ledger.  Otherwise a bookie that was not reached before could answer "no such entry"
        now, and later accept the entry from its writer (safety rule S4).
        """
        return FENCE | HIGH_PRIORITY

    def add_flags(self) -> int:
        """Return the flags that allow a recovery to write entries to a fenced ledger."""
        return RECOVERY_ADD | HIGH_PRIORITY

    def is_covered(self, answered: Collection[int]) -> bool:
        """Test whether the bookies without an answer, which may be unfenced, are too few to acknowledge an entry.

        If so, no new entry can get an ack quorum while the recovery reads entries, and the recovery knows every LAC
        that an ack quorum has received.

        :param answered: positions in the last ensemble whose bookies answered.
        """
        return self.schedule.is_covered(answered)

    def confirmed(self, heard_lac: int) -> int:
        """Return the id of the last entry that is certainly acknowledged; the recovery reads only the entries after it.

        Two rules give such an entry, and the higher id counts.  All entries up to a LAC are acknowledged.  All entries
        before the newest ensemble are acknowledged, too, because a writer lets a new ensemble begin right after its
        LAC.  The second rule gives the higher id if the bookies of the newest ensemble have no entry yet, and so know
        no LAC.

        :param heard_lac: the highest LAC that a bookie of the newest ensemble has reported; -1 without any.
        """
        return max(heard_lac, self.metadata.segments[-1].first_entry_id - 1)

    def is_negative(self, error: Exception) -> bool:
        """Test whether an ``error`` says that the bookie does not have the entry; other errors leave this open."""
        return isinstance(error, NO_ENTRY)

    def was_never_acknowledged(self, negatives: int) -> bool:
        """Test whether so many bookies lack an entry that no ack quorum can ever have had it.

        :param negatives: number of bookies of the write set for which :meth:`is_negative` holds.
        """
        return negatives > self.schedule.write_quorum - self.schedule.ack_quorum


class Verdict(Enum):
    """The result of a vote of bookies on one entry: whether the recovery keeps the entry."""

    OPEN = auto()
    """Too few bookies have answered yet."""
    KEPT = auto()
    """A bookie returned the entry, so it stays in the ledger."""
    NEVER_ACKNOWLEDGED = auto()
    """So many bookies lack the entry that no ack quorum ever had it; the ledger ends before it."""
    UNDECIDABLE = auto()
    """All bookies of the write set were asked, but it stays unknown whether the entry was acknowledged."""


class EntryVote:
    """A vote of the bookies of a write set on one entry: whether the recovery keeps the entry.

    The first verdict other than OPEN is final.

    :ivar verdict: the present verdict.
    :ivar errors: the errors of bookies that did not return the entry.
    """

    def __init__(self, rules: RecoveryRules) -> None:
        self.verdict = Verdict.OPEN
        self.errors: list[Exception] = []
        self._rules = rules
        self._negatives = 0

    def found(self) -> None:
        """Record that a bookie returned the whole entry."""
        if self.verdict is Verdict.OPEN:
            self.verdict = Verdict.KEPT

    def failed(self, error: Exception) -> None:
        """Record that one bookie of the write set did not return the entry, and update :attr:`verdict`.

        :param error: the error in the bookie's answer, or the failure of the request; at most one for each bookie.
        """
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

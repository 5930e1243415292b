"""The rules for the decisions of a recovery, without I/O.

Each rule is one method of :class:`RecoveryRules`.  The tests show why each rule is necessary: they replace the method
by a weaker rule, and check that a recovery then loses acknowledged entries.
"""

from collections.abc import Collection
from enum import Enum, auto

from ..codec.operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD
from ..model import LedgerMetadata
from .read_answers import NO_ENTRY
from .schedule import schedule_of


class RecoveryRules:
    """The rules by which the recovery of one ledger takes its decisions.

    :param metadata: the metadata of the ledger in the state IN_RECOVERY; its writer can no longer change the last
        ensemble.
    """

    def __init__(self, metadata: LedgerMetadata) -> None:
        self.metadata = metadata
        self.schedule = schedule_of(metadata)

    def fence_flags(self) -> int:
        """Return the flags for the first reads of a recovery, which fence the ledger and return its LAC."""
        return FENCE | HIGH_PRIORITY

    def read_flags(self) -> int:
        """Return the flags for the reads of entries by a recovery.

        Each read also fences the ledger, because the bookie may have missed the fencing reads at the start of the
        recovery.  Without the fence, it could answer "no such entry" and later accept this entry from the writer.
        """
        return FENCE | HIGH_PRIORITY

    def add_flags(self) -> int:
        """Return the flags that allow a recovery to write entries to a fenced ledger."""
        return RECOVERY_ADD | HIGH_PRIORITY

    def is_covered(self, answered: Collection[int]) -> bool:
        """Test whether enough bookies are fenced, so that those left cannot form an ack quorum.

        Then no further entry of the writer can be acknowledged.  Each ack quorum contains a bookie that has answered,
        so the highest LAC in the answers is at least the LAC that any acknowledged entry contains.

        :param answered: positions in the last ensemble whose bookies have answered a fencing read.
        """
        return self.schedule.is_covered(answered)

    def confirmed(self, heard_lac: int) -> int:
        """Return the id of the last entry that is certainly acknowledged; the recovery reads only the entries after it.

        This is ``heard_lac``, or the id of the last entry before the newest ensemble if that is higher.  All entries
        before the newest ensemble are acknowledged, because a writer starts a new ensemble with the entry after its
        LAC.  That id is higher if the bookies of the newest ensemble have no entries yet, and so know no LAC.

        :param heard_lac: the highest LAC that a bookie of the newest ensemble has reported; -1 without any.
        """
        return max(heard_lac, self.metadata.segments[-1].first_entry_id - 1)

    def is_negative(self, error: Exception) -> bool:
        """Test whether an ``error`` means that the bookie does not have the entry."""
        return isinstance(error, NO_ENTRY)

    def was_never_acknowledged(self, negatives: int) -> bool:
        """Test whether so many bookies lack an entry that it cannot have been acknowledged.

        :param negatives: number of bookies of the write set that answered that they do not have the entry.
        """
        return negatives > self.schedule.write_quorum - self.schedule.ack_quorum


class Verdict(Enum):
    """The result of a vote of bookies on one entry: whether the recovery keeps the entry."""

    OPEN = auto()
    """Too few bookies have answered yet."""
    KEPT = auto()
    """A bookie returned the entry, so it stays in the ledger."""
    NEVER_ACKNOWLEDGED = auto()
    """So many bookies lack the entry that it cannot have been acknowledged; the ledger ends before this entry."""
    UNDECIDABLE = auto()
    """All bookies of the write set failed to return the entry, but it may have been acknowledged."""


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

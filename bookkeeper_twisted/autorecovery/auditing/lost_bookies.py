"""The rules of lost bookies: whether an audit of their ledgers begins immediately or after a delay.

After the loss of one bookie, its ledgers are audited only after a delay, because the bookie may just be restarting.  If
two bookies are lost, their ledgers are audited without a delay, because the loss of a third one might destroy the last
replica of an entry.  A lost bookie that is in no ensemble of any ledger has no entries to lose, so it does not count as
one of the two.  For example, the cookie of a bookie that died long ago may still be stored, although its ledgers were
copied to other bookies.  This module does no I/O; :mod:`.detection` has the clock and the metadata store.
"""

from collections.abc import Collection
from enum import Enum

import attrs


class Detection(Enum):
    """The states of the auditor's detector of lost bookies."""

    CALM = "calm"
    """No lost bookie waits for its audit."""
    WAITING = "waiting"
    """One bookie is lost, and the delay before its audit is not over."""


class Loss(Enum):
    """The number of lost bookies that wait for the audit of their ledgers: none, one, or more."""

    NONE = 0
    ONE = 1
    MANY = 2


class Action(Enum):
    """The step that the auditor must take after a bookie was lost or has returned, or after the delay has changed."""

    NOTHING = "nothing"
    SCHEDULE = "schedule"
    """Call :meth:`LostBookies.expired` when the delay, counted from now, is over; cancel an earlier timer for this."""
    CANCEL = "cancel"
    """Cancel the timer that was set for :meth:`LostBookies.expired`."""
    AUDIT = "audit"
    """Mark the ledgers of all lost bookies now; cancel the timer for :meth:`LostBookies.expired`."""


TRANSITIONS: dict[tuple[Detection, Loss, bool], tuple[Action, Detection]] = {
    (Detection.CALM, Loss.NONE, False): (Action.NOTHING, Detection.CALM),
    (Detection.CALM, Loss.NONE, True): (Action.NOTHING, Detection.CALM),
    (Detection.CALM, Loss.ONE, False): (Action.AUDIT, Detection.CALM),
    (Detection.CALM, Loss.ONE, True): (Action.SCHEDULE, Detection.WAITING),
    (Detection.CALM, Loss.MANY, False): (Action.AUDIT, Detection.CALM),
    (Detection.CALM, Loss.MANY, True): (Action.AUDIT, Detection.CALM),
    (Detection.WAITING, Loss.NONE, False): (Action.CANCEL, Detection.CALM),
    (Detection.WAITING, Loss.NONE, True): (Action.CANCEL, Detection.CALM),
    (Detection.WAITING, Loss.ONE, False): (Action.AUDIT, Detection.CALM),
    (Detection.WAITING, Loss.ONE, True): (Action.NOTHING, Detection.WAITING),
    (Detection.WAITING, Loss.MANY, False): (Action.AUDIT, Detection.CALM),
    (Detection.WAITING, Loss.MANY, True): (Action.AUDIT, Detection.CALM),
}
"""The state machine of the detector of lost bookies.

Key: present state, number of lost bookies, whether a delay is configured.  Value: action to take, next state.
"""


@attrs.define
class LostBookies:
    """The lost bookies of a cluster, and the rules that decide when their ledgers are audited.

    :ivar known: ids of the bookies that are expected to be registered: at first all bookies that have a cookie, after
        an audit those that were registered when it began, and all bookies that have registered since then.
    :ivar delay: seconds from the loss of one bookie to the audit of its ledgers.
    :ivar state: whether a lost bookie waits for its audit.
    :ivar pending: ids of lost bookies that wait for their audit.
    """

    known: set[str]
    delay: int
    state: Detection = Detection.CALM
    pending: set[str] = attrs.field(factory=set)

    def bookies_are(self, available: Collection[str]) -> Action:
        """Record which bookies are registered now; return the step that the auditor must take.

        :param available: ids of all registered bookies, writable and read-only.
        """
        self.known.update(available)
        self.pending.difference_update(available)
        lost = self.known.difference(available)
        self.known -= lost
        self.pending |= lost
        return self._decide()

    def missing(self, available: Collection[str]) -> frozenset[str]:
        """Return the known bookies that are not among the ``available`` bookies and whose loss was not audited yet.

        :param available: ids of all registered bookies, writable and read-only.
        """
        return frozenset(self.known | self.pending).difference(available)

    def leave_out(self, unnamed: Collection[str]) -> None:
        """Remove lost bookies that are in no ensemble of any ledger from the known and the pending bookies.

        If this removes a pending bookie, the next call of :meth:`bookies_are` decides anew about the other pending
        bookies.  For example, if one bookie is left, its ledgers are audited after a full delay from then on.

        :param unnamed: ids of lost bookies that are in no ensemble of any ledger.
        """
        self.known.difference_update(unnamed)
        if not self.pending.isdisjoint(unnamed):
            self.pending.difference_update(unnamed)
            self.state = Detection.CALM

    def delay_is(self, seconds: int) -> Action:
        """Set the delay to a value that was written to the store; return the step that the auditor must take.

        By writing 0 or the present value, an administrator requests an immediate audit.

        :param seconds: the delay that was written.
        """
        if seconds in (0, self.delay):
            self.delay = seconds
            return self._audit()
        self.delay = seconds
        return Action.SCHEDULE if self.state is Detection.WAITING else Action.NOTHING

    def look_into(self, available: Collection[str]) -> None:
        """Record that an audit begins: it will mark the ledgers of all bookies that are not registered.

        :param available: ids of all registered bookies, writable and read-only.
        """
        self.known = set(available)
        self.pending.clear()
        self.state = Detection.CALM

    def expired(self) -> Action:
        """Return the step that the auditor must take at the end of the delay."""
        return self._audit() if self.state is Detection.WAITING else Action.NOTHING

    def _decide(self) -> Action:
        loss = Loss(min(len(self.pending), Loss.MANY.value))
        action, self.state = TRANSITIONS[self.state, loss, self.delay > 0]
        if action is Action.AUDIT:
            self.pending.clear()
        return action

    def _audit(self) -> Action:
        self.pending.clear()
        self.state = Detection.CALM
        return Action.AUDIT

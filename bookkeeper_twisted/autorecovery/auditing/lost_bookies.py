"""The rules of lost bookies: whether an audit of their ledgers begins immediately or after a delay.

The ledgers of one lost bookie are audited when the delay is over, as the bookie may only be restarted.  Those of two
bookies are audited without delay, as another loss might cost entries.  A bookie that no ledger names has no entries to
lose, and counts only while it is the only lost one: the cookie of a bookie that died long ago, whose ledgers were moved
to others, must not end the delay of the next loss.  This module is arithmetic; clock and metadata store are the
caller's.
"""

from collections.abc import Collection
from enum import Enum

import attrs


class Detection(Enum):
    """The states of a detector."""

    CALM = "calm"
    """No lost bookie waits for its audit."""
    WAITING = "waiting"
    """One bookie is lost, and its delay is not over."""


class Loss(Enum):
    """The number of lost bookies that were not audited: none, one, or more."""

    NONE = 0
    ONE = 1
    MANY = 2


class Action(Enum):
    """The next step of the caller after a change of the lost bookies."""

    NOTHING = "nothing"
    SCHEDULE = "schedule"
    """Call :meth:`LostBookies.expired` when the delay is over; it takes the place of an earlier request."""
    CANCEL = "cancel"
    """Cancel the call of :meth:`LostBookies.expired`."""
    AUDIT = "audit"
    """Mark the ledgers of all lost bookies, and cancel the call of :meth:`LostBookies.expired`."""


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
"""The action and the next state, by state, losses, and whether there is a delay."""


@attrs.define
class LostBookies:
    """The set of lost bookies, and the rules by which it orders audits.

    :ivar known: bookies that are expected to be there, at first all with a cookie.
    :ivar delay: seconds for which one lost bookie is waited for.
    :ivar state: of the detection.
    :ivar pending: lost bookies that wait for their audit.
    """

    known: set[str]
    delay: int
    state: Detection = Detection.CALM
    pending: set[str] = attrs.field(factory=set)

    def bookies_are(self, available: Collection[str]) -> Action:
        """Record which bookies are registered now; return the action that the caller has to take.

        :param available: ids of all registered bookies, writable and read-only.
        """
        self.known.update(available)
        self.pending.difference_update(available)
        lost = self.known.difference(available)
        self.known -= lost
        self.pending |= lost
        return self._decide()

    def missing(self, available: Collection[str]) -> frozenset[str]:
        """Return the bookies that :meth:`bookies_are` would treat as lost but not yet audited.

        :param available: see :meth:`bookies_are`.
        """
        return frozenset(self.known | self.pending).difference(available)

    def leave_out(self, unnamed: Collection[str]) -> None:
        """Forget lost bookies that no ledger names; if another one waits for its audit, its delay begins again.

        :param unnamed: bookies that are not registered.
        """
        self.known.difference_update(unnamed)
        if not self.pending.isdisjoint(unnamed):
            self.pending.difference_update(unnamed)
            self.state = Detection.CALM

    def delay_is(self, seconds: int) -> Action:
        """Store a new delay; return the action to take: 0, or an equal value, asks for an immediate audit.

        :param seconds: the value that was written.
        """
        if seconds in (0, self.delay):
            self.delay = seconds
            return self._audit()
        self.delay = seconds
        return Action.SCHEDULE if self.state is Detection.WAITING else Action.NOTHING

    def look_into(self, available: Collection[str]) -> None:
        """Record that an audit begins, which marks the ledgers of all bookies that are not registered.

        :param available: ids of all registered bookies, writable and read-only.
        """
        self.known = set(available)
        self.pending.clear()
        self.state = Detection.CALM

    def expired(self) -> Action:
        """Return the action that the caller has to take at the end of the delay."""
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

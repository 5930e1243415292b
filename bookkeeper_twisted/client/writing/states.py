"""The states of a writer, and the transitions between them.

While a writer changes its ensemble, it completes no entry until the change is stored, even while it is being closed.
A writer that has ended ignores all answers of bookies.
"""

from collections.abc import Mapping
from enum import Enum

import attrs


@attrs.define(eq=False)
class State:
    """A state of the writer of a ledger.

    :ivar name: the name for error messages and ``repr``.
    :ivar appends: whether entries may be appended.
    :ivar completes: whether the Deferred of an append fires once the entry has its ack quorum.
    :ivar listens: whether the writer still processes answers of bookies.
    """

    name: str
    appends: bool
    completes: bool
    listens: bool = True


OPEN = State("open", appends=True, completes=True)
CHANGING = State("open, changing its ensemble", appends=True, completes=False)
CLOSING = State("closing", appends=False, completes=True)
CHANGING_TO_CLOSE = State("closing, changing its ensemble", appends=False, completes=False)
ENDED = State("ended", appends=False, completes=False, listens=False)


class Event(Enum):
    """Events that change the state of a writer."""

    BOOKIES_FAILED = "bookies are to be replaced"
    CHANGED = "the ensemble change is in force"
    CLOSE = "the writer is to be closed"
    END = "the writer ends: everything has completed, or nothing more will"


NEXT: Mapping[State, Mapping[Event, State]] = {
    OPEN: {Event.BOOKIES_FAILED: CHANGING, Event.CLOSE: CLOSING, Event.END: ENDED},
    CHANGING: {Event.CHANGED: OPEN, Event.CLOSE: CHANGING_TO_CLOSE, Event.END: ENDED},
    CLOSING: {Event.BOOKIES_FAILED: CHANGING_TO_CLOSE, Event.END: ENDED},
    CHANGING_TO_CLOSE: {Event.CHANGED: CLOSING, Event.END: ENDED},
    ENDED: {},
}
"""The state that follows each state, by event; an event that is not listed has no effect in that state."""


def following(state: State, event: Event) -> State:
    """Return the state that follows ``state`` after an ``event``; an event without effect returns ``state``."""
    return NEXT[state].get(event, state)

"""The status that a service reports to the service manager of its process, such as systemd."""

import attrs

from ..admin import BookieState, Phase
from .replay import ReplayProgress


@attrs.frozen
class Condition:
    """The status that a service reports to the service manager of its process, such as systemd.

    :ivar text: what the service does at present, for an operator.
    :ivar progress: a number that changes while the start of the service makes progress.
    :ivar blocked: seconds for which the present write or sync of a journal has lasted; 0 if none is in progress.
    """

    text: str
    progress: int = 0
    blocked: float = 0.0


def condition_of(state: BookieState, replay: ReplayProgress, blocked: float) -> Condition:
    """Return the status that a bookie reports to the service manager.

    :param state: the state of the bookie, as its administrator sees it.
    :param replay: the progress of the replay during the start.
    :param blocked: seconds for which the present write or sync of a journal has lasted; 0 if none is in progress.
    """
    if state.phase is Phase.STARTING:
        return Condition(str(replay), replay.n_bytes)
    reasons = "; ".join(state.reasons)
    if state.phase is not Phase.SERVING:
        return Condition(f"{state.phase.value}: {reasons}" if reasons else state.phase.value)
    return Condition(f"read-only: {reasons}" if state.read_only else state.phase.value, blocked=blocked)

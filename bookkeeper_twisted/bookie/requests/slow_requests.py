"""Logs slow requests: the client, the operation, the entries, the duration, and the reason for most of the wait."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...instruments import Ring
from ...protocol.peer_lines import PeerLines
from ..group_commit import LOOP
from ..interfaces import ReadTimes
from .loop_watch import PERIOD, RARE_PERIOD, LoopDelay, LoopWatch

DISK = "a read of the disk"
THREAD = "a free read thread"
JOURNAL = "the journal"
TURN = "its turn, or room for its reply"
ROOM = "room in the write cache or in the queue of the journal"
ROOM_ON_DISK = "room in the write cache, while its checkpoint is written to the disk"
CHECKPOINT = "a checkpoint, which writes the write cache to the disk,"

Waits = Callable[[int], Mapping[str, float]]
"""A function that is called with a ledger id while an add to this ledger is being completed.

It returns the causes for which the add has waited, and the seconds of each wait.
"""

LackedRoom = Callable[[float, float], str]
"""A function that is called with the time at which an add began, and the time at which its wait for room ended.

It returns the reason for the wait, :data:`ROOM` or :data:`ROOM_ON_DISK`; an empty text if no add waited for room.
"""

_NO_WAITS: Mapping[str, float] = MappingProxyType({})
_LEAST = 1e-6


RECENT_REQUESTS = 500
"""Number of slow requests that are kept in memory, to be shown on the web console of the bookie."""



def cause_of_read(times: ReadTimes | None) -> str:
    """Return the reason for which a read has waited.

    :param times: the times of its loads of entries from disk; None if it has loaded nothing.
    """
    if times is None:
        return TURN
    return THREAD if times.for_thread > times.on_disk else DISK


class SlowRequest(NamedTuple):
    """A slow request, or slow requests that were received together.

    :ivar ended: time of the reply, in seconds since the epoch.
    :ivar entry_id: id of the first entry; below 0 if the request has no entry id.
    :ivar n_entries: number of entries.
    :ivar millis: duration of the request in milliseconds.
    :ivar waited_for: the reason for most of this time, as far as it is known.
    """

    ended: float
    operation: str
    peer: str
    ledger_id: int
    entry_id: int
    n_entries: int
    millis: float
    waited_for: str


class PresentWait(NamedTuple):
    """The longest of the waits for a resource or step that have not ended yet.

    :ivar waited_for: the resource or step, such as :data:`DISK`.
    :ivar seconds: for how long it has lasted.
    :ivar where: of a checkpoint, a text that names the directories for which it waits; otherwise empty.
    """

    waited_for: str
    seconds: float
    where: str = ""


class SlowRequests:
    """Logs a line for each slow request, or for requests that were received together.

    At most one line a minute is logged for each operation and host.  Callers call :meth:`say` only if the duration of a
    request is at least :attr:`threshold`, so a fast request costs only one comparison.

    :param clock: the reactor.
    :param waits: returns the causes for which an add has waited, and the seconds of each; called while the add is being
        completed.
    :param lacked_room: returns why adds have waited for room in the write cache or a journal's queue.
    :param held: returns for how many seconds the calls that begin writes of the journals have held up the reactor.
    :ivar threshold: milliseconds from which a request is logged; infinite if no request is logged.
    :ivar keeps_context: whether the lines contain the ``requestContext`` of the requests, which is a set of key-value
        pairs that a client can send with a request.
    :ivar recent: the newest slow requests, including those that were not logged because of the rate limit.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, waits: Waits = lambda ledger_id: _NO_WAITS,
        lacked_room: LackedRoom = lambda began, ended: "", held: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self.threshold = math.inf
        self.keeps_context = False
        self.recent: Ring[SlowRequest] = Ring(RECENT_REQUESTS)
        self._clock = clock
        self._waits = waits
        self._lacked_room = lacked_room
        self._loop = LoopWatch(clock, held=held)
        self._lines = PeerLines(clock.seconds)

    def limit(self, millis: float) -> None:
        """Set the threshold, and measure the delays of the reactor until :meth:`stop`.

        :param millis: milliseconds from which a request is logged; 0 to log no request.  Then only long delays of the
            reactor are noticed.
        """
        self.threshold = millis or math.inf
        self._loop.start(PERIOD if millis else RARE_PERIOD)

    def stop(self) -> None:
        """Stop measuring the delays of the reactor."""
        self._loop.stop()

    def say(
        self, operation: str, peer: str, ledger_id: int, entry_id: int, count: int, millis: float, waited_for: str,
        context: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Log that a request took long; if too many lines were logged lately, only count the line as omitted.

        :param operation: name of the operation, such as ``READ_ENTRY``.
        :param peer: host and port of the client.
        :param entry_id: id of the first entry; below 0 if the request has no entry id.
        :param count: number of entries, of all requests that were received together.
        :param millis: duration of the request in milliseconds.
        :param waited_for: the reason for most of this time, as far as it is known.
        :param context: the key-value pairs (``requestContext``) in the request; of several requests, the pairs of the
            first.
        """
        now = self._clock.seconds()
        late = self._loop.late_since(now - millis / 1000)
        if sum(late.values()) * 1000 > millis / 2:
            # Blame what held up the reactor, not ``waited_for``: it was held up for most of the time, and meanwhile it
            # started no requests, and processed no results of disk reads.
            waited_for = max(late, key=late.__getitem__)
        self.recent.append(SlowRequest(now, operation, peer, ledger_id, entry_id, count, millis, waited_for))
        template = (
            f"slow {operation} of {{peer}}: ledger {{ledger_id}}, entry {{entry_id}}, {{count}} in all, "
            "{millis:.0f} ms, most of it for {waited_for}"
        )
        self._lines.log(
            self._log.warn, template, peer, operation=operation, ledger_id=ledger_id, entry_id=entry_id, count=count,
            millis=millis, waited_for=waited_for, **self.fields_of(context),
        )  # fmt: skip

    @property
    def long_delays(self) -> Sequence[LoopDelay]:
        """Return the newest delays of the reactor of at least :data:`LONG_DELAY`; none without a threshold."""
        return tuple(self._loop.long)

    def held_up(self, seconds: float) -> float:
        """Return for how many of the last ``seconds`` the reactor was held up; 0 without a threshold."""
        return sum(self._loop.late_since(self._clock.seconds() - seconds).values())

    def fields_of(self, context: Mapping[str, str] | None) -> dict[str, Any]:
        """Return the fields to add to a log line for the ``requestContext`` of a request.

        :param context: the key-value pairs of the ``requestContext``; None if the request has none.
        """
        return {"request_context": dict(context)} if context and self.keeps_context else {}

    def say_add(
        self, peer: str, ledger_id: int, entry_id: int, count: int, millis: float,
        context: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Log that an add took long, and the cause for which it has waited longest; call this while it is completed.

        The journal's queue knows how long the add has waited for the journal.  The rest of the duration is a wait for
        room in the write cache or in the queue, if adds had to wait for room meanwhile.  Otherwise, it is a delay of
        the reactor.

        :param peer: host and port of the client.
        :param entry_id: id of the first entry.
        :param count: number of entries.
        :param millis: duration of the add in milliseconds.
        :param context: the key-value pairs (``requestContext``) of the first add that has any; None if none has any.
        """
        waits = dict(self._waits(ledger_id))
        rest = max(millis / 1000 - sum(waits.values()), _LEAST)
        began = self._clock.seconds() - millis / 1000
        name = self._lacked_room(began, began + rest) or LOOP
        waits[name] = waits.get(name, 0.0) + rest
        self.say("ADD_ENTRY", peer, ledger_id, entry_id, count, millis, max(waits, key=waits.__getitem__), context)

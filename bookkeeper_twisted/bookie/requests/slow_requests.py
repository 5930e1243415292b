"""Logs requests that take long: the client, the operation, the entries, the time, and what the request waited for."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...instruments import Ring
from ...protocol.peer_lines import PeerLines
from ..group_commit import LOOP
from .loop_watch import LoopWatch

DISK = "a read of the disk"
JOURNAL = "the journal"
TURN = "its turn, or room for its reply"
ROOM = "room in the write cache or in the queue of the journal"

Waits = Callable[[int], Mapping[str, float]]
"""A function that is called with a ledger id while an add to this ledger is being completed.

It returns what the add has waited for, and the seconds of each wait.
"""

_NO_WAITS: Mapping[str, float] = MappingProxyType({})
_LEAST = 1e-6


RECENT_REQUESTS = 500
"""Number of slow requests that are kept for the console."""


class SlowRequest(NamedTuple):
    """A request, or requests that were received together, that took long.

    :ivar ended: time of the reply, in seconds since the epoch.
    :ivar entry_id: id of the first entry; below 0 if the request names none.
    :ivar n_entries: number of entries.
    :ivar millis: how long the request took.
    :ivar waited_for: what took most of the time, as far as it is known.
    """

    ended: float
    operation: str
    peer: str
    ledger_id: int
    entry_id: int
    n_entries: int
    millis: float
    waited_for: str


class SlowRequests:
    """Logs a line about a request, or requests that were received together, if they took long.

    At most one line of an operation is logged a minute for each host.  Callers compare the time with
    :attr:`threshold` themselves, so a request that is quick costs one comparison.

    :param clock: the reactor.
    :param waits: returns what an add has waited for; called while the add is being completed.
    :param room_since: tests whether an add has waited for room since a time of the clock.
    :ivar threshold: milliseconds from which a request is logged; infinite if no request is logged.
    :ivar recent: the newest slow requests, also those whose lines were omitted.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, waits: Waits = lambda ledger_id: _NO_WAITS,
        room_since: Callable[[float], bool] = lambda began: False,
    ) -> None:  # fmt: skip
        self.threshold = math.inf
        self.recent: Ring[SlowRequest] = Ring(RECENT_REQUESTS)
        self._clock = clock
        self._waits = waits
        self._room_since = room_since
        self._loop = LoopWatch(clock)
        self._lines = PeerLines(clock.seconds)

    def limit(self, millis: float) -> None:
        """Set the threshold; while there is one, the event loop is watched, until :meth:`stop`.

        :param millis: milliseconds from which a request is logged; 0 for no lines at all.
        """
        self.threshold = millis or math.inf
        if millis:
            self._loop.start()
        else:
            self._loop.stop()

    def stop(self) -> None:
        """Watch the event loop no more."""
        self._loop.stop()

    def say(
        self, operation: str, peer: str, ledger_id: int, entry_id: int, count: int, millis: float, waited_for: str
    ) -> None:
        """Log that a request took long, or count the line as omitted.

        :param operation: name of the operation, such as ``READ_ENTRY``.
        :param peer: host and port of the client.
        :param entry_id: id of the first entry; below 0 if the request names none.
        :param count: number of entries; requests that were received together have one line.
        :param millis: how long the request took, in milliseconds.
        :param waited_for: what took most of the time, as far as it is known.
        """
        now = self._clock.seconds()
        if self._loop.late_since(now - millis / 1000) * 1000 > millis / 2:
            # While the loop does not run, replies of disks are not noticed, and requests and room are not given out.
            waited_for = LOOP
        self.recent.append(SlowRequest(now, operation, peer, ledger_id, entry_id, count, millis, waited_for))
        template = (
            f"slow {operation} of {{peer}}: ledger {{ledger_id}}, entry {{entry_id}}, {{count}} in all, "
            "{millis:.0f} ms, most of it for {waited_for}"
        )
        self._lines.log(
            self._log.warn, template, peer, operation=operation, ledger_id=ledger_id, entry_id=entry_id, count=count,
            millis=millis, waited_for=waited_for,
        )  # fmt: skip

    def say_add(self, peer: str, ledger_id: int, entry_id: int, count: int, millis: float) -> None:
        """Log that an add took long, while it is being completed.

        The journal knows how long the add waited for the journal.  The rest of the time is the wait for room if the add
        had to wait for it; otherwise the event loop was busy with the add itself.

        :param peer: host and port of the client.
        :param entry_id: id of the first entry.
        :param count: number of entries.
        :param millis: how long the add took, in milliseconds.
        """
        waits = dict(self._waits(ledger_id))
        rest = max(millis / 1000 - sum(waits.values()), _LEAST)
        name = ROOM if self._room_since(self._clock.seconds() - millis / 1000) else LOOP
        waits[name] = waits.get(name, 0.0) + rest
        self.say("ADD_ENTRY", peer, ledger_id, entry_id, count, millis, max(waits, key=waits.__getitem__))

"""Keeps the newest events of the console in memory, and counts events that repeat instead of keeping each of them.

An event repeats another one if it has the same key, and happens less than an hour after it.  The key of an event
consists of the logger, the level, the format of the log line, and the fields that say what the line is about, such as
a ledger or a directory.  Counters, durations and times are not in the key.  So a condition that is logged every minute
for a month takes two events: the first one, and one with the number of all of them, which moves to the newest ones each
time.  Starts, stops and other changes of a bookie's state are counted only if they happen within five minutes.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from twisted.logger import LogEvent
from twisted.python.failure import Failure

from ....masking import SECRET_NAME, without_credentials
from .event_file import ConsoleEvent

REPEATED_WITHIN = 3600.0
"""Greatest number of seconds between two events of the same key that are counted as repetitions."""

_TOLD = frozenset({"change"})
"""Kinds of events whose numbers are part of the key: each change that somebody makes is kept."""

SLOT = 300.0
"""Seconds within which the same start, stop or change of a bookie's state is counted rather than kept.

Such an event has the field ``is_change``.
"""

_MEASURES = re.compile(
    r"(?=\d)(?:\d{4}-\d\d-\d\d[T ][\d:.]+Z?"  # times
    r"|(?<![\w.])\d+(?:[.,]\d+)*(?= ?(?:s|ms|bytes|[KMGT]?i?B|%|entries|ledgers|times)(?!\w))"
    r"|(?<![\w.])\d+\.\d+(?![\w.:])|(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,]))"
)
"""Matches the times, durations, sizes and counts in a text, but not ids, ports, addresses and numbers in names."""

_OF_OLD_LOG = frozenset({"message", "time", "system", "format", "isError", "failure", "why", "printed"})


def key_of(event: LogEvent, kind: str) -> str:
    """Return the key of a log ``event``, which is the same in all processes, also after a restart.

    :param kind: kind of the event in the console; each change that somebody makes over HTTP has a key of its own.
    """
    parts = [str(event.get(name, "")) for name in ("log_namespace", "log_level", "log_format")]
    if event.get("is_change"):
        parts.append(f"slot{event.get('log_time', 0.0) // SLOT:.0f}")
    failure = event.get("log_failure")
    if isinstance(failure, Failure):
        parts.append(f"{type(failure.value).__qualname__}: {failure.getErrorMessage()}")
    for name, value in event.items():
        if name.startswith("log_") or name in _OF_OLD_LOG or SECRET_NAME.search(name):
            continue
        is_id = name.endswith(("id", "ids")) or kind in _TOLD or isinstance(value, bool)
        if is_id or not isinstance(value, int | float):
            parts.append(f"{name}={value}")
    text = without_credentials("\0".join(parts))
    same = text if kind in _TOLD else _MEASURES.sub("#", text)
    return blake2b(same.encode(errors="replace"), digest_size=8).hexdigest()


class KeptEvents:
    """The newest events by the times at which they happened last, numbered from 1 on.

    An event that repeats gets a new number each time, as if it had been added anew.

    :param size: maximum number of events.
    :ivar count: number of events that happened in this process, which is also the number of the newest event.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self._size = size
        self._events: OrderedDict[int, ConsoleEvent] = OrderedDict()
        self._numbers: dict[str, int] = {}  # of the newest event of each key

    def append(self, event: ConsoleEvent) -> ConsoleEvent:
        """Add a new ``event``, or count it if it repeats another one; if there are too many, drop the oldest event.

        :returns: the event that is kept: the given one, or one with the count, the first time and the newest text.
        """
        number = self._numbers.get(event.key)
        before = self._events[number] if number is not None else None
        if before is not None and event.key and 0 <= event.at - before.at < REPEATED_WITHIN:
            event = event._replace(times=before.times + 1, since=before.first)
            if number is not None and before.times > 1:
                del self._events[number]
        self.count += 1
        self._events[self.count] = event
        self._numbers[event.key] = self.count
        if len(self._events) > self._size:
            oldest, dropped = self._events.popitem(last=False)
            if self._numbers.get(dropped.key) == oldest:
                del self._numbers[dropped.key]
        return event

    def prepend(self, past: Sequence[ConsoleEvent]) -> None:
        """Add the events of earlier processes, as far as there is room, with numbers below 1.

        :param past: events in ascending order; those that happen again are counted further.
        """
        room = self._size - len(self._events)
        for number, event in enumerate(reversed(past[-room:] if room > 0 else ())):
            self._events[-number] = event
            self._events.move_to_end(-number, last=False)
            self._numbers.setdefault(event.key, -number)

    def after(self, number: int) -> list[ConsoleEvent]:
        """Return the kept events whose numbers are greater than ``number``, in ascending order."""
        found = []
        for each in reversed(self._events):
            if each <= number:
                break
            found.append(self._events[each])
        return found[::-1]

    def newest_first(self) -> Iterable[ConsoleEvent]:
        """Return all kept events, also those of earlier processes, in descending order."""
        return reversed(self._events.values())

"""Selects log events of a process for the console, which shows them as the history of the process.

The log has a line for each important change and its cause, such as a bookie that becomes read-only, a full disk, a
compaction or a changed limit.  The console shows all log events of the modules that make such changes, and warnings of
all other modules.  Lines about single requests are left out.  Events that repeat are counted (:mod:`.kept_events`); the
file gets the count of each once an hour at most, and when the process ends.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from twisted.logger import ILogObserver, LogEvent, Logger, LogLevel, formatEvent, globalLogPublisher
from zope.interface import implementer

from ....errors import IncorrectParameterError
from ....instruments import Ring
from ....logs.json_lines import json_line
from ....masking import without_credentials
from ...api import Answer, ApiRequest, json_answer
from ...routes import Parameter, Route, routed
from .event_file import ConsoleEvent, EventFile
from .kept_events import KeptEvents, key_of

MOST_EVENTS = 10_000
MOST_LINES = 1000
"""Number of log lines that are kept for the debug bundle."""

LONGEST = 2000
"""Maximum number of characters of an event or of a kept log line."""

KEPT_SECONDS = 30 * 86400.0

WRITE_SECONDS = 3600.0
"""Least number of seconds between two lines in the file about the same event that repeats."""

_WRITTEN_AT_ONCE = 500
"""Maximum number of counts that are written together, so that none is dropped from those that wait for a slow disk."""

_LONGEST_UNWRITTEN = 86400.0

EVENTS_A_PAGE = 500
"""Maximum number of events in one answer."""

_PACKAGE = "bookkeeper_twisted."
_END = "end"
"""The key of the last event of a process that was stopped, which is only in the file."""

_ABOUT_LOOP = "bookie.requests.loop_watch"
_KINDS: Mapping[str, str] = {
    "bookie.lifecycle.registration": "state", "bookie.lifecycle.disk_monitor": "disk", "bookie.lifecycle": "bookie",
    "bookie.maintenance.scrubber": "scrub", "bookie.maintenance.known_damage": "scrub",
    "bookie.maintenance.damaged_ledger_marker": "scrub", "bookie.maintenance": "space", "bookie.checkpoint": "disk",
    "bookie.group_commit": "disk", _ABOUT_LOOP: "bookie", "storage": "disk", "autorecovery": "repair",
    "metadata": "metadata", "http": "change", "limits": "limits", "embedding": "bookie",
}  # fmt: skip
"""Maps a prefix of module names to the kind of the events that these modules log; the first matching prefix decides."""

KINDS = (*sorted({*_KINDS.values()}), "other")

_OF_REQUESTS = ("bookie.requests.", "protocol.", "http.access", "http.channel")


@implementer(ILogObserver)
class EventLog:
    """Observes the log of the process, and keeps the newest events and log lines in memory.

    :param seconds: returns the seconds since the epoch.
    :param file: stores the events on disk; None if they are kept only in memory.
    :ivar events: the newest events of this process, and those of earlier processes as soon as the file is read.
    :ivar lines: the newest log lines as JSON, with secrets masked.
    """

    _log = Logger()

    def __init__(self, seconds: Callable[[], float], file: EventFile | None = None) -> None:
        self._seconds = seconds
        self._file = file
        self.events = KeptEvents(MOST_EVENTS)
        self._unwritten: dict[str, ConsoleEvent] = {}
        self._written_at: dict[str, float] = {}
        self._write_at = seconds() + WRITE_SECONDS
        self.lines: Ring[str] = Ring(MOST_LINES)

    def start(self) -> None:
        """Begin to observe the log of the process."""
        globalLogPublisher.addObserver(self)
        if self._file is not None:
            self._file.load(MOST_EVENTS, self._seconds() - KEPT_SECONDS).addCallback(self._loaded)

    def _loaded(self, past: Sequence[ConsoleEvent]) -> None:
        """Keep the events of earlier processes; say so if the last of these processes has not recorded its end."""
        by_time = sorted(past, key=lambda event: event.at)
        self.events.prepend([event for event in by_time if event.key != _END])
        if past and past[-1].key != _END:
            last = datetime.fromtimestamp(past[-1].at, UTC).replace(tzinfo=None).isoformat(" ", "seconds")
            self._log.warn(
                "the process before has recorded no end, as after SIGKILL, a crash or a loss of power, if its disk "
                "took no event any more, or if its release records none; its last event is of {last} UTC", last=last,
            )  # fmt: skip

    def stop(self) -> None:
        """Stop observing the log, and close the file."""
        globalLogPublisher.removeObserver(self)
        if self._file is not None:
            for event in self._unwritten.values():
                self._file.append(event)
            self._unwritten.clear()
            self._file.append(ConsoleEvent(self._seconds(), "info", "bookie", "the process has ended", _END))
            self._file.close()

    def __call__(self, event: LogEvent) -> None:
        """Handle a log ``event``, as Twisted's log observers do; ignore levels below ``info``.

        Keep the log line of the event for the debug bundle.  Keep the event itself, too, if the console shows it.
        """
        level = event.get("log_level", LogLevel.info)
        if level < LogLevel.info:
            return
        line = json_line(event)
        if line is not None:
            self.lines.append(line if len(line) <= LONGEST else line[:LONGEST] + "\n")
        kind = _kind_of(str(event.get("log_namespace", "")), level)
        if kind:
            # If another observer has flattened the event, formatEvent() ignores the formats of numbers.
            whole = {name: value for name, value in event.items() if name != "log_flattened"}
            text = without_credentials(formatEvent(whole))[:LONGEST]
            kept = self.events.append(ConsoleEvent(self._seconds(), level.name, kind, text, key_of(event, kind)))
            if self._file is not None:
                self._write(self._file, kept)

    def _write(self, file: EventFile, event: ConsoleEvent) -> None:
        """Write a new event at once, and the counts of those that have repeated when an hour has passed."""
        if event.times > 1:
            self._unwritten[event.key] = event
            if len(self._unwritten) > MOST_EVENTS:
                del self._unwritten[next(iter(self._unwritten))]
        else:
            if event.key in self._unwritten:  # the same thing happened more than an hour ago, which is another event
                file.append(self._unwritten.pop(event.key))
            file.append(event)
        if event.at >= self._write_at:
            self._write_counts(file, event.at)

    def _write_counts(self, file: EventFile, now: float) -> None:
        self._written_at = {key: at for key, at in self._written_at.items() if now - at < _LONGEST_UNWRITTEN}
        due = list(islice((each for each in self._unwritten.values() if self._is_due(each, now)), _WRITTEN_AT_ONCE))
        for each in due:
            del self._unwritten[each.key]
            self._written_at[each.key] = now
            file.append(each)
        self._write_at = now + (60.0 if len(due) == _WRITTEN_AT_ONCE else WRITE_SECONDS)

    def _is_due(self, event: ConsoleEvent, now: float) -> bool:
        """Test whether to write the count of an event: the longer it lasts, the fewer lines are written about it."""
        pause = max(WRITE_SECONDS, min((event.at - event.first) / 8, _LONGEST_UNWRITTEN))
        return now - self._written_at.get(event.key, 0.0) >= pause


def _kind_of(namespace: str, level: Any) -> str:
    """Return the kind of a log event; an empty text if the console does not show it."""
    module = namespace.removeprefix(_PACKAGE)
    if module == namespace or (module.startswith(_OF_REQUESTS) and not module.startswith(_ABOUT_LOOP)):
        return ""
    kind = next((kind for prefix, kind in _KINDS.items() if module.startswith(prefix)), "")
    return kind or ("other" if level >= LogLevel.warn else "")


def event_row(event: ConsoleEvent) -> list[object]:
    """Return an ``event`` as JSON: time, level, kind, text.

    If the event has repeated, the time and the text are those of the last time; the number of times, the first time and
    the key of the event follow.
    """
    row: list[object] = [round(event.at, 3), event.level, event.kind, event.text]
    return row if event.times == 1 else [*row, event.times, round(event.since, 3), event.key]


class EventPages:
    """Answers the requests for past events.

    :param seconds: returns the seconds since the epoch.
    """

    def __init__(self, log: EventLog, seconds: Callable[[], float]) -> None:
        self._kept = log
        self._seconds = seconds

    @routed(
        Route("GET", "/api/v1/console/events",
              "the events of the last 30 days, the newest first, five hundred at most, and how many are left out; one "
              "that repeats within the hour has the last time, and the number of times and the first time behind it",
              parameters=(Parameter("around", "the time next to which the events are, if there are too many; without "
                                    "it, they are the newest", "integer", least=0),
                          Parameter("skip", "the number of later events to leave out, instead of ``around``",
                                    "integer", least=0),
                          Parameter("from", "least time, in seconds since 1970", "integer", least=0),
                          Parameter("until", "greatest time, in seconds since 1970", "integer", least=0),
                          Parameter("kind", "their kind", choices=KINDS))),
    )  # fmt: skip
    async def _found(self, request: ApiRequest) -> Answer:
        oldest = max(request.number("from", 0), self._seconds() - KEPT_SECONDS)
        newest, kind = request.number("until", 1 << 40), request.parameters.get("kind", "").lower()
        if request.number("from", 0) > newest:
            raise IncorrectParameterError(f"from = {request.number('from', 0)} is after until = {newest}")
        kept = list(self._kept.events.newest_first())
        found = [event for event in kept if oldest <= event.at and event.first <= newest and kind in ("", event.kind)]
        begin = request.number("skip", 0)
        if "around" in request.parameters and "skip" not in request.parameters:
            within = [event._replace(at=min(event.at, newest)) for event in found]
            begin = nearest(within, request.number("around", 0))
        shown = found[begin : begin + EVENTS_A_PAGE]
        return json_answer(
            {
                "events": [event_row(event) for event in shown],
                "later": min(begin, len(found)),
                "earlier": max(len(found) - begin - len(shown), 0),
                "oldest": kept[-1].at if kept else None,
            }
        )


def nearest(events: Sequence[ConsoleEvent], at: float) -> int:
    """Return the index of the first of the :data:`EVENTS_A_PAGE` consecutive events that are nearest to a time.

    :param events: events in descending order of their times.
    :param at: the time, in seconds since the epoch; of an earlier and a later event that are equally near, the earlier
        one is chosen.
    """
    begin = end = next((index for index, event in enumerate(events) if event.at <= at), len(events))
    while end - begin < min(EVENTS_A_PAGE, len(events)):
        if begin == 0 or (end < len(events) and at - events[end].at <= events[begin - 1].at - at):
            end += 1
        else:
            begin -= 1
    return begin

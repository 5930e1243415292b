"""Stores the events of the console on disk, one JSON array per line, so that they survive a restart of the process.

Only operators read the events; no other code depends on the file.  If the file cannot be written, for example because
the disk is full, up to 1000 events wait in memory; they are written with the next event.  A line that a crash has cut
off is skipped.  An event that repeats has several lines, of which the last one is valid.  A file of 4 MiB is renamed to
a name with the suffix ``.1`` and replaces the previous file of this name, so there are two files of bounded size.
"""

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ....authorization.audit_file import AuditFile

MOST_BYTES = 4 * 1024 * 1024
"""Size in bytes at which the file is renamed and a new one is begun."""

_MOST_READ = 2 * MOST_BYTES

MOST_WAITING = 1000
"""Maximum number of events in memory that could not be written; the oldest events are dropped."""

BEFORE = ".1"
"""Suffix that the name of the event file gets when the file is full and a new one is begun."""

Submit = Callable[..., "Deferred[Any]"]
"""A function that calls its first argument on a thread, with its other arguments, and returns a Deferred."""


class ConsoleEvent(NamedTuple):
    """An event that the console shows.

    :ivar at: time of the event, in seconds since the epoch; if it has repeated, the last time.
    :ivar level: name of the log level.
    :ivar kind: subject of the event, one of :data:`.events.KINDS`.
    :ivar key: a text that all events with the same cause have; see :mod:`.kept_events`.
    :ivar times: number of times that the event has happened.
    :ivar since: time at which it happened first, if :attr:`times` is more than 1, otherwise 0.
    """

    at: float
    level: str
    kind: str
    text: str
    key: str = ""
    times: int = 1
    since: float = 0.0

    @property
    def first(self) -> float:
        """Return the time at which the event happened first."""
        return self.since or self.at


class EventFile:
    """Reads and writes the file with the events of a process.

    :param path: path of the file for new events.  The full file before it has the suffix :data:`BEFORE`.
    :param submit: calls a function on a thread, because file access would block the reactor.
    """

    _log = Logger()

    def __init__(self, path: str, submit: Submit) -> None:
        self._path = path
        self._submit = submit
        self._file = AuditFile(path)
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._writing: Deferred[Any] | None = None
        self._has_failed = self._is_closed = self._is_loading = False

    def load(self, most: int, oldest: float) -> "Deferred[list[ConsoleEvent]]":
        """Read the newest events of earlier processes in the order of their lines; of those of one event, the last.

        If the clock was set back, this is not the order of their times.  The result is empty if the files cannot be
        read.  Events that are appended meanwhile are written afterwards, so that none of them is in the result.

        :param most: maximum number of events to return.
        :param oldest: earliest time of an event, in seconds since the epoch.
        """
        self._is_loading = True
        loading: Deferred[list[ConsoleEvent]] = self._submit(self._load, most, oldest)
        return loading.addErrback(self._unreadable).addCallback(self._loaded)

    def _load(self, most: int, oldest: float) -> list[ConsoleEvent]:
        alone: deque[tuple[int, ConsoleEvent]] = deque(maxlen=most)
        repeated: dict[tuple[str, float], tuple[int, ConsoleEvent]] = {}
        lines = chain(_events_of(self._path + BEFORE), _events_of(self._path))
        for number, event in enumerate(lines):
            if event.at >= oldest and event.times == 1:
                alone.append((number, event))
            elif event.at >= oldest:
                repeated[event.key, event.since] = number, event
        return [event for _, event in sorted((*alone, *repeated.values()))[-most:]]

    def _unreadable(self, failure: Failure) -> list[ConsoleEvent]:
        self._say(failure.getErrorMessage())
        return []

    def _loaded(self, past: list[ConsoleEvent]) -> list[ConsoleEvent]:
        self._is_loading = False
        if self._waiting or self._is_closed:
            self._write()
        return past

    def append(self, event: ConsoleEvent) -> None:
        """Write an ``event`` on a thread, together with earlier events that could not be written."""
        self._waiting.append(json.dumps(event).encode() + b"\n")
        if self._writing is None and not self._is_loading:
            self._write()

    def close(self) -> None:
        """Try to write the events that could not be written, then close the file."""
        self._is_closed = True
        if self._writing is None and not self._is_loading:
            self._write()

    def _write(self) -> None:
        lines, is_last = list(self._waiting), self._is_closed
        self._writing = self._submit(self._write_now, lines, is_last)
        self._writing.addCallbacks(self._written, self._not_written, (lines,)).addCallback(self._close_behind, is_last)

    def _write_now(self, lines: list[bytes], is_last: bool) -> int:
        count = self._file.write(lines) if lines else 0
        if self._file.error is None and lines and os.stat(self._path).st_size >= MOST_BYTES:
            os.replace(self._path, self._path + BEFORE)
        if is_last:
            self._file.close()
        return count

    def _close_behind(self, _: None, is_last: bool) -> None:
        """Close the file after a write that was in progress when :meth:`close` was called."""
        if self._is_closed and not is_last and self._writing is None:
            self._write()

    def _written(self, count: int, lines: list[bytes]) -> None:
        self._writing = None
        kept = {id(line) for line in lines[:count]}
        self._waiting = deque([line for line in self._waiting if id(line) not in kept], MOST_WAITING)
        if self._file.error is not None:
            self._say(str(self._file.error))
        else:
            self._has_failed = False
            if self._waiting:
                self._write()

    def _not_written(self, failure: Failure) -> None:
        self._writing = None
        self._say(failure.getErrorMessage())

    def _say(self, error: str) -> None:
        """Log that events cannot be written; after this, log nothing until a write has succeeded."""
        if not self._has_failed:
            self._has_failed = True
            self._log.warn("the events of the console are not kept on disk: {error}", error=error)


def _events_of(path: str) -> Iterator[ConsoleEvent]:
    """Yield the events of a file; yield none if the file does not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        data = os.pread(descriptor, _MOST_READ, max(0, os.fstat(descriptor).st_size - _MOST_READ))
    finally:
        os.close(descriptor)
    for line in data.split(b"\n"):
        event = _event_of(line)
        if event is not None:
            yield event


def _event_of(line: bytes) -> ConsoleEvent | None:
    """Parse a line of the file; return None if the line is incomplete or invalid."""
    try:
        at, level, kind, text, *more = json.loads(line)
        key, times, since = more or ("", 1, 0.0)  # lines of earlier releases have four members
        return ConsoleEvent(float(at), str(level), str(kind), str(text), str(key), int(times), float(since))
    except (ValueError, TypeError, RecursionError):
        return None

"""The file in which the events of a process survive it: one JSON array a line, the newest last.

The file helps people to look back, and nothing depends on it.  If its disk is full, read-only or gone, the events wait
in memory, up to a bound, for the next event that can be written.  A line that was torn by a crash is skipped.  A file
that has become large is renamed, in place of the one before it; so there are two files of bounded size.
"""

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...authorization.audit_file import AuditFile

MOST_BYTES = 4 * 1024 * 1024
"""The size in bytes from which a file is replaced by a new one."""

_MOST_READ = 2 * MOST_BYTES

MOST_WAITING = 1000
"""Maximum number of events that wait for a disk that cannot store them; older ones are dropped."""

BEFORE = ".1"
"""What is appended to the name of the file before the present one."""

Submit = Callable[..., "Deferred[Any]"]
"""A function that calls another one on a thread, and returns its result."""


class ConsoleEvent(NamedTuple):
    """An event of a process.

    :ivar at: its time, in seconds since the epoch.
    :ivar level: name of the log level.
    :ivar kind: what it is about, see :data:`.events.KINDS`.
    """

    at: float
    level: str
    kind: str
    text: str


class EventFile:
    """The events of a process on disk.

    :param path: the present file; see :data:`BEFORE` for the other one.
    :param submit: calls a function on a thread, as only threads may wait for a disk.
    """

    _log = Logger()

    def __init__(self, path: str, submit: Submit) -> None:
        self._path = path
        self._submit = submit
        self._file = AuditFile(path)
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._writing: Deferred[None] | None = None
        self._has_failed = self._is_closed = False

    def load(self, most: int, oldest: float) -> "Deferred[list[ConsoleEvent]]":
        """Read the newest events of earlier processes, in ascending order.

        The result is empty if the files cannot be read.

        :param most: maximum number of events to return.
        :param oldest: least time of an event, in seconds since the epoch.
        """
        loading: Deferred[list[ConsoleEvent]] = self._submit(self._load, most, oldest)
        return loading.addErrback(self._unreadable)

    def _load(self, most: int, oldest: float) -> list[ConsoleEvent]:
        found: deque[ConsoleEvent] = deque(maxlen=most)
        for path in (self._path + BEFORE, self._path):
            found.extend(event for event in _events_of(path) if event.at >= oldest)
        return list(found)

    def _unreadable(self, failure: Failure) -> list[ConsoleEvent]:
        self._say(failure.getErrorMessage())
        return []

    def append(self, event: ConsoleEvent) -> None:
        """Write an ``event``, and those that could not be written before, soon."""
        self._waiting.append(json.dumps(event).encode() + b"\n")
        if self._writing is None:
            self._write()

    def close(self) -> None:
        """Write the waiting events if the disk can store them, and close the file."""
        self._is_closed = True
        if self._writing is None:
            self._write()

    def _write(self) -> None:
        lines = list(self._waiting)
        self._writing = self._submit(self._write_now, lines, self._is_closed)
        self._writing.addCallbacks(self._written, self._not_written, (lines,))

    def _write_now(self, lines: list[bytes], is_last: bool) -> int:
        count = self._file.write(lines) if lines else 0
        if self._file.error is None and lines and os.stat(self._path).st_size >= MOST_BYTES:
            os.replace(self._path, self._path + BEFORE)
        if is_last:
            self._file.close()
        return count

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
        """Log that events cannot be kept, once until they can be."""
        if not self._has_failed:
            self._has_failed = True
            self._log.warn("the events of the console are not kept on disk: {error}", error=error)


def _events_of(path: str) -> Iterator[ConsoleEvent]:
    """Yield the events of a file; it is no error if the file does not exist."""
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
    """Return the event of a line; None if the line is torn or is no event."""
    try:
        at, level, kind, text = json.loads(line)
        return ConsoleEvent(float(at), str(level), str(kind), str(text))
    except (ValueError, TypeError, RecursionError):
        return None

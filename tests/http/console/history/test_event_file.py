"""The file of past events: restarts, torn lines, full, read-only and hostile disks."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authorization.audit_file import AuditFile
from bookkeeper_twisted.http.console.history import event_file
from bookkeeper_twisted.http.console.history.event_file import BEFORE, MOST_WAITING, ConsoleEvent, EventFile


def event(number: int) -> ConsoleEvent:
    """An event at a time."""
    return ConsoleEvent(float(number), "info", "disk", f"event {number}")


class EventFileCase(SynchronousTestCase):
    """A file in a directory of its own; the thread is this one."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.path = self.folder / "events"
        self.file = self.opened()

    def opened(self) -> EventFile:
        """The file as a new process opens it."""
        return EventFile(str(self.path), execute)

    def past(self, most: int = 100, oldest: float = 0.0) -> list[ConsoleEvent]:
        """What a new process finds."""
        loading: Deferred[Any] = self.opened().load(most, oldest)
        return list(self.successResultOf(loading))

    def add(self, *numbers: int) -> None:
        """Events happen."""
        for number in numbers:
            self.file.append(event(number))


class RestartTests(EventFileCase):
    """What a new process finds."""

    def test_restart(self) -> None:
        """Events survive the process, in order, without a close, and are for their owner's eyes."""
        self.assertEqual(self.past(), [])
        self.add(1, 2, 3)
        self.assertEqual(self.past(), [event(1), event(2), event(3)])
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.file.close()
        self.file = self.opened()
        self.add(4)
        self.assertEqual(self.past(), [event(number) for number in (1, 2, 3, 4)])

    def test_while_reading(self) -> None:
        """Events of this process are none of earlier ones, although the files are read on another thread: they wait."""
        self.add(1)
        self.file.close()
        calls: list[tuple[Deferred[Any], Any]] = []

        def submit(work: Any, *args: Any) -> Deferred[Any]:
            calls.append((Deferred(), lambda: work(*args)))
            return calls[-1][0]

        def run(number: int) -> None:
            result, work = calls[number]
            result.callback(work())

        self.file = EventFile(str(self.path), submit)
        loading = self.file.load(100, 0.0)
        self.add(2)
        self.file.close()
        for number in reversed(range(len(calls))):
            run(number)
        self.assertEqual(self.successResultOf(loading), [event(1)])
        run(1)
        self.assertEqual(self.past(), [event(1), event(2)])

    def test_close_while_writing(self) -> None:
        """The file is synced and closed, too, if its last event is still being written when the process stops."""
        calls: list[Any] = []

        def submit(work: Any, *args: Any) -> Deferred[Any]:
            result: Deferred[Any] = Deferred()
            calls.append(lambda: result.callback(work(*args)))
            return result

        closed: list[str] = []
        self.patch(AuditFile, "close", lambda file: closed.append(file.path))
        self.file = EventFile(str(self.path), submit)
        self.add(1)
        self.file.close()
        while calls:
            calls.pop(0)()
        self.assertEqual((closed, self.past()), ([str(self.path)], [event(1)]))

    def test_bounds(self) -> None:
        """Of many events, the newest are read, and none that is too old."""
        self.add(1, 2, 3)
        self.assertEqual(self.past(2), [event(2), event(3)])
        self.assertEqual(self.past(oldest=3.0), [event(3)])

    def test_torn(self) -> None:
        """A line that a crash has torn, and what is no event, are skipped; what follows begins a line of its own."""
        self.add(1)
        whole = self.path.read_bytes()
        for torn in (
            b'[2, "info", "di', b"\xff\xfe\x00", b'{"at": 1}', b"[" * 100_000, b"[1]", b"7", b'["x", 1, 2, 3]'
        ):  # fmt: skip
            self.path.write_bytes(whole + torn)
            self.file = self.opened()
            self.add(3)
            self.assertEqual(self.past(), [event(1), event(3)], torn)

    def test_large(self) -> None:
        """A file that has become large takes the place of the one before it, so that space is bounded."""
        self.patch(event_file, "MOST_BYTES", 300)
        self.add(*range(100))
        sizes = [path.stat().st_size for path in self.folder.iterdir()]
        self.assertLess(sum(sizes), 800)
        self.assertEqual({path.name for path in self.folder.iterdir()} - {"events"}, {"events" + BEFORE})
        found = self.past()
        self.assertEqual(found, [event(number) for number in range(100 - len(found), 100)])
        self.assertGreater(len(found), 5)


class FailureTests(EventFileCase):
    """Disks that cannot keep events harm nobody."""

    def said(self, *numbers: int) -> list[str]:
        """What is logged when events happen."""
        with capturedLogs() as events:
            self.add(*numbers)
        return [str(formatEvent(each)) for each in events]

    def test_no_directory(self) -> None:
        """Without the directory, one line says so; the events are written once it is there."""
        self.folder.rmdir()
        (line,) = self.said(1, 2)
        self.assertIn("the events of the console are not kept on disk", line)
        self.folder.mkdir()
        self.assertEqual(self.said(3), [])
        self.assertEqual(self.past(), [event(1), event(2), event(3)])
        self.folder.rename(self.folder.with_name("gone"))
        self.assertEqual(len(self.said(4)), 1)

    def test_full_disk(self) -> None:
        """On a full disk, a part of a line is written at most; when there is space, nothing is missing."""
        self.add(1)
        written, write = 0, os.write

        def full(descriptor: int, data: bytes) -> int:
            nonlocal written
            if written:
                raise OSError(errno.ENOSPC, "No space left on device")
            written = write(descriptor, data[:10])
            return written

        self.patch(os, "write", full)
        (line,) = self.said(2, 3)
        self.assertIn("No space left", line)
        self.patch(os, "write", write)
        self.add(4)
        self.assertEqual(self.past(), [event(number) for number in (1, 2, 3, 4)])

    def test_waiting(self) -> None:
        """A disk that fails for long costs bounded memory: the newest events wait."""
        self.patch(AuditFile, "open", self._refuse)
        self.said(*range(MOST_WAITING + 50))
        self.assertEqual(len(self.file._waiting), MOST_WAITING)
        self.assertIn(f"event {MOST_WAITING + 49}".encode(), self.file._waiting[-1])

    def _refuse(self, *_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    def test_link(self) -> None:
        """A link in place of the file is not followed, neither to read nor to write."""
        target = self.folder / "target"
        target.write_text(json.dumps(event(9)) + "\n")
        self.path.symlink_to(target)
        self.assertEqual(len(self.said(1)), 1)
        self.assertEqual(self.past(), [])
        self.assertEqual(target.read_text(), json.dumps(event(9)) + "\n")


class ThreadTests(SynchronousTestCase):
    """A thread that is slow."""

    def test_one_at_a_time(self) -> None:
        """While lines are written, further ones wait for the next write; the close is behind them."""
        path = Path(self.mktemp())
        given: list[tuple[Deferred[Any], Any]] = []

        def submit(work: Any, *args: Any) -> Deferred[Any]:
            given.append((Deferred(), lambda: work(*args)))
            return given[-1][0]

        def step() -> None:
            result, work = given.pop(0)
            result.callback(work())

        file = EventFile(str(path), submit)
        for number in range(3):
            file.append(event(number))
        self.assertEqual(len(given), 1)
        file.close()
        step()
        self.assertEqual(len(given), 1)
        step()
        self.assertEqual((given, len(path.read_bytes().splitlines())), ([], 3))
        self.assertEqual(file._file._descriptor, -1)

"""The audit log: what is in it, and what happens to it under load, on a full disk and when files are rotated."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authorization import audit
from bookkeeper_twisted.authorization.access import AccessControl, Everybody
from bookkeeper_twisted.authorization.audit import INTERVAL, MOST_QUEUED, AuditLog
from bookkeeper_twisted.authorization.audit_file import AuditFile
from bookkeeper_twisted.authorization.interfaces import Permission
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import AuthorizationMetrics
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.testing.executor import StepExecutor

ALICE = Principal("sasl", "alice")


class AuditCase(SynchronousTestCase):
    """An audit log whose thread works when a test says so."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.clock = Clock()
        self.executor = StepExecutor()
        self.file = AuditFile(str(self.path))
        self.log = AuditLog(self.file, self.clock, lambda work, *args: self.executor.submit("audit", work, *args))

    def lines(self, path: Path | None = None) -> list[Any]:
        self.executor.drain()
        return [json.loads(line) for line in (path or self.path).read_text().splitlines()]

    def stop(self) -> None:
        stopping = self.log.stop()
        self.executor.drain()
        self.successResultOf(stopping)


class LineTests(AuditCase):
    """What is written."""

    def test_allowed(self) -> None:
        """A line says who has done what, when, from where and with what result; only the owner may read the file."""
        self.log.allowed(Principal("certificate", "CN=a\n" + "x" * 1000), "10.0.0.1:5", Permission.FENCE, 7)
        (line,) = self.lines()
        self.assertEqual(line, {
            "time": "1970-01-01T00:00:00.000+00:00", "kind": "certificate", "principal": "CN=a\n" + "x" * 251,
            "address": "10.0.0.1:5", "action": "fence", "ledger": 7, "result": "allowed",
        })  # fmt: skip
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)

    def test_refusals(self) -> None:
        """Refusals of a principal are one line a second, with their number."""
        for _ in range(100):
            self.log.refused(ALICE, "a:1", Permission.READ, 1, 10)
            self.log.refused(NOBODY, "b:1", Permission.WRITE, None, 1)
        self.assertEqual([line.get("count") for line in self.lines()], [10, None])
        self.clock.advance(INTERVAL)
        self.assertEqual([line.get("count") for line in self.lines()], [10, None, 990, 99])
        self.log.refused(ALICE, "a:2", Permission.LIST, 3, 1)
        self.assertEqual(len(self.lines()), 4)
        self.clock.advance(INTERVAL)
        self.assertEqual(self.lines()[4]["address"], "a:2")
        for _ in range(2):
            self.clock.advance(INTERVAL)
        self.assertEqual((len(self.lines()), self.clock.getDelayedCalls()), (5, []))

    def test_many_principals(self) -> None:
        """S11: the refusals of too many principals share lines without a name, and all are counted."""
        self.patch(audit, "_MOST_PRINCIPALS", 2)
        for i in range(5):
            self.log.refused(Principal("token", str(i)), "a:1", Permission.READ, 1, 1)
        self.stop()
        lines = self.lines()
        self.assertEqual([line["kind"] for line in lines], ["token", "token", "several"])
        self.assertEqual(lines[2]["count"], 3)

    def test_stop(self) -> None:
        """A stop writes what waits and what was only counted, and closes the file."""
        for _ in range(3):
            self.log.refused(ALICE, "a:1", Permission.READ, 1, 1)
        self.log.allowed(ALICE, "a:1", Permission.DELETE, 1)
        self.stop()
        self.assertEqual([line.get("count", 1) for line in self.lines()], [1, 1, 2])
        self.assertEqual((self.clock.getDelayedCalls(), self.file._descriptor), ([], -1))


class LoadTests(AuditCase):
    """A thread or a disk that does not keep up."""

    def fences(self, count: int) -> None:
        for ledger_id in range(count):
            self.log.allowed(ALICE, "a:1", Permission.FENCE, ledger_id)

    def test_full_queue(self) -> None:
        """Lines that do not fit into the queue are counted, and the count is a line; the order stays."""
        self.fences(1)
        self.fences(MOST_QUEUED + 5)
        lines = self.lines()
        self.assertEqual(len(lines), MOST_QUEUED + 2)
        self.assertEqual([line["count"] for line in lines if line["result"] == "lost"], [5])
        self.assertEqual([line["ledger"] for line in lines if "ledger" in line], [0, *range(MOST_QUEUED)])
        self.assertEqual(self.log.lost, 5)

    def fill_disk(self, room: int, others: bytes = b"") -> list[int]:
        """Let two lines be written, then only so many bytes; another process appends something at the first failure.

        :returns: a list with the room, which a test may change.
        """
        self.fences(2)
        self.lines()
        real, left, appended = os.write, [room], [others]

        def write(descriptor: int, data: bytes) -> int:
            if not left[0]:
                if appended:
                    other = os.open(self.path, os.O_WRONLY | os.O_APPEND)
                    real(other, appended.pop())
                    os.close(other)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            count = real(descriptor, data[: left[0]])
            left[0] -= count
            return count

        self.patch(os, "write", write)
        return left

    def test_full_disk(self) -> None:
        """What a full disk refuses is counted, no part of a line stays, and the count is written later."""
        room = self.fill_disk(30)
        with capturedLogs() as events:
            self.fences(1)
            self.executor.drain()
            self.assertEqual(len(self.lines()), 2)
            self.fences(3)
            self.executor.drain()
        logged = [formatEvent(event) for event in events]
        self.assertEqual(len(logged), 1)
        self.assertRegex(logged[0], "cannot be written, 1 lines are lost: .*No space")
        lost = self.log.lost
        room[0] = 1 << 30
        self.fences(1)
        self.stop()
        rest = self.lines()[2:]
        self.assertEqual(sum(line.get("count", 1) for line in rest if line["result"] == "lost"), lost)
        self.assertEqual(lost + sum(line["result"] == "allowed" for line in rest), 5)

    def test_full_within_many(self) -> None:
        """Of many lines in one write, those that are whole stay."""
        size = 150
        self.fill_disk(3 * size)
        with capturedLogs():
            written = self.file.write([b"%0149d\n" % number for number in range(2)] + [b"x" * size * 2 + b"\n"])
        self.assertEqual(written, 2)
        self.assertEqual(self.path.read_bytes().splitlines()[2:], [b"%0149d" % number for number in range(2)])

    def test_part_that_stays(self) -> None:
        """A part that cannot be removed, or has something of another process behind it, is ended by the next line."""

        def refused(descriptor: int, size: int) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        for others in (b"others", b""):
            room = self.fill_disk(30, others)
            if not others:
                self.patch(os, "ftruncate", refused)
            before = self.path.read_bytes()
            with capturedLogs():
                self.fences(1)
                self.executor.drain()
            room[0] = 1 << 30
            self.fences(1)
            self.executor.drain()
            self.assertEqual(len(self.path.read_bytes().removeprefix(before).splitlines()[0]), 30 + len(others))
            json.loads(self.path.read_bytes().splitlines()[-1])
            self.path.unlink()

    def test_failing_thread(self) -> None:
        """A thread that fails loses lines, which are counted, and a stop ends all the same."""
        log = AuditLog(self.file, self.clock, lambda work, *args: fail(ZeroDivisionError("no thread")))
        with capturedLogs():
            log.allowed(ALICE, "a:1", Permission.FENCE, 1)
            self.successResultOf(log.stop())
        self.assertEqual(log.lost, 1)


class RotationTests(AuditCase):
    """Files that are renamed."""

    def test_renamed(self) -> None:
        """After a rename lines go to a new file, and none is lost; so after a removal."""
        self.log.allowed(ALICE, "a:1", Permission.FENCE, 1)
        self.executor.drain()
        old = self.path.with_name(self.path.name + ".1")
        self.path.rename(old)
        self.log.allowed(ALICE, "a:1", Permission.FENCE, 2)
        self.assertEqual([line["ledger"] for line in self.lines()], [2])
        self.assertEqual([line["ledger"] for line in self.lines(old)], [1])
        self.path.unlink()
        self.log.allowed(ALICE, "a:1", Permission.FENCE, 3)
        self.assertEqual([line["ledger"] for line in self.lines()], [3])

    def test_cut_before_the_start(self) -> None:
        """The line that an earlier process has left without its end does not swallow the first one of this process."""
        path = self.mktemp()
        Path(path).write_bytes(b'{"a": 1}\n{"b"')
        file = AuditFile(path)
        file.open()
        self.assertEqual(file.write([b"{}\n"]), 1)
        file.close()
        self.assertEqual(Path(path).read_bytes(), b'{"a": 1}\n{"b"\n{}\n')

    def test_truncated(self) -> None:
        """A file that is copied and truncated is appended to from its beginning."""
        self.log.allowed(ALICE, "a:1", Permission.FENCE, 1)
        self.executor.drain()
        os.truncate(self.path, 0)
        self.log.allowed(ALICE, "a:1", Permission.FENCE, 2)
        self.assertEqual([line["ledger"] for line in self.lines()], [2])

    def test_odd_files(self) -> None:
        """A start refuses a link, a FIFO and a folder that is not there; it does not wait for a reader."""
        link, fifo = Path(self.mktemp()), Path(self.mktemp())
        link.symlink_to(self.path)
        os.mkfifo(fifo)
        for path in (link, fifo, Path("/nowhere/audit.log")):
            metrics = AuthorizationMetrics(Instruments(), [action.value for action in Permission])
            access = AccessControl(Everybody(), metrics, self.clock, AuditFile(str(path)))
            error = self.assertRaises(ConfigError, access.start, lambda work, *args: Deferred())
            self.assertIn("auditLogFile", str(error))

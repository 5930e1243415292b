"""A bookie's own state over HTTP."""

import json

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs

from bookkeeper_twisted.bookie.admin import DirectoryUsage, LastLogMark, Phase, StoredFiles
from bookkeeper_twisted.errors import InvalidCookieError, NotEnoughBookiesError
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from .http_case import HttpCase, captured, lines


class BookieApiTests(HttpCase):
    """Over a fake administration."""

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, Clock())

    def test_heartbeat(self) -> None:
        """It is OK while the bookie serves; else 503 and what it does instead."""
        self.assertEqual((self.ask("/heartbeat").status, self.ask("/heartbeat").body), (200, "OK\n"))
        for phase in (Phase.STARTING, Phase.STOPPING, Phase.STOPPED, Phase.FAILED):
            self.admin.phase = phase
            answer = self.ask("/heartbeat")
            self.assertEqual((answer.status, answer.body), (503, f"the bookie is {phase.value}\n"))
        self.admin.other_reasons = ("journal-0 failed",)
        self.assertEqual(self.ask("/heartbeat").body, "the bookie is failed: journal-0 failed\n")

    def test_heartbeat_by_any_method(self) -> None:
        """It is what Apache's bookie answers, by GET and by other methods."""
        for name, method in (("heartbeat", "GET"), ("wrong-method", "POST")):
            answer = self.ask("/heartbeat", method)
            self.assertEqual((answer.status, answer.body.rstrip("\n")), captured(name))

    def test_no_page(self) -> None:
        """A path without a page has Apache's page."""
        answer = self.ask("/api/v1/nothing")
        self.assertEqual((answer.status, answer.body), captured("not-found"))
        self.assertIn("Content-Type: text/html; charset=utf-8", answer.head)

    def test_state(self) -> None:
        """The state of a bookie that serves is what Apache's says, byte for byte; others differ as they should, and
        have reasons."""
        self.assertEqual(self.ask("/api/v1/bookie/state").body, captured("state")[1])
        self.admin.phase, self.admin.by_administrator, self.admin.high_priority_writes = Phase.STOPPING, True, False
        self.assertEqual(
            json.loads(self.ask("/api/v1/bookie/state").body),
            {
                "running": False, "readOnly": True, "shuttingDown": True, "availableForHighPriorityWrites": False,
                "reasons": ["an administrator has set it read-only"],
            },
        )

    def test_read_only(self) -> None:
        """Asked, and changed by a PUT."""
        path = "/api/v1/bookie/state/readonly"
        self.assertEqual(self.ask(path).body, captured("state-readonly")[1])
        self.assertEqual(json.loads(self.ask(path, "PUT", '{"readOnly" : true}').body), {"readOnly": True})
        self.assertTrue(self.admin.by_administrator)
        self.assertEqual(json.loads(self.ask(path, "PUT", '{"readOnly" : false}').body), {"readOnly": False})
        self.assertFalse(self.admin.by_administrator)

    def test_read_only_is_logged(self) -> None:
        """Who asked for a change is a line; who asks for what holds already makes none."""
        path = "/api/v1/bookie/state/readonly"
        with capturedLogs() as events:
            for wanted in ("true", "true", "false", "false"):
                self.ask(path, "PUT", f'{{"readOnly" : {wanted}}}')
        self.assertEqual(
            lines(events),
            [
                "info: the bookie is set read-only by 192.168.1.1:54321",
                "info: 192.168.1.1:54321 has the bookie set read-only no more",
            ],
        )

    def test_read_only_refused(self) -> None:
        """A body of something else, a bookie without that mode, and one with other reasons."""
        path = "/api/v1/bookie/state/readonly"
        for body in ("", "{}", '{"readOnly" : 1}', "[]", "[" * 50_000, '{"readOnly" : true, "force" : true}'):
            self.assertEqual(self.ask(path, "PUT", body).status, 400)
        self.assertFalse(self.admin.by_administrator)
        self.admin.other_reasons = ("a disk is full",)
        answer = self.ask(path, "PUT", '{"readOnly" : false}')
        self.assertEqual((answer.status, answer.body), (400, "Bookie stays read-only: a disk is full"))
        self.admin.values = {"readOnlyModeEnabled": "false"}
        self.assertEqual(self.ask(path, "PUT", '{"readOnly" : true}').status, 400)

    def test_is_ready(self) -> None:
        """As Apache's: 503 until it serves."""
        answer = self.ask("/api/v1/bookie/is_ready")
        self.assertEqual((answer.status, answer.body), (200, "OK"))
        self.admin.phase = Phase.STARTING
        self.assertEqual(self.ask("/api/v1/bookie/is_ready").status, 503)

    def test_info(self) -> None:
        """Bytes of all disks, a disk with two directories counted once."""
        self.admin.usage = (DirectoryUsage("/a", 100, 40), DirectoryUsage("/b", 100, 40), DirectoryUsage("/c", 10, 1))
        self.assertEqual(json.loads(self.ask("/api/v1/bookie/info").body), {"freeSpace": 41, "totalSpace": 110})
        self.admin.usage = (DirectoryUsage("/a", 100, 40), DirectoryUsage("/b", 7, 7, reason="it is gone"))
        self.assertEqual(json.loads(self.ask("/api/v1/bookie/info").body), {"freeSpace": 40, "totalSpace": 100})

    def test_files(self) -> None:
        """Names of journals, entry logs and indexes, of one kind or of all, as by Apache's bookie."""
        path = "/api/v1/bookie/list_disk_file"
        logs = ("000009.log", "000009.log", *(f"{number:x}.log" for number in (*range(2, 9), *range(10, 21))))
        self.admin.stored = StoredFiles(("1a1fbbc8c1a.txn", "1a1fbbc8c1b.txn"), logs, ())
        self.assertEqual(self.ask(path).body, captured("list_disk_file")[1])
        self.assertEqual(self.ask(path + "?file_type=journal").body, captured("list_disk_file-journal")[1])
        self.assertEqual(json.loads(self.ask(path + "?file_type=index").body), {"index files": ""})
        self.assertEqual(len(json.loads(self.ask(path + "?file_type=other").body)), 3)

    def test_marks(self) -> None:
        """The mark of each journal, byte for byte as by Apache's bookie."""
        self.admin.stored_log_marks = (LastLogMark(0x1A1FBBC8C1B, 248320),)
        answer = self.ask("/api/v1/bookie/last_log_mark")
        self.assertEqual((answer.status, answer.body), captured("last_log_mark"))
        self.admin.stored_log_marks = (LastLogMark(1, 2), LastLogMark(3, 4))
        self.assertEqual(len(json.loads(self.ask("/api/v1/bookie/last_log_mark").body)), 2)

    def test_expand_storage(self) -> None:
        """All directories of the configuration belong to the bookie, or it is said which one does not."""
        path = "/api/v1/bookie/expand_storage"
        answer = self.ask(path, "PUT")
        self.assertEqual((answer.status, answer.body), captured("expand_storage"))
        self.admin.wrong_directories = InvalidCookieError("/l2 has no cookie")
        answer = self.ask(path, "PUT")
        self.assertEqual((answer.status, answer.body.splitlines()[1]), (500, "/l2 has no cookie"))
        self.assertEqual(self.ask(path).status, 404)


class SanityTests(HttpCase):
    """The check that writes and reads."""

    path = "/api/v1/bookie/sanity"

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin()
        self.checks: list[Deferred[bool]] = []
        self.site = make_site(self.admin, Clock(), check_sanity=self._check)

    def _check(self) -> "Deferred[bool]":
        self.checks.append(Deferred())
        return self.checks[-1]

    def settle(self) -> None:
        """Ends a check well, if there is one."""
        for check in self.checks:
            if not check.called:
                check.callback(True)

    def test_passed(self) -> None:
        """It says so in the layout of Apache's bookie."""
        answer = self.ask(self.path)
        self.assertEqual((answer.status, answer.body), captured("sanity"))

    def test_failed(self) -> None:
        """A check that fails, or reads other entries, has not passed; the next one may."""
        for outcome in (fail(NotEnoughBookiesError("no bookie")), succeed(False)):
            site, self.site = self.site, make_site(self.admin, Clock(), check_sanity=lambda o=outcome: o)  # type: ignore
            self.assertEqual(json.loads(self.ask(self.path).body), {"passed": False, "readOnly": False})
            self.site = site
        self.assertTrue(json.loads(self.ask(self.path).body)["passed"])

    def test_read_only(self) -> None:
        """A bookie that is read-only is not checked, and one that does not serve neither."""
        self.admin.by_administrator = True
        self.assertEqual(json.loads(self.ask(self.path).body), {"passed": False, "readOnly": True})
        self.admin.phase = Phase.STOPPING
        self.assertEqual(self.ask(self.path).status, 503)
        self.assertEqual(self.checks, [])

    def test_one_at_a_time(self) -> None:
        """A second request waits for the check of the first."""
        self.settle = lambda: None  # type: ignore[method-assign]
        channels = []
        for _ in range(2):
            channel, transport = self.site.buildProtocol(None), StringTransport()
            channel.makeConnection(transport)
            channel.dataReceived(f"GET {self.path} HTTP/1.0\r\n\r\n".encode())
            channels.append((channel, transport))
        self.site.reactor.advance(0)
        self.assertEqual(len(self.checks), 1)
        self.checks[0].callback(True)
        self.assertEqual(len(self.checks), 2)
        self.assertIn(b"passed", channels[0][1].value())
        self.checks[1].callback(True)
        for channel, _ in channels:
            channel.timeOut = None
            channel.connectionLost(None)

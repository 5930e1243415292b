"""``top``."""

import json
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_twisted.cli.top.load import COLUMNS, title_line
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import MetadataUnavailableError, RequestTimeoutError
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint

from ..shell_case import BOOKIES, ShellCase


class _FakeScreen:
    """A screen in memory.

    :ivar frames: what was drawn.
    """

    has_colours = False

    def __init__(self) -> None:
        self.frames: list[list[str]] = []
        self.on_key: Any = None
        self.on_resize: Any = None
        self.columns, self.lines = 120, 20
        self.is_open = False

    def __enter__(self) -> "_FakeScreen":
        self.is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open = False

    def size(self) -> tuple[int, int]:
        """Its columns and lines."""
        return self.columns, self.lines

    def draw(self, lines: list[str]) -> None:
        """Takes a frame."""
        self.frames.append(lines)


class TopCase(ShellCase):
    """Two bookies with HTTP servers beside two without.

    :ivar pages: answers of the HTTP servers, by URL: functions that return a Deferred.
    :ivar adds: of each bookie with a server, so far.
    """

    def setUp(self) -> None:
        super().setUp()
        self.adds = {0: 100, 1: 5000}
        self.pages: dict[str, Any] = {}
        for number in self.adds:
            self.publish(number, read_only=False)

    def publish(self, number: int, read_only: bool) -> None:
        """Registers a bookie with its server."""
        endpoints = (
            Endpoint("bookie", "127.0.0.1", 3281 + number, "bookie-rpc"),
            Endpoint("httpserver", "127.0.0.1", 8281 + number, "http"),
        )
        info = BookieServiceInfo(endpoints)
        self.do(self.cluster.registration.register_bookie(BOOKIES[number], read_only, info))

    def _http(self, method: str, url: str, body: bytes, config: ClientConfig) -> "Deferred[tuple[int, bytes]]":
        if url in self.pages:
            found: Deferred[tuple[int, bytes]] = self.pages[url]()
            return found
        number = int(url.split(":")[2].split("/")[0]) - 8281
        if url.endswith("/api/v1/bookie/state"):
            return succeed((200, b'{"readOnly": true, "reasons": ["no space", "asked to"]}'))
        self.adds[number] += 40 * (number + 1)
        return succeed((200, b"bookkeeper_server_ADD_ENTRY_REQUEST_count %d\n" % self.adds[number]))

    def url(self, number: int, path: str = "/metrics") -> str:
        """Of a page."""
        return f"http://127.0.0.1:{8281 + number}{path}"


class OnceTests(TopCase):
    """One table."""

    def setUp(self) -> None:
        super().setUp()
        self.tick = 1.0

    def test_table(self) -> None:
        """Without a terminal two samples make one table, in the order that is wanted."""
        self.assertEqual(self.shell("top", "-sort", "adds", "-interval", "4"), 0, self.complaints)
        self.assertEqual(self.printed[0], title_line(COLUMNS))
        first, second, *others = (text.split()[1] for text in self.printed[1:])
        self.assertEqual((int(first), others), (2 * int(second), ["-", "-"]))
        self.assertEqual([text.split()[9] for text in self.printed[1:3]], [BOOKIES[1], BOOKIES[0]])
        self.assertIn(f"{BOOKIES[2]}  has no HTTP server: ", self.printed[3])

    def test_once(self) -> None:
        """So it is on a terminal if one table is wanted."""
        self.screen = _FakeScreen()
        self.assertEqual(self.shell("top", "-once"), 0)
        self.assertEqual((len(self.printed), self.screen.frames), (5, []))

    def test_json(self) -> None:
        """As JSON, on a terminal too; what is known of a bookie without a server is its state and its disk."""
        self.screen = _FakeScreen()
        found = self.rows("top")
        self.assertEqual([each["bookieId"] for each in found], sorted(BOOKIES))
        self.assertEqual((found[0]["state"], found[0]["note"]), ("writable", ""))
        self.assertGreater(found[0]["addsPerSecond"], 0)
        self.assertEqual((found[2]["addsPerSecond"], found[2]["diskUse"]), (None, 50.0))

    def test_states(self) -> None:
        """A read-only bookie says why; one that is not registered is down."""
        self.publish(0, read_only=True)
        self.do(self.cluster.registration.write_cookie("127.0.0.1:9", b"5\n", None))
        found = {each["bookieId"]: each for each in self.rows("top")}
        self.assertEqual((found[BOOKIES[0]]["state"], found[BOOKIES[0]]["note"]), ("readOnly", "no space; asked to"))
        self.assertEqual((found["127.0.0.1:9"]["state"], found["127.0.0.1:9"]["note"]), ("down", "not registered"))

    def test_no_answer(self) -> None:
        """A server that is silent, gone or something else is a note; the other bookies are shown."""
        for answer, note in (
            (Deferred, "no answer in 2 s"), (lambda: fail(OSError("refused")), "refused"),
            (lambda: succeed((401, b"")), "its HTTP server answered with status 401"),
            (lambda: succeed((200, b"<html>")), "its HTTP server does not answer as a bookie does"),
        ):  # fmt: skip
            self.pages = {self.url(0): answer}
            found = self.rows("top")
            self.assertEqual((found[0]["note"], found[0]["addsPerSecond"]), (note, None))
            self.assertGreater(found[1]["addsPerSecond"], 0)

    def test_no_reason(self) -> None:
        """A read-only bookie that does not say why is read-only all the same; so is one without disk figures."""
        self.publish(0, read_only=True)
        self.bookies[BOOKIES[2]].fail("bookie_info", lambda: RequestTimeoutError("no reply in time"))
        for body in (b"[]", b"{}", b"<html>", json.dumps({"reasons": 5}).encode()):
            self.pages = {self.url(0, "/api/v1/bookie/state"): partial(succeed, (200, body))}
            found = self.rows("top")
            self.assertEqual((found[0]["note"], found[2]["diskUse"]), ("read-only", None))

    def test_arguments(self) -> None:
        """Intervals and orders that there are not are refused."""
        for arguments in (("-interval", "0"), ("-interval", "1e9"), ("-interval", "nan"), ("-sort", "x"), ("-i",)):
            self.assertEqual(self.shell("top", *arguments), 255)
            self.assertTrue(self.complaints[0].startswith("ERROR: argument "), self.complaints)


class LiveTests(TopCase):
    """A table on a terminal."""

    def setUp(self) -> None:
        super().setUp()
        self.screen = _FakeScreen()
        self.running = self.begin("top", "-interval", "2")
        self.addCleanup(self._end)
        self.settle()

    def _end(self) -> None:
        self.screen.on_key("q")
        self.settle()

    def frame(self) -> list[str]:
        """The last one."""
        frame: list[str] = self.screen.frames[-1]
        return frame

    def wait(self) -> None:
        """An interval passes."""
        self.clock.advance(2)
        self.settle()

    def test_quit(self) -> None:
        """It draws once an interval, until ``q`` ends it and gives the terminal back."""
        self.assertNoResult(self.running)
        self.assertEqual(self.frame()[0], "4 bookies: 4 writable, 0 readOnly, 0 down; every 2 s, by bookie")
        self.assertEqual(self.frame()[3].split()[1], "-")
        self.wait()
        self.assertEqual(self.frame()[3].split()[1], "20")
        drawn = len(self.screen.frames)
        self.clock.advance(1)
        self.assertEqual(len(self.screen.frames), drawn)
        self.screen.on_key("q")
        self.assertEqual((self.do(self.running), self.screen.is_open, self.printed), (0, False, []))
        self.assertEqual([call for call in self.clock.getDelayedCalls() if call.active()], [])

    def test_order(self) -> None:
        """A key sorts at once; others do nothing."""
        self.wait()
        self.screen.on_key("x")
        self.assertIn(BOOKIES[0], self.frame()[3])
        self.screen.on_key("a")
        self.assertIn(BOOKIES[1], self.frame()[3])
        self.assertIn("by adds", self.frame()[0])

    def test_size(self) -> None:
        """After a change of the size the table fits."""
        self.screen.columns, self.screen.lines = 40, 6
        self.screen.on_resize()
        self.assertEqual(len(self.frame()), 6)
        self.assertTrue(all(len(line) <= 40 for line in self.frame()))
        self.assertEqual(self.frame()[-1], "and 2 more")

    def test_bookies_come_and_go(self) -> None:
        """A bookie that dies is down if it has a cookie; when it is back its rates begin anew."""
        self.do(self.cluster.registration.write_cookie(BOOKIES[0], b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(BOOKIES[0]))
        self.wait()
        self.assertIn(f"{BOOKIES[0]}  not registered", self.frame()[3])
        self.adds[0] = 0
        self.publish(0, read_only=False)
        self.wait()
        self.assertEqual(self.frame()[3].split()[:2], ["writable", "-"])
        self.wait()
        self.assertEqual(self.frame()[3].split()[1], "20")

    def test_silent_bookie(self) -> None:
        """``q`` does not wait for a bookie that does not answer."""
        self.pages = {self.url(0): Deferred}
        self.wait()
        self.assertNoResult(self.running)
        self.screen.on_key("q")
        self.assertEqual(self.do(self.running), 0)

    def test_no_metadata(self) -> None:
        """While the metadata store fails the first line says so, and the table stays."""
        registration = type(self.cluster.registration)
        before = registration.writable_bookies

        async def failed(*_: object) -> None:
            raise MetadataUnavailableError("no connection")

        self.patch(registration, "writable_bookies", failed)
        self.wait()
        self.assertEqual((self.frame()[0], len(self.frame())), ("no connection", 7))
        self.patch(registration, "writable_bookies", before)
        self.wait()
        self.assertIn("4 bookies", self.frame()[0])

    def test_closed_terminal(self) -> None:
        """The end of the terminal ends it."""
        self.screen.on_key("")
        self.assertEqual(self.do(self.running), 0)

    def test_interrupted(self) -> None:
        """Ctrl-C ends it with the status of an interrupted command; the terminal is given back first."""
        self.running.cancel()
        self.assertEqual((self.do(self.running), self.screen.is_open), (130, False))
        self.assertEqual(self.complaints, ["top: interrupted"])

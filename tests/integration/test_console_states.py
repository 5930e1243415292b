"""The console in a real browser, over states that a test makes: what is late, has failed, or is elsewhere."""

import json
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import SkipTest

import attrs
from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTCP
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.trial.unittest import TestCase
from twisted.web.server import NOT_DONE_YET

from benchmarks.shared.browser import missing
from bookkeeper_twisted.bookie.admin import DirectoryUsage
from bookkeeper_twisted.bookie.group_commit import QUEUE
from bookkeeper_twisted.bookie.requests.slow_requests import ROOM, TURN, SlowRequest
from bookkeeper_twisted.http.console.diagnosis import bottleneck
from bookkeeper_twisted.http.console.stream import StreamPage
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from .test_console import PATIENCE, Visit

_ANSWERED = """{
const answers = %s, real = window.fetch;
window.fetch = (path, options) => {
  const found = Object.entries(answers).find(([begin]) => path.startsWith(begin));
  if (!found) return real(path, options);
  const { failure } = found[1];
  if (failure) return Promise.resolve(new Response(failure[1], { status: failure[0] }));
  if (typeof found[1] !== 'string') return Promise.resolve(new Response(JSON.stringify(found[1])));
  const start = (controller) => controller.enqueue(new TextEncoder().encode(found[1]));
  return Promise.resolve(new Response(new ReadableStream({ start })));
};
}"""
"""A script that answers requests of the page, by the beginning of their paths; a text is a stream that does not end,
and an object with the member "failure" is the status and the text of another answer.

Of several scripts, the last one that was given is asked first.
"""

_STREAM = "/api/v1/console/stream"
CLUSTER = {"bookies": {"b:1": {"id": "b:1", "state": "writable", "total": 10, "free": 5, "since": None}}, "safe": []}


class AdminOfGoneDirectory(FakeBookieAdmin):
    """Cannot measure its disks at all while a test lets it fail."""

    fails = False

    def disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        return fail(OSError("no answer")) if self.fails else super().disks()


class ConsoleStatesCase(TestCase):
    """The files of the page come from a server, and what they show from a test."""

    timeout = 120

    def setUp(self) -> Any:
        if lacking := missing():
            raise SkipTest(lacking)
        tcp: Any = IReactorTCP(reactor)
        self.admin = AdminOfGoneDirectory()
        self.site = make_site(self.admin, reactor)
        port = tcp.listenTCP(0, self.site, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        return self.open(f"http://127.0.0.1:{port.getHost().port}")

    async def open(self, url: str) -> None:
        """Start the browser."""
        self.visit = await deferToThread(Visit, url, Path(tempfile.gettempdir()))
        self.addCleanup(deferToThread, self.visit.close)

    def given(self, state: object, **answers: object) -> None:
        """Let the pages that are opened next have a state, and answers to some requests."""
        self.given_events(f"id: 1-1\nevent: snapshot\ndata: {json.dumps(state)}\n\n", **answers)

    def given_events(self, events: str, **answers: object) -> None:
        """Let the pages that are opened next have a stream, and answers to some requests."""
        made = {_STREAM: events} | {f"/api/v1/console/{name}": answer for name, answer in answers.items()}
        source = _ANSWERED % json.dumps(made)
        self.visit.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})


class ConsoleStatesTests(ConsoleStatesCase):
    """What is late, has failed, or is elsewhere."""

    async def test_late(self) -> None:
        """While the cluster cannot be read, the line says that what it has of the cluster is old, and since when."""
        await deferToThread(self._late)

    def _late(self) -> None:
        self.given({"work": None, "cluster": CLUSTER, "late": {"cluster": 1_700_000_000}})
        self.visit.home()
        line = self.visit.wait("#line", "1 live")
        self.assertTrue(line.startswith("what is said of the cluster is OLD: reading it takes since 2023-11-1"), line)

    async def test_gone(self) -> None:
        """A directory that is gone is a row with its reason, beside the numbers of the others."""
        self.admin.usage = (*self.admin.usage, DirectoryUsage("/gone", 0, 0, reason="[Errno 2] No such file"))
        await deferToThread(self._gone)

    def _gone(self) -> None:
        self.visit.home()
        self.visit.wait("main table", "/ledgers: 60.0 % used; /gone: cannot be measured: [Errno 2] No such file")
        self.visit.wait("main table", "/gone: cannot be measured: [Errno 2] No such file")
        self.visit.click("When will the disk be full?")
        self.visit.wait("main table", "/gone cannot be measured: [Errno 2] No such file")
        self.assertEqual(self.visit.errors(), [])

    async def test_not_run(self) -> None:
        """Of a kind of compaction that has not run, no end is told; of one that has, its end, or its cancellation."""
        self.admin.work.majors, self.admin.work.last_major = 2, 1_700_000_000.0
        await deferToThread(self._not_run)
        self.admin.work.cancelled_major = 1_700_100_000.0
        await deferToThread(self.visit.wait, "main dl", "major compaction\nlast cancelled 2023-11-1")

    def _not_run(self) -> None:
        self.visit.home()
        self.visit.click("Jobs and limits")
        self.visit.wait("main dl", "minor compaction\nhas not run, 0 since")
        self.visit.wait("main dl", "major compaction\nlast ended 2023-11-1")

    async def test_unread(self) -> None:
        """A part that cannot be read has the error, and what stood there is old; all is well when it can be read."""
        await deferToThread(self._read)
        self.admin.fails = True
        await deferToThread(self._unread)
        self.admin.fails = False
        await deferToThread(self._read_again)

    def _read(self) -> None:
        self.visit.home()
        self.visit.wait("main table", "Why is this bookie read-only? it is not")

    def _unread(self) -> None:
        self.visit.wait("main table", ": no answer; OLD: it is not")
        self.visit.wait("#line", ": no answer; what is said of it is OLD")
        self.visit.click("This bookie")
        self.visit.wait("#old", ": no answer; what is shown of it is OLD")
        self.visit.wait("main table", "/ledgers")
        self.visit.home()
        self.visit.wait("main table", "Why is this bookie read-only? cannot be read since ")
        self.visit.wait("main table", "What is slow, disk or network or queue? slowRequestThresholdMs is 0")
        self.assertEqual(self.visit.driver.find_element("css selector", "#link").text, "")

    def _read_again(self) -> None:
        self.visit.wait("main table", "Why is this bookie read-only? it is not")
        self.assertNotIn("OLD", self.visit.driver.find_element("css selector", "body").text)
        self.assertEqual(self.visit.errors(), [])

    async def test_broken(self) -> None:
        """A part that the page cannot show is told of, and does not end the stream."""
        await deferToThread(self._broken)

    def _broken(self) -> None:
        self.given({"work": None, "bookie": {"phase": "serving"}, "repair": {"count": 0, "limit": "nothing"}})
        self.visit.home()
        self.visit.wait("#message", "this page cannot show all that the server sent: Cannot read properties")
        self.assertEqual(self.visit.driver.find_element("css selector", "#link").text, "")

    async def test_no_answer(self) -> None:
        """A bookie that does not answer is not live, and comes first in the list, with the reason; the line says why
        the cluster cannot be read.
        """
        await deferToThread(self._no_answer)

    def _no_answer(self) -> None:
        row = {"id": "b:2", "state": "writable", "total": None, "free": None, "since": None, "url": "",
               "why": "no answer within 2 s", "silentSince": 1_700_000_000}  # fmt: skip
        self.given({"work": None, "cluster": {**CLUSTER, "bookies": {**CLUSTER["bookies"], "b:2": row}},  # type: ignore[dict-item]
                    "late": {"cluster": 1_700_000_000}, "whyLate": {"cluster": "no ZooKeeper"}})  # fmt: skip
        self.visit.home()
        line = self.visit.wait("#line", "1 live")
        self.assertRegex(line, "reading it takes since 2023-11-1.* .no ZooKeeper., ")
        self.assertRegex(line, "0 unavailable, 1 DO NOT ANSWER .b:2 since 2023-11-1")
        self.visit.click("Bookies")
        shown = self.visit.wait("main tbody tr:has(td)", "does not answer")
        self.assertIn("registered as writable; no answer within 2 s", shown)
        self.assertIn("2023-11-1", shown)

    async def test_failed(self) -> None:
        """The overview says why a decommission has failed, and does not count it as draining."""
        await deferToThread(self._failed)

    def _failed(self) -> None:
        failed = {"name": "decommission of bookie b:2", "began": 1_700_000_000, "failure": "no ZooKeeper",
                  "advice": "begin it again", "left": 3}  # fmt: skip
        self.given({"work": None, "operations": [failed]})
        self.visit.home()
        self.visit.wait("#line", "0 draining")
        self.visit.wait("main table", "decommission of bookie b:2: FAILED, begin it again: no ZooKeeper")
        self.visit.click("Why does the decommission not end?")
        self.visit.wait("main", "FAILED, begin it again: no ZooKeeper")

    async def test_without_store(self) -> None:
        """A decommission that waits for the metadata store is draining, and says for what it waits."""
        await deferToThread(self._without_store)

    def _without_store(self) -> None:
        waiting = {"name": "decommission of bookie b:2", "began": 1_700_000_000, "unreachable": "no ZooKeeper",
                   "found": 4, "left": 3, "eta": 9, "blockers": []}  # fmt: skip
        self.given({"work": None, "operations": [waiting]})
        self.visit.home()
        self.visit.wait("#line", "1 draining")
        self.visit.wait("main table", "decommission of bookie b:2: waits for the metadata store: no ZooKeeper")
        self.visit.click("Why does the decommission not end?")
        self.visit.wait("main", "waits for the metadata store, and continues when it is back: no ZooKeeper")

    async def test_elsewhere(self) -> None:
        """In a process without a bookie, questions that only a bookie can answer lead to the bookies."""
        await deferToThread(self._elsewhere)

    def _elsewhere(self) -> None:
        limit = {"grantedEntries": 1, "grantedBytes": 1, "waitedSeconds": 0, "waiters": 0, "entriesPerSecond": 0,
                 "bytesPerSecond": 0, "users": [f"replication of ledger {n}" for n in range(40)]}  # fmt: skip
        self.given({"throttles": {"limiters": {"read": limit}}, "cluster": CLUSTER})
        self.visit.home()
        self.visit.click("Jobs and limits")
        self.visit.wait("main", "ledger 0, replication of ledger 1, replication of ledger 2 and 37 more")
        for name in ("force-gc", "suspend-compaction", "start-scrub"):
            self.assertFalse(self.visit.driver.find_element("css selector", f"#{name}").is_displayed(), name)
        self.visit.home()
        self.visit.wait("main table", "this process has no bookie")
        self.visit.click("Who holds this disk?")
        self.visit.wait("main", "1 of 1 bookies")

    async def test_disk(self) -> None:
        """The page of a disk says how much of it is no entry log; a slow request may have no ledger."""
        await deferToThread(self._disk)

    def _disk(self) -> None:
        disk = {"directory": "/d", "total": 1 << 30, "free": 0, "growthPerDay": None, "daysUntilFull": 0}
        slow = {"last": 1, "records": [[1_700_000_000, "BOOKIE_INFO", "c", -1, -1, 1, 7.0, "a read of the disk"]]}
        own = {"reasons": [], "disks": [disk], "id": "b:1", "address": "a", "phase": "serving", "readOnly": False}
        work: dict[str, object] = {"collection": {"directories": {"/d/current": {}}}}
        self.given(
            {"bookie": own, "work": work, "slow": [slow]},
            disk_ledgers={"ledgers": {"7": 1 << 20}, "freed": {}, "stays": "", "logs": 1, "left": 0, "next": None},
            ledger={"state": "CLOSED", "custom": {}},
        )  # fmt: skip
        self.visit.ask("Who holds this disk?")
        self.visit.wait("#holders", "1.0 GiB used of 1.0 GiB: 1023 MiB are other files")
        self.visit.ask("Why is this bookie read-only?")
        self.visit.wait("main", "BOOKIE_INFO")
        script = "return [...document.querySelectorAll('main a')].map(each => each.hash)"
        links = self.visit.driver.execute_script(script)
        self.assertNotIn("#/ledger?id=-1", links)

    async def test_owners(self) -> None:
        """A ledger is deleted only if the server says that it does not exist; else its owner is unknown, and why."""
        await deferToThread(self._owners)

    def _owners(self) -> None:
        work: dict[str, object] = {"collection": {"directories": {"/d/current": {}}}}
        sizes = {"7": 300, "8": 200, "9": 100, "5": 60, "4": 50}
        given = {"ledgers": sizes, "freed": {"7": 9, "8": 200, "5": 20}, "stays": "until", "logs": 1, "left": 0}
        self.given({"work": work}, disk_ledgers={**given, "next": None}, **{
            "ledger?ledger_id=7": {"failure": [500, "no metadata store"]},
            **{f"ledger?ledger_id={each}": {"failure": [404, f"Not Found\nledger {each} does not exist"]}
               for each in (8, 5, 4)},
            "ledger?ledger_id=9": {"failure": [404, "No Such Resource"]},
        })  # fmt: skip
        self.visit.ask("Who holds this disk?")
        self.visit.wait("#holders", "5 ledgers hold")
        rows = [each.text for each in self.visit.driver.find_elements("css selector", "#holders tbody tr")]
        self.assertEqual([row.partition(" % ")[2] for row in rows], [
            "unknown unknown, as it cannot be read: no metadata store",
            "deleted: a collection with compaction frees it",
            "unknown unknown, as it cannot be read: No Such Resource",
            "deleted: a collection with compaction frees 20 B; 40 B stay until", "deleted: its bytes stay until",
        ])  # fmt: skip

    async def test_answers(self) -> None:
        """Disks that fill, a compaction that frees space, and what is slow, are told in the words of an operator."""
        await deferToThread(self._answers)

    def _answers(self) -> None:
        disks = [
            {"directory": f"/{name}", "total": 1 << 30, "free": 1 << 28, "growthPerDay": 1 << 20, "daysUntilFull": left}
            for name, left in (("slow", 12.3456), ("soon", 0.03), ("now", 0.0), ("never", None))
        ]
        disks.append(disks[2] | {"directory": "/j", "journal": True, "warning": "0 bytes are left"})
        disks.append(disks[0] | {"directory": "/i", "index": True})
        own = {"reasons": [], "disks": disks, "id": "b:1", "address": "a", "phase": "serving", "readOnly": False}
        logs = {
            "logs": 2, "bytes": 3 << 30, "live": 1 << 30, "deletable": 1 << 30, "page": [["/d", 26, 2 << 30, 1 << 30]],
            "obstacles": ["the index takes no changes"],
            "major": {"logs": 1, "freed": 1 << 30, "copied": 1 << 30, "obstacles": ["a disk is full"]},
            "minor": {"logs": 0, "freed": 0, "copied": 0, "obstacles": []},
            "leftOut": [{"directory": "/d", "log": "1b.log", "reason": "wrong digest"}],
            "directories": [{"directory": "/d", "measured": 1_700_000_000, "reason": "the disk is silent"}],
            "deletedLedgers": {"count": 3, "read": 1_700_000_000, "unreadSince": 1_700_000_005, "reason": "away"},
        }  # fmt: skip
        for waited_for, verdict in ((TURN, "the network: "), (QUEUE, "the queue: "), (ROOM, "the queue: ")):
            request = SlowRequest(1.0, "ADD_ENTRY", "c", 7, 0, 1, 2500.0, waited_for)
            latency = attrs.asdict(bottleneck((), [request], 1.0, "5")) | {"threshold": "5"}
            self.given({"bookie": own, "work": {}, "latency": latency}, entry_logs=logs)
            self.visit.ask("What is slow, disk or network or queue?")
            self.visit.until(lambda driver: driver.execute_script(
                "return document.getElementById('threshold')?.value === '5'"
            ), "threshold in force")  # fmt: skip
            self.assertEqual(self.visit.wait("#verdict"), f"{verdict}slow requests waited longest for {waited_for}")
            self.visit.wait("main table", f"{waited_for} 2.5")
        self.visit.home()
        self.visit.wait("main table", "/slow: full in 12.3 days; /soon: full in 43 min; /now: full now; /never: not")
        self.visit.wait("main table", "/j (journal): 0 bytes are left; full now; /i (index): full in 12.3 days")
        line = self.visit.wait("#line", "this bookie is serving")
        self.assertTrue(line.startswith("this bookie is serving, DISK /j (journal): 0 bytes are left"), line)
        self.visit.click("What would a compaction win?")
        self.assertEqual(self.visit.wait("#gain-major"), "would free 1.0 GiB of 1 logs and copy 1.0 GiB")
        self.visit.wait("main", "deletes logs without live bytes: 1.0 GiB IN THE WAY: the index takes no changes")
        self.visit.wait(".unmeasured", "/d: the disk is silent; its numbers are of 2023-11-1")
        self.visit.wait(".obstacle", "IN THE WAY: a disk is full")
        self.visit.wait(".left-out", "/d: 1b.log: wrong digest")
        self.visit.wait("#deleted-ledgers", "3 are deleted in metadata (read 2023-11-1")
        self.visit.wait("#deleted-ledgers strong", "metadata cannot be read since 2023-11-1")

    async def test_many_tabs(self) -> None:
        """Any number of tabs shows the console, as hidden ones hold no connection; a tab goes on when it is shown."""
        await deferToThread(self._many_tabs)

    def _many_tabs(self) -> None:
        driver = self.visit.driver
        driver.set_page_load_timeout(PATIENCE)
        for number in range(8):
            if number:
                driver.switch_to.new_window("tab")
            self.visit.home()
            self.visit.wait("#line", "this bookie is")
        driver.switch_to.window(driver.window_handles[0])
        self.visit.until(lambda driver: driver.execute_script(
            "return !document.hidden && document.getElementById('link').textContent === ''"
        ), "connected page")  # fmt: skip

    async def test_no_page(self) -> None:
        """An address that names no page shows the overview, also if all objects of JavaScript have this name."""
        await deferToThread(self._no_page)

    def _no_page(self) -> None:
        for name in ("constructor", "__proto__", "nonsense"):
            self.visit.driver.get("about:blank")
            self.visit.driver.get(f"{self.visit.url}/console#/{name}")
            self.assertEqual(self.visit.wait("#title"), "Overview")
            self.visit.wait("#message", f"there is no page {name}; this is the overview")
        self.assertEqual(self.visit.errors(), [])

    async def test_high_ids(self) -> None:
        """Ids that a number of JavaScript cannot hold are shown and linked as they are; so is what an entry has."""
        await deferToThread(self._high_ids)

    def _high_ids(self) -> None:
        high = "9007199254740993"
        row = {"id": high, "length": 1, "last": high, "ensemble": 1, "writeQuorum": 1, "ackQuorum": 1, "ctime": 1,
               "replicas": 1, "bookies": ["b:1"], "absent": [], "custom": {}, "state": "CLOSED"}  # fmt: skip
        replica = {"bookie": "b:1", "verdict": "ok", "level": "good", "same": True, "differsAt": None, "size": 16,
                   "lac": high, "length": 1, "hex": high.encode().hex()}  # fmt: skip
        self.given({"work": None, "page": None}, **{
            "ledgers?": {"ledgers": [row], "undecoded": [], "scanned": 1, "next": None},
            f"entry?ledger_id={high}&entry_id={high}":
                {"verdict": "found", "level": "good", "same": True, "replicas": [replica]},
        })  # fmt: skip
        self.visit.home()
        self.visit.click("Ledgers")
        self.visit.wait("main .scroll", f"{high} CLOSED 1 B 9,007,199,254,740,994 1 of 1")
        links = self.visit.driver.execute_script("return [...document.querySelectorAll('td a')].map(each => each.hash)")
        self.assertEqual(links, [f"#/ledger?id={high}"])
        script = "location.hash = '#/entry?ledger=' + arguments[0] + '&entry=' + arguments[0]"
        self.visit.driver.execute_script(script, high)
        self.visit.wait("#same", "found")
        views = self.visit.driver.find_elements("css selector", "#replicas summary")
        self.assertEqual([each.text for each in views], ["text", "hex"])

    async def test_many_events(self) -> None:
        """Of too many events, the page shows those next to the asked time, says how many it leaves out."""
        for number in range(700):
            Logger("bookkeeper_twisted.bookie.lifecycle.registration").info(
                "event {ledger_id}", ledger_id=number
            )  # fmt: skip
        await deferToThread(self._many_events, datetime.now().strftime("%H:%M"))

    def _many_events(self, clock: str) -> None:
        self.visit.home()
        self.visit.click("Events")
        self.visit.wait("#left", "500 of 700 events. ")
        self.visit.wait("main .scroll", "event 699")
        self.visit.click("Show 200 of the 200 earlier ones that are left out")
        self.visit.wait("#left", "All 700 events.")
        self.visit.driver.execute_script("location.hash = '#/events?at=' + arguments[0]", clock)
        self.visit.wait("#left", "500 of 700 events, next to this time.")
        self.visit.wait("#left", "The oldest event that is kept is of")
        self.visit.wait("main .scroll", "event 499")
        self.visit.click("Show 200 of the 200 later ones that are left out")
        self.visit.wait("#left", "All 700 events from ten minutes before to ten minutes after.")
        self.visit.wait("main .scroll", "event 699")
        self.assertEqual(self.visit.errors(), [])

    async def test_hung(self) -> None:
        """A page whose server sends nothing any more says that it is old, and of when; it goes on when it can."""
        pages: Any = self.site.resource
        (stream,) = [page for page in pages._pages.values() if isinstance(page, StreamPage)]
        await deferToThread(self._hears)
        sends = self.patch(stream._feed, "_send", lambda event: None)
        renders = self.patch(stream, "render", lambda request: NOT_DONE_YET)
        await deferToThread(self.visit.wait, "#link", "what is shown is OLD: it is of ")
        await deferToThread(self.visit.wait, "#link", "not connected: the server does not answer; trying again")
        for patched in (sends, renders):
            patched.restore()
        await deferToThread(self._hears)

    def _hears(self) -> None:
        if not self.visit.clicks:
            self.visit.home()
            self.visit.click("Events")
        self.visit.wait("#line", "this bookie is")
        self.visit.until(
            lambda driver: not driver.find_element("css selector", "#link").text, "page that is connected"
        )  # fmt: skip

    async def test_upgraded(self) -> None:
        """When the server has another version than the page, one line says so, with a link that the keyboard reaches.

        While the versions are the same, as after a reload, the line is empty.
        """
        await deferToThread(self._upgraded)

    def _upgraded(self) -> None:
        from selenium.webdriver.common.keys import Keys

        self.visit.home()
        self.visit.wait("#line", "this bookie is")
        self.assertEqual(self.visit.driver.find_element("css selector", "#version").text, "")
        self.given({"work": None, "page": "another"})
        self.visit.home()
        self.visit.click("Events")
        told = self.visit.wait("#version[role=status]", "This page is of another version than its server")
        self.assertTrue(told.endswith("reload the page"), told)
        self.visit.driver.execute_script("window.isSame = true; document.querySelector('.skip').focus()")
        self.visit.driver.switch_to.active_element.send_keys(Keys.TAB)
        link = self.visit.driver.switch_to.active_element
        self.assertEqual(link.text, "reload the page")
        link.send_keys(Keys.ENTER)
        self.visit.until(lambda driver: not driver.execute_script("return window.isSame"), "reloaded page")
        self.visit.wait("#title", "Events")

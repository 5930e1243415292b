"""The console in a real browser: what is not known yet, what is old, and what cannot be shown."""

import json

from twisted.internet.threads import deferToThread

from .test_console_states import CLUSTER, ConsoleStatesCase


class ConsoleUnknownTests(ConsoleStatesCase):
    """Over states that a test makes."""

    async def test_interrupted(self) -> None:
        """What a new snapshot lacks is old until it is read again; what was late before the snapshot is not."""
        await deferToThread(self._interrupted)

    def _interrupted(self) -> None:
        states: list[dict[str, object]] = [
            {"work": None, "operations": [], "cluster": {**CLUSTER, "marked": 0}, "late": {"operations": 1}},
            {"operations": []}, {"cluster": {**CLUSTER, "marked": 7}},
        ]  # fmt: skip
        for count, said in ((1, ""), (2, "OLD"), (3, "")):
            events = [
                f"id: 1-{n}\nevent: {'change' if n == 2 else 'snapshot'}\ndata: {json.dumps(state)}\n\n"
                for n, state in enumerate(states[:count])
            ]
            self.given_events("".join(events))
            self.visit.home()
            line = self.visit.wait("#line", f"{7 if count == 3 else 0} ledgers under-replicated")
            self.assertEqual("what is said of the cluster is OLD: it was not read again yet" in line, bool(said), line)
        self.visit.click("Jobs and limits")
        self.assertEqual(self.visit.wait("#title"), "Jobs and limits")
        self.assertEqual(self.visit.driver.find_element("css selector", "#old").text, "")

    async def test_marks(self) -> None:
        """What is not known yet of under-replicated ledgers is said to be unknown; an older answer has its time."""
        await deferToThread(self._marks)

    def _marks(self) -> None:
        self.given({"work": None, "operations": []})
        self.visit.home()
        self.visit.wait("#line", "under-replicated: not known yet")
        self.visit.wait("main table", "Why is this ledger under-replicated? not known yet")
        self.visit.wait("main table", "What limits the repair? not known yet")
        state: dict[str, object] = {"work": None, "operations": [], "cluster": {**CLUSTER, "marked": 1700}}
        self.given(state)
        self.visit.home()
        self.visit.wait("#line", "1,700 ledgers under-replicated, unavailable: not known yet")
        self.visit.wait("main table", "Why is this ledger under-replicated? 1,700 are marked")
        facts = [{"safe": True, "text": "all are there"}, {"safe": None, "text": "marks cannot be read: no right"}]
        self.given({**state, "cluster": {**CLUSTER, "unread": "no right", "safe": facts}})
        self.visit.home()
        self.visit.wait("#line", "under-replicated: cannot be read: no right")
        self.visit.wait("main table", "Why is this ledger under-replicated? no right")
        self.visit.wait("main table", "not known: marks cannot be read: no right")
        found = {"readAt": 1_700_000_000, "enabled": True, "auditor": "b:1", "count": 1700, "unavailable": 240,
                 "lookedAt": 1200, "ledgers": [], "limit": "the workers", "elsewhere": [], "consoles": []}  # fmt: skip
        self.given({**state, "repair": found})
        self.visit.home()
        line = self.visit.wait("#line", "1,700 ledgers under-replicated, 240 of the first 1,200 looked at unavailable")
        self.assertNotIn("as of", line)
        self.given({**state, "repair": {**found, "count": 1800}})
        self.visit.home()
        self.visit.wait("#line", "240 of the first 1,200 looked at unavailable as of 2023-11-1")
        self.visit.wait("main table", "What limits the repair? the workers as of 2023-11-1")
        row = {"id": 5, "state": "UNKNOWN", "since": 7, "replicas": None, "missing": ["b:1"], "lock": None,
               "reason": "its metadata cannot be decoded"}  # fmt: skip
        listed = {**found, "count": 1800, "moreMarked": True, "ledgers": [row], "unjudged": "1 ledger cannot be judged",
                  "strays": "1 node among the marks is none"}  # fmt: skip
        self.given({**state, "repair": listed})
        self.visit.home()
        self.visit.wait("#line", "240 of the first 1,200 looked at unavailable (1 ledger cannot be judged)")
        self.visit.click("Repair")
        self.visit.wait("main", "unknown b:1 its metadata cannot be decoded")
        self.visit.wait("main dl", "at least 1,800, as read at 2023-11-1")
        self.visit.wait("main dl", "1 node among the marks is none")

    async def test_limits(self) -> None:
        """What is no number is not taken for a limit of 0, which is none; a limit is shown as it was understood."""
        await deferToThread(self._limits)

    def _limits(self) -> None:
        limit = {"entriesPerSecond": 0, "bytesPerSecond": 10_000_000, "grantedEntries": 1, "grantedBytes": 1,
                 "waitedSeconds": 0, "waiters": 0, "users": []}  # fmt: skip
        self.given({"work": None, "throttles": {"limiters": {"scrub": limit}}})
        source = """
        window.sent = [];
        const real = window.fetch;
        window.fetch = (path, options) => {
          if (options?.method !== "PUT") return real(path, options);
          window.sent.push(JSON.parse(options.body));
          return Promise.resolve(new Response("{}"));
        };"""
        self.visit.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        self.visit.home()
        self.visit.click("Jobs and limits")
        self.visit.wait("main", "9.5 MiB/s; 1 entries and 1 B granted")
        for typed, said in (("", "a number is missing"), ("5e", '"5e" is'), ("-", '"-" is'), ("10MB", '"10MB" is'),
                            ("5.000.000", '"5.000.000" is'), ("1,5", '"1,5" is')):  # fmt: skip
            self.visit.fill("#bytes-scrub", typed)
            self.visit.click("Set")
            self.visit.wait("#message", f"scrub: bytes a second, 0 for no limit: {said}")
        self.visit.fill("#bytes-scrub", " 5.5 ")
        self.visit.click("Set")
        self.visit.until(lambda driver: driver.execute_script("return window.sent.length"), "request")
        sent = {"limiters": {"scrub": {"entriesPerSecond": 0, "bytesPerSecond": 5.5}}}
        self.assertEqual(self.visit.driver.execute_script("return window.sent"), [sent])

    async def test_cut(self) -> None:
        """A server that refuses connections, as one that was killed, makes what is shown OLD at once, in red."""
        await deferToThread(self._cut)

    def _cut(self) -> None:
        source = """
        const real = window.fetch;
        window.fetch = (path, options) => {
          if (path !== "/api/v1/console/stream") return real(path, options);
          if (window.isDead) return Promise.reject(new TypeError("Failed to fetch"));
          const start = (controller) => {
            window.stream = controller;
            const data = JSON.stringify({ work: null, bookie: { phase: "serving", reasons: [], disks: [] } });
            controller.enqueue(new TextEncoder().encode(`id: 1-1\\nevent: snapshot\\ndata: ${data}\\n\\n`));
          };
          return Promise.resolve(new Response(new ReadableStream({ start })));
        };"""
        self.visit.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        self.visit.home()
        self.visit.wait("#line", "this bookie is serving")
        self.assertEqual(self.visit.driver.find_element("css selector", "#link").text, "")
        self.visit.driver.execute_script("window.isDead = true; window.stream.error(new TypeError('network error'))")
        began = self.visit.driver.execute_script("return Date.now()")
        self.visit.wait("#link.bad", "what is shown is OLD: it is of ")
        self.assertLess(self.visit.driver.execute_script("return Date.now()") - began, 10_000)

    async def test_narrow(self) -> None:
        """On a narrow screen, and with texts without blanks, no page is wider than the window."""
        await deferToThread(self._narrow)

    def _narrow(self) -> None:
        row = {"id": 7, "length": 0, "last": 1, "ensemble": 1, "writeQuorum": 1, "ackQuorum": 1, "ctime": 1,
               "replicas": 1, "bookies": ["b:1"], "absent": [], "custom": {"k\u202e": "x" * 20_000}, "state": "CLOSED",
               "digest": "CRC32C", "segments": [[0, ["b:1"]]], "states": {"b:1": "writable"}, "mark": None,
               "unmarked": {"level": "good", "text": "It is not marked."}}  # fmt: skip
        limit = {"entriesPerSecond": 0, "bytesPerSecond": 0, "grantedEntries": 1, "grantedBytes": 1,
                 "waitedSeconds": 0, "waiters": 0, "users": []}  # fmt: skip
        safe = [{"safe": True, "text": "all bookies are there"}]
        cluster = {**CLUSTER, "safe": safe, "marked": 0}
        work: dict[str, object] = {"collection": {"directories": {"/d/current": {}}}}
        self.given({"work": work, "cluster": cluster, "throttles": {"limiters": {"scrub": limit}}}, **{
            "disk_ledgers": {"ledgers": {"7": 1}, "freed": {}, "stays": "", "logs": 1, "left": 0, "next": None},
            "ledger?": row,
            "ledgers?": {"ledgers": [], "undecoded": [], "unpromised": [], "scanned": 9, "next": None},
        })  # fmt: skip
        size = {"width": 320, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        self.visit.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.visit.home()
        for page, selector, text in (
            ("", "main table", "What is slow"), ("disk", "#holders", "1 ledgers hold"),
            ("safety", "#scan", "all of them"),
            ("ledger?id=7", "#ledger dl", "k\\u202e=xxx"), ("bookies", "main", "b:1"),
        ):  # fmt: skip
            self.visit.driver.execute_script("location.hash = '#/' + arguments[0]", page)
            self.visit.wait(selector, text)
            width = self.visit.driver.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, 320, page)
            if page in ("", "safety"):
                width = self.visit.driver.execute_script("return document.querySelector('main').scrollWidth")
                self.assertLessEqual(width, 320, page)

    async def test_clocks(self) -> None:
        """A time that is ahead of the browser's clock was not some negative time ago."""
        await deferToThread(self._clocks)

    def _clocks(self) -> None:
        self.given({"work": None})
        self.visit.home()
        script = """
        const [after, done] = arguments, at = after === null ? null : Date.now() / 1000 + after;
        import("/console/format.js").then(({ ago }) => done(ago(at)));
        """
        for after, said in (
            (-90, "(90 s ago)"), (0, "(0 s ago)"), (7200, "ahead of this browser's clock)"), (None, "before"),
        ):  # fmt: skip
            text = self.visit.driver.execute_async_script(script, after)
            self.assertIn(said, text)
            self.assertNotIn("-", text.partition("(")[2])

    async def test_search(self) -> None:
        """An id may have blanks around it; of a ledger that cannot be shown, only the reason is; the order of a text in
        another direction ends with its cell.
        """
        await deferToThread(self._search)

    def _search(self) -> None:
        row = {"id": 7, "length": 0, "last": -1, "ensemble": 1, "writeQuorum": 1, "ackQuorum": 1, "ctime": 1,
               "replicas": 1, "bookies": ["b:1"], "absent": [], "custom": {"k": "\u202eevil"},
               "state": "CLOSED"}  # fmt: skip
        self.given({"work": None}, **{
            "ledger?ledger_id=7": {"failure": [404, "Not Found\nledger 7 does not exist"]},
            "ledgers?": {"ledgers": [row], "undecoded": [], "scanned": 1, "next": None},
        })  # fmt: skip
        self.visit.home()
        self.visit.click("Ledgers")
        self.visit.wait("main .scroll", "evil")
        style = "return getComputedStyle(document.querySelector('.scroll td')).unicodeBidi"
        self.assertEqual(self.visit.driver.execute_script(style), "isolate")
        self.visit.fill("input[name=id]", " 7 ")
        self.visit.click("Search")
        self.visit.wait("#message", "ledger 7 does not exist")
        self.assertEqual(self.visit.driver.find_element("css selector", "#ledger").text, "")

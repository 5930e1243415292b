"""The verdicts on ledgers and entries, and what is asked for them, in the console in a real browser."""

import json
from functools import partial
from typing import Any

from twisted.internet.threads import deferToThread

from .test_console_states import CLUSTER, ConsoleStatesCase

_HELD = """
const real = window.fetch;
window.asked = [];
window.fetch = (path, options) => {
  if (!path.startsWith("/api/v1/console/ledgers?")) return real(path, options);
  return new Promise((done) => window.asked.push(done));
};
"""
"""A script that lets requests for ledgers wait for a test to answer them."""


_LATER = """
const fetched = window.fetch, now = Date.now;
window.later = 0;
Date.now = () => now() + window.later;
window.fetch = (path, options) => {
  if (path !== "/api/v1/console/stream") return fetched(path, options);
  const start = (controller) => {
    window.send = (kind, data) =>
      controller.enqueue(new TextEncoder().encode(`event: ${kind}\\ndata: ${JSON.stringify(data)}\\n\\n`));
    window.send("snapshot", window.given);
  };
  return Promise.resolve(new Response(new ReadableStream({ start })));
};
"""
"""A script by which a test sends events, and lets time pass."""


class ConsoleVerdictsTests(ConsoleStatesCase):
    """Verdicts of the page over what a test gives it."""

    async def test_safety(self) -> None:
        """The verdict on the loss of one more bookie holds for bookies and ledgers; the overview says the same."""
        await deferToThread(self._safety)

    def _safety(self) -> None:
        fine, wrong = {"safe": True, "text": "all bookies are there"}, {"safe": False, "text": "no auditor is elected"}
        lost, last = ({"id": number, "state": "CLOSED", "replicas": number, "promised": number, "bookies": ["b:1"],
                       "absent": ["b:7", "b:8"] if number == 0 else []} for number in (0, 1))  # fmt: skip
        doubtful, unwritten, fewer = lost | {"doubtful": 2}, lost | {"unwritten": True}, last | {"promised": 0}
        risk = "the loss of one bookie would lose entries of 2 ledgers"
        cases: list[tuple[list[Any], list[Any], str]] = [
            ([fine], [], "yes"),
            ([fine], [last, last], f"NO: {risk}"),
            ([fine, wrong], [], "NO: no auditor is elected"),
            ([wrong], [lost, last, last],
             f"NO: 1 ledger has entries without a replica left already; {risk}; no auditor is elected"),
            ([fine], [doubtful],
             "NO: 1 ledger may have entries without a replica left: all are on bookies that are gone, that do not "
             "answer, or that marks name and that may have them"),
            ([fine], [unwritten],
             "NO: 1 ledger may have entries without a replica left: they are not closed, and only bookies that are "
             "gone know whether they have any"),
            ([fine], [fewer],
             "NO: 1 ledger may have entries without a replica left: an acknowledgement promises none on the bookies "
             "that are left; the loss of one bookie would lose entries of 1 ledger"),
            ([fine], [fewer | {"replicas": 2}],
             "NO: 1 ledger may have entries without a replica left: an acknowledgement promises none on the bookies "
             "that are left"),
            ([fine], [5, 6],
             "not known: entries of 2 ledgers may have one replica alone, such as of ledger 5, 6: their ack quorum "
             "promises no more"),
        ]  # fmt: skip
        for facts, found, said in cases:
            rows = [each for each in found if isinstance(each, dict)]
            unpromised = [each for each in found if each not in rows]
            answer = {"ledgers": rows, "undecoded": [], "unpromised": unpromised, "scanned": 9, "next": None}
            self.given({"work": None, "cluster": {**CLUSTER, "safe": facts}}, **{"ledgers?": answer})
            self.visit.home()
            question = "Is the cluster safe to lose one more bookie?"
            before = "NO: no auditor is elected" if wrong in facts else "not known before all ledgers are looked at"
            self.visit.wait("main table", f"{question} {before}")
            self.visit.click(question)
            self.assertEqual(self.visit.wait("#verdict", said), said)
            scan = self.visit.wait("#scan", "9, all of them")
            self.assertIn(f"without a replica left\n{found.count(lost)}\n", f"{scan}\n")
            self.assertEqual("0, perhaps 2" in scan, doubtful in found)
            self.assertEqual("b:1; not there: b:7, b:8" in scan, any(each["absent"] for each in rows))
            self.assertIn(f"one more loss would lose entries\n{found.count(last) + found.count(fewer)}\n", f"{scan}\n")
            self.visit.driver.execute_script("location.hash = '#/'")
            self.visit.wait("main table", f"{question} {said}, as the ledgers were at ")
        self.given({"work": None, "cluster": {**CLUSTER, "safe": [fine]}},
                   **{"ledgers?": {"failure": [500, "no ZooKeeper"]}})  # fmt: skip
        self.visit.ask("Is the cluster safe to lose one more bookie?")
        self.visit.wait("#verdict", "not known, as the ledgers cannot be read: no ZooKeeper")

    async def test_two_looks(self) -> None:
        """An answer to a look through the ledgers that the user has left is no part of the next one."""
        await deferToThread(self._two_looks)

    def _two_looks(self) -> None:
        self.given({"work": None, "cluster": {**CLUSTER, "safe": [{"safe": True, "text": "all bookies are there"}]}})
        self.visit.home()
        self.visit.driver.execute_script(_HELD)
        for asked in (1, 2):
            self.visit.driver.execute_script("location.hash = '#/'")
            self.visit.wait("main table", "Is the cluster safe to lose one more bookie?")
            self.visit.driver.execute_script("location.hash = '#/safety'")
            self.visit.until(partial(self._has_asked, asked), "request")
        row = {"id": 7, "state": "CLOSED", "replicas": 1, "promised": 1, "bookies": ["b:1"], "absent": []}
        for number, said in (
            (0, "not known before all ledgers are looked at"),
            (1, "NO: the loss of one bookie would lose entries of 1 ledger"),
        ):  # fmt: skip
            found = json.dumps(
                {"ledgers": [row], "undecoded": [], "unpromised": [], "scanned": 9, "next": None}
            )
            self.visit.driver.execute_async_script(
                "window.asked[arguments[0]](new Response(arguments[1])); setTimeout(arguments[2], 200)", number, found
            )
            verdict = self.visit.wait("#verdict")
            self.assertTrue(verdict.startswith(said), verdict)

    async def test_repeated(self) -> None:
        """The ledgers are looked at again after a time, or after a change of bookies, if the page is seen; an answer
        stays until there is another one, and has its time.
        """
        await deferToThread(self._repeated)

    def _repeated(self) -> None:
        cluster: dict[str, Any] = {**CLUSTER, "safe": [{"safe": True, "text": "all bookies are there"}]}
        before = ""
        given = f"window.given = {json.dumps({'work': None, 'cluster': cluster})};"
        run = self.visit.driver.execute_script
        self.visit.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": given + _LATER + _HELD})
        self.visit.ask("Is the cluster safe to lose one more bookie?")
        row = {"id": 7, "state": "CLOSED", "replicas": 1, "promised": 1, "bookies": ["b:1"], "absent": []}
        risk = "NO: the loss of one bookie would lose entries of 1 ledger"
        hidden = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => arguments[0] })"
        wait = "setTimeout(arguments[0], 2500)"
        for number, (found, failure, said) in enumerate((
            ([], "", "yes"), ([row], "", risk), ([], "no store", risk), ([], "", "yes"),
            ([], "no store", "not known, as the ledgers cannot be read: no store"),
        )):  # fmt: skip
            self.visit.until(partial(self._has_asked, number + 1), "request")
            if number:
                self.assertEqual(self.visit.wait("#verdict"), before)
            answer = {"ledgers": found, "undecoded": [], "unpromised": [], "scanned": 9, "next": None}
            run("window.asked.at(-1)(new Response(arguments[0], { status: arguments[1] }))",
                failure or json.dumps(answer), 500 if failure else 200)  # fmt: skip
            before = self.visit.wait("#verdict", said)
            self.assertEqual(before, said)
            self.assertRegex(self.visit.wait("#scan"), r"looked at\n9, all of them, at \d\d:\d\d:\d\d\n")
            run(hidden, number == 1)
            if number != 2:
                run("window.later += 31000")
            if number in (1, 2):
                self.visit.driver.execute_async_script(wait)
                self.assertTrue(self._has_asked(number + 1, self.visit.driver))
            run(hidden, False)
            if number == 2:
                more = {**cluster, "bookies": {**cluster["bookies"], "b:2": {"id": "b:2", "state": "writable"}}}
                run("window.send('change', { cluster: arguments[0] })", more)

    async def test_mixed(self) -> None:
        """If bookies come or go during a look through the ledgers, the verdict says so until the next one has ended."""
        await deferToThread(self._mixed)

    def _mixed(self) -> None:
        cluster: dict[str, Any] = {**CLUSTER, "safe": [{"safe": True, "text": "all bookies are there"}]}
        given = f"window.given = {json.dumps({'work': None, 'cluster': cluster})};"
        run = self.visit.driver.execute_script
        self.visit.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": given + _LATER + _HELD})
        self.visit.ask("Is the cluster safe to lose one more bookie?")
        lost = {"id": 7, "state": "CLOSED", "replicas": 0, "promised": 0, "bookies": ["b:2"], "absent": ["b:2"]}
        more = {**cluster, "bookies": {**cluster["bookies"], "b:2": {"id": "b:2", "state": "writable"}}}
        mixed = "bookies came or went while the ledgers were looked at"
        for number, (ledgers, following, said) in enumerate((
            ([lost], 7, "NO: 1 ledger has entries without a replica left already"),
            ([], None, f"NO: 1 ledger has entries without a replica left already; {mixed}"), ([], None, "yes"),
        )):  # fmt: skip
            self.visit.until(partial(self._has_asked, number + 1), "request")
            if number == 1:
                run("window.send('change', { cluster: arguments[0] })", more)
                self.visit.driver.execute_async_script("setTimeout(arguments[0], 200)")
            answer = {"ledgers": ledgers, "undecoded": [], "unpromised": [], "scanned": 9, "next": following}
            run("window.asked.at(-1)(new Response(arguments[0]))", json.dumps(answer))
            self.assertTrue(self.visit.wait("#verdict", said).startswith(said))
            run("window.later += arguments[0]", 31000 if number == 1 else 0)

    def _has_asked(self, count: int, driver: Any) -> bool:
        return bool(driver.execute_script("return window.asked.length") == count)

    async def test_marks_alone(self) -> None:
        """If no auditor marks ledgers, the numbers are of marks alone; of very many, the least number is told."""
        await deferToThread(self._marks_alone)

    def _marks_alone(self) -> None:
        for marked, said in ((1, "1 is marked; the page has the reason of each"), (0, "none is marked")):
            self.given({"work": None, "cluster": {**CLUSTER, "marked": marked, "marksAlone": "NO AUDITOR"}})
            self.visit.home()
            noun = "ledger" if marked else "ledgers"
            self.visit.wait("#line", f"{marked} {noun} under-replicated by marks alone, as NO AUDITOR")
            self.visit.wait("main table", f"replicated? {said}; others may lack replicas: NO AUDITOR")
        self.given({"work": None, "cluster": {**CLUSTER, "marked": 7000, "moreMarked": True, "marksAlone": ""}})
        self.visit.home()
        self.visit.wait("#line", "at least 7,000 ledgers under-replicated")
        self.visit.wait("main table", "Why is this ledger under-replicated? at least 7,000 are marked")

    async def test_asking(self) -> None:
        """While a bookie does not answer, the page of an entry says which ones are asked."""
        await deferToThread(self._asking)

    def _asking(self) -> None:
        found = {"ensemble": 3, "writeQuorum": 2, "segments": [[0, ["a", "b", "c"]], ["8", ["d", "e", "f"]]]}
        self.given({"work": None}, **{"ledger?": found, "entry?": ""})
        self.visit.home()
        for entry_id, said in ((5, "asking c, a;"), (9, "asking d, e;"), (8, "asking f, d;")):
            self.visit.driver.execute_script(f"location.hash = '#/entry?ledger=7&entry={entry_id}'")
            self.visit.wait("#replicas", said)

    async def test_ensembles(self) -> None:
        """Of very many ensembles, those that lack bookies are shown first; how many are left out is told."""
        await deferToThread(self._ensembles)

    def _ensembles(self) -> None:
        found = {"id": 7, "state": "CLOSED", "length": 0, "last": 9, "ensemble": 1, "writeQuorum": 1, "ackQuorum": 1,
                 "ctime": 1, "replicas": 0, "bookies": ["b:1"], "absent": [], "custom": {}, "digest": "CRC32C",
                 "mark": None,
                 "states": {"b:1": "writable", "b:2": "unavailable", "b:3": "does not answer"},
                 "unmarked": {"level": "bad", "text": "It lacks replicas."}}  # fmt: skip
        gone = {17: "b:2", 30: "b:3", 70: "b:3"}
        for number, title in (
            (100, "Ensembles (100)"),
            (5000, "Ensembles (5,000, 3 with bookies that are unavailable or do not answer: the first of those and the "
                   "last of all, 4,947 are left out)"),
        ):  # fmt: skip
            segments = [[first, [gone.get(first, "b:1")]] for first in range(number)]
            self.given({"work": None}, **{"ledger?": found | {"segments": segments}})
            self.visit.home()
            self.visit.driver.execute_script("location.hash = '#/ledger?id=7'")
            self.visit.wait("#ledger h3", title)
            rows = [each.text for each in self.visit.driver.find_elements("css selector", "#ledger svg text")]
            shown = [17, 30, 70, *range(4950, 5000)] if number > 100 else range(100)
            self.assertEqual(rows[::2], [f"from {first}" for first in shown])
            lost = [each.text for each in self.visit.driver.find_elements("css selector", "#ledger p.bad")][1:]
            self.assertEqual(lost, [
                "b:2 (unavailable) is in one ensemble, that from entry 17 on",
                "b:3 (does not answer) is in 2 ensembles, the first one from entry 30 on",
            ])  # fmt: skip

    async def test_not_closed(self) -> None:
        """Of a ledger that is not closed, nobody knows whether its writer is alive, so the page does not say so."""
        await deferToThread(self._not_closed)

    def _not_closed(self) -> None:
        row = {"id": 7, "length": 0, "last": -1, "ensemble": 1, "writeQuorum": 1, "ackQuorum": 1, "ctime": 1,
               "replicas": 1, "bookies": ["b:1"], "absent": [], "custom": {}, "digest": "CRC32C",
               "segments": [[0, ["b:1"]]],
               "states": {"b:1": "writable"}, "mark": None,
               "unmarked": {"level": "good", "text": "It is not marked."}}  # fmt: skip
        for state, said in (
            ("OPEN", "not closed: a writer may have it open"),
            ("IN_RECOVERY", "not closed: a recovery has begun that has not ended; it may be at work"),
        ):  # fmt: skip
            found = row | {"state": state}
            listed = {"ledgers": [found], "undecoded": [], "scanned": 1, "next": None}
            self.given({"work": None}, **{"ledger?": found, "ledgers?": listed})
            self.visit.home()
            self.visit.click("Ledgers")
            self.visit.wait("main .scroll", f"7 {state} not closed 1 of 1")
            self.visit.click("7")
            self.visit.wait("#ledger dl", said)

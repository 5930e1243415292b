"""What the console says of under-replicated ledgers, of what limits a repair, and of the loss of one more bookie."""

from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataError, MetadataUnavailableError
from bookkeeper_twisted.http.console.bookie_answers import ClusterBookie
from bookkeeper_twisted.http.console.cluster_parts import ClusterParts
from bookkeeper_twisted.http.console.diagnosis import repair_limit, risks
from bookkeeper_twisted.http.console.marked_ledgers import mark_reason, marks_alone
from bookkeeper_twisted.metadata.interfaces import MOST_STRAYS
from bookkeeper_twisted.model import UnderreplicatedLedger

from .cluster_case import ConsoleClusterCase

THERE = frozenset({"a", "b"})
OWN = "only their process's console knows: a bookie's, or, registered nowhere, one at autorecovery's httpServerPort"


class ReasonTests(SynchronousTestCase):
    """Sentences for an operator."""

    def test_mark(self) -> None:
        """A bookie that is gone and one that lacks entries are told apart; the lock says what a worker does."""
        mark = UnderreplicatedLedger(("a", "x"), None)
        self.assertEqual(
            mark_reason(mark, "host: waits", THERE),
            "x is not registered; a was damaged or away, or lacked entries, when the ledger was marked; "
            "worker: host: waits",
        )
        self.assertEqual(
            mark_reason(UnderreplicatedLedger(), None, THERE),
            "a check found too few replicas; no worker is at it at present",
        )

    def test_limit(self) -> None:
        """What holds up a repair is named: the switch, limits and workers that wait, no workers, their number."""
        for arguments, text in (
            ((0, {}, True, "", 3, ""), "nothing has to be repaired"),
            ((0, {}, True, "no auditor", 3, ""), "no ledger is marked, but some may lack replicas: no auditor"),
            ((0, {}, False, "a", 3, ""),
             "autorecovery is disabled: enable it; until then no ledger is marked, so whether any lack replicas is not "
             "known"),
            ((5, {1: "h"}, False, "a", 3, ""),
             "autorecovery is disabled: enable it; until then no further ledger is marked, so whether others lack "
             "replicas is not known"),
            ((5, {}, True, "no auditor", 3, ""),
             "no replication worker is at work: does a process run autorecovery?; no auditor"),
            ((5, {1: "h: too few", 2: "h: too few", 3: "h"}, True, "", 3, "w"),
             "the speed limit w; and 2 of 3 locked ledgers wait: too few"),
            ((5, {1: "h: waits until 1: slow", 2: "h: waits until 2: few", 3: "i: waits until 3: few"}, True, "", 3,
              ""), "3 of 3 locked ledgers wait, 2 of them: few"),
            ((5, {1: "h: waits until 1: ledger 1 is slow", 2: "h: waits until 2: ledger 2 is slow",
                  3: "i: waits until 3: b:3181 is away"}, True, "", 3, ""),
             "3 of 3 locked ledgers wait, 2 of them: ledger 1 is slow"),
            ((5, {1: "h"}, True, "", 3, "replication-write"), "the speed limit replication-write"),
            ((5, {}, True, "", 3, ""), "no replication worker is at work: does a process run autorecovery?"),
            ((5, {1: ""}, True, "", 3, ""), "the workers: 1 of 5 ledgers are being repaired, onto 3 writable bookies"),
            ((5, {1: "h", 2: "i"}, True, "", 3, "", ["h", "i"]),
             "the workers: 2 of 5 ledgers are being repaired, onto 3 writable bookies; whether a speed limit "
             f"slows those on h, i, {OWN}"),
            ((19, {1: "h: waits: few", 2: "h: waits: few", 3: "i", 4: "i"}, True, "", 3, "", ["i"]),
             "2 of 4 locked ledgers wait: few; and 2 are being repaired, and 15 wait for a free worker: whether a "
             f"speed limit slows those on i, {OWN}"),
            ((2, {1: "h: waits: x", 2: "i"}, True, "", 3, "", ["i"]),
             f"1 of 2 locked ledgers wait: x; and 1 are being repaired: whether a speed limit slows those on i, {OWN}"),
            ((5, {1: "h: waits: x", 2: "i"}, True, "", 3, "", ["i"], True),
             "1 of 2 locked ledgers wait: x; and 1 are being repaired, and at least 3 wait for a free worker: whether "
             f"a speed limit slows those on i, {OWN}"),
            ((1, dict.fromkeys(range(4), ""), True, "", 3, "", [], True),
             "the workers: 4 of at least 4 ledgers are being repaired, onto 3 writable bookies"),
            ((5, {1: ""}, True, "", 3, "", [], True),
             "the workers: 1 of at least 5 ledgers are being repaired, onto 3 writable bookies"),
        ):  # fmt: skip
            self.assertEqual(repair_limit(*arguments), text)  # type: ignore[arg-type]

    def test_marks_alone(self) -> None:
        """While nothing is marked, the reserve about the marks has the reason: the switch before all others."""
        self.assertEqual(marks_alone(True, "a"), "")
        self.assertEqual(marks_alone(True, None, ["b"]), "NO AUDITOR is elected that marks ledgers")
        for auditor in ("a", None):
            self.assertEqual(
                marks_alone(False, auditor, ["b"]), "autorecovery is DISABLED, so the auditor marks no ledger"
            )
        for unnamed, said in ((["b", "c", "d"], "b, c, d"), (["b", "c", "d", "e"], "b, c, d, ...")):
            text = (
                f"no mark names {said}, unavailable: all is repaired, or not audited yet, or the audits fail, or have "
                "left out ledgers, which they read again later (auditor's log)"
            )
            self.assertEqual(marks_alone(True, "a", unnamed), text)
            self.assertEqual(
                marks_alone(True, "a", unnamed, {7, 3}),
                f"{text}; 2 ledgers are left out of audits and read again, as their metadata cannot be read or "
                "decoded, such as ledger 3, 7",
            )

    def test_risks(self) -> None:
        """Each condition for the loss of one more bookie is judged on its own."""
        rows = [ClusterBookie(str(n), "writable", None, "", "", 100, 60) for n in range(4)]
        self.assertEqual([each.safe for each in risks(rows, False, True, "a")], [True] * 6)
        full = [ClusterBookie(str(n), "writable", None, "", "", 100, 10) for n in range(4)]
        for changed, marked, enabled, auditor, wrong in (
            ([*rows, ClusterBookie("x", "unavailable", None, "", "", None, None)], False, True, "a", 0),
            (rows, True, True, "a", 1), (rows, False, False, "a", 2), (rows, False, True, None, 3),
            (rows[:3], False, True, "a", 4), (full, False, True, "a", 5),
        ):  # fmt: skip
            found = risks(changed, marked, enabled, auditor)
            self.assertEqual([number for number, each in enumerate(found) if not each.safe], [wrong])
        for why in ("", "no answer"):
            unknown = ClusterBookie("x", "writable", None, "", "", None, None, why)
            read_only = ClusterBookie("y", "read-only", None, "", "", None, None)
            text = risks([*rows, unknown, read_only], False, True, "a")[5].text
            self.assertTrue(text.endswith("; 1 of 5 writable bookies not counted: free space unknown"), text)
        found = risks(rows, False, False, None, unread="no right")
        self.assertEqual([each.safe for each in found], [True, None, True, True])
        self.assertEqual(found[1].text, "marks, switch and auditor cannot be read: no right")
        self.assertTrue(risks(rows, False, True, "a")[1].text.endswith("; whether a replication worker runs shows only "
                                                                       "when one is"))  # fmt: skip
        for is_idle in (False, True):
            fact = risks(rows, True, True, "a", is_idle=is_idle)[1]
            self.assertIs(fact.safe, False)
            self.assertEqual("; no replication worker is at work: nothing is repaired at present" in fact.text, is_idle)
        for ensemble, is_safe in ((2, True), (3, True), (4, False)):
            self.assertIs(risks(rows, False, True, "a", ensemble)[4].safe, is_safe)


class MarkTests(ConsoleClusterCase):
    """Marks that cannot be decoded or read, in a cluster in memory."""

    def read(self, name: str) -> Any:
        """The state of a part of the console."""
        parts = ClusterParts(self.shared, self.clock)
        return self.result(parts.repair() if name == "repair" else parts.cluster())

    def test_undecodable_mark(self) -> None:
        """A mark that cannot be decoded has a row that says so, here and on the page of its ledger; as it may name any
        bookie, no replica of the ledger is sure to be left.
        """
        broken, other = (self.ledger(b"x") for _ in range(2))
        for ledger_id in (broken, other):
            self.result(self.marks.mark(ledger_id, self.bookies_of(ledger_id)[:1], 7000))
        self.marks._store.write_mark(broken, b"\xff", 0)
        found = self.read("repair")
        self.assertEqual((found["count"], found["lookedAt"]), (2, 2))
        row = found["ledgers"][0]
        self.assertEqual((row["id"], row["missing"], row["since"], row["replicas"]), (broken, [], None, 0))
        self.assertEqual((found["unavailable"], found["doubtful"]), (0, 1))
        reason = row["reason"]
        self.assertTrue(reason.startswith("its mark cannot be decoded, so the bookies in it are not known: "), reason)
        self.assertIn("can't decode byte 0xff", reason)
        self.assertTrue(reason.endswith("; no worker is at it at present"), reason)
        page = self.json(f"ledger?ledger_id={broken}")
        self.assertEqual((page["mark"]["reason"], page["replicas"], page["doubtful"]), (reason, 0, 2))
        listed = self.json("ledgers?at_risk=true")["ledgers"]
        self.assertEqual([(each["id"], each["replicas"], each["doubtful"]) for each in listed],
                         [(broken, 0, 2), (other, 1, 1)])  # fmt: skip

    def test_unread_marks(self) -> None:
        """The bookies are shown although the marks cannot be read; if the store cannot be reached, nothing is."""
        driver: Any = self.result(self.shared()).client.metadata
        for broken, name in ((driver.underreplication, "is_enabled"), (driver.auditing, "auditor")):
            for error in (MetadataError("no right"), MetadataUnavailableError("away")):
                undo = self.patch(broken, name, partial(fail, error))
                if isinstance(error, MetadataUnavailableError):
                    reading = Deferred.fromCoroutine(ClusterParts(self.shared, self.clock).cluster())
                    self.settle()
                    self.failureResultOf(reading, MetadataUnavailableError)
                else:
                    found = self.read("cluster")
                    self.assertEqual((len(found["bookies"]), found["unread"]), (4, "no right"))
                    self.assertNotIn("marked", found)
                    self.assertIn(None, [each["safe"] for each in found["safe"]])
                undo.restore()
        found = self.read("cluster")
        self.assertEqual((found["marked"], found["unread"], len(found["safe"])), (0, "", 6))

    def test_strays(self) -> None:
        """What is no mark among the marks is counted, with an example."""
        self.assertEqual(self.read("repair")["strays"], "")
        marks = self.result(self.shared()).client.metadata.underreplication
        for strays, text in (
            (["/b"], "1 node among the marks is none, such as /b"),
            (["/b", "/a"], "2 nodes among the marks are none, such as /a"),
            ([f"/{n:03}" for n in range(MOST_STRAYS)], "at least 100 nodes among the marks are none, such as /000"),
        ):
            self.patch(marks, "strays", strays)
            self.assertEqual(self.read("repair")["strays"], text)

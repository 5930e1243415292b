"""The repair of under-replicated ledgers, as the console shows it."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.http.console import cluster_parts
from bookkeeper_twisted.http.console.cluster_parts import MOST_MARKS
from bookkeeper_twisted.http.console.feed import LATE
from bookkeeper_twisted.http.console.marked_ledgers import DETAILS_SECONDS, LISTING_SECONDS
from bookkeeper_twisted.limits.adaptive import RunningJob
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint

from .cluster_case import ClusterPartsCase

_ELSEWHERE = (
    "only their process's console knows: a bookie's, or, registered nowhere, one at autorecovery's httpServerPort"
)


class RepairTests(ClusterPartsCase):
    """Over a cluster in memory."""

    def test_repair(self) -> None:
        """Marked ledgers are shown with their replicas and reasons; those that no bookie has count as unavailable."""
        self.assertEqual(self.read("repair")["count"], 0)
        ledger_id = self.ledger(b"x")
        bookies = self.bookies_of(ledger_id)
        for gone in bookies[:2]:
            self.result(self.cluster.stop_bookie(gone))
        self.result(self.marks.mark(ledger_id, bookies[:2], 7000))
        found = self.read("repair")
        self.assertEqual((found["count"], found["unavailable"], found["enabled"], found["auditor"]), (1, 1, True, None))
        (row,) = found["ledgers"]
        self.assertEqual((row["id"], row["missing"], row["since"], row["replicas"]), (ledger_id, bookies[:2], 7.0, 0))
        self.assertIn("no replication worker is at work", found["limit"])
        self.result(self.marks.lock(ledger_id, "h"))
        for is_locked in (False, True):
            texts = [each["text"] for each in self.read("cluster")["safe"] if "ledgers lack replicas" in each["text"]]
            self.assertEqual("no replication worker is at work" in texts[0], not is_locked)
            self.read("repair")

    def test_marks_alone(self) -> None:
        """While the auditor marks nothing, because of the switch or for another reason, no mark is no good news."""
        ledger_id = self.ledger(b"x")
        lost, other, _ = self.bookies_of(ledger_id)
        self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
        self.settle()
        self.assertEqual((self.read("cluster")["marksAlone"], self.read("repair")["limit"]),
                         ("", "nothing has to be repaired"))  # fmt: skip
        self.result(self.cluster._registration.write_cookie(lost, b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie(lost))
        for marked in ((), (other,), (lost,)):
            if marked:
                self.result(self.marks.mark(ledger_id, marked, None))
                self.assertEqual(self.read("repair")["count"], 1)
            text = self.read("cluster")["marksAlone"]
            self.assertEqual(text.startswith(f"no mark names {lost}, unavailable: "), lost not in marked, text)
            if not marked:
                self.assertIn(f"some may lack replicas: no mark names {lost}", self.read("repair")["limit"])
        self.result(self.marks.set_enabled(False))
        self.assertIn("autorecovery is DISABLED", self.read("cluster")["marksAlone"])

    def test_alone(self) -> None:
        """What is said of the repair needs no other part: a bookie that is gone is known without the part cluster."""
        lost, *_ = self.bookies_of(self.ledger(b"x"))
        self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
        self.result(self.cluster._registration.write_cookie(lost, b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie(lost))
        told = f"no ledger is marked, but some may lack replicas: no mark names {lost}, unavailable: "
        self.assertTrue(self.read("repair")["limit"].startswith(told))
        self.result(self.cluster._registration.write_cookie("old:1", b"4\nbookieHost: \"x\"\n", None))
        self.read("cluster")
        self.assertTrue(self.read("repair")["limit"].startswith(told))
        self.clock.advance(cluster_parts.SEEN_SECONDS + 1)
        self.assertIn(f"no mark names {lost}, old:1, unavailable: ", self.read("repair")["limit"])

    def test_marks_since(self) -> None:
        """Marks that are newer than the last reading of the repair may name a bookie that those before did not."""
        first, second = self.ledger(b"x"), self.ledger(b"x")
        lost, other, _ = self.bookies_of(first)
        self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
        self.result(self.cluster._registration.write_cookie(lost, b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie(lost))
        self.read("repair")
        for ledger_id, missing, is_told in ((first, other, True), (second, lost, False)):
            self.result(self.marks.mark(ledger_id, (missing,), None))
            self.assertEqual(self.read("cluster")["marksAlone"], "")
            self.read("repair")
            self.assertEqual(f"no mark names {lost}" in self.read("cluster")["marksAlone"], is_told)

    def test_marks_left_out(self) -> None:
        """While not all marks could be listed, a bookie that none of the listed ones names is not said to have none."""
        ledger_id = self.ledger(b"x")
        lost, other, _ = self.bookies_of(ledger_id)
        self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
        self.result(self.cluster._registration.write_cookie(lost, b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie(lost))
        self.result(self.marks.mark(ledger_id, (other,), None))

        async def slowly() -> Any:
            for each in (ledger_id, ledger_id + 1):
                self.clock.rightNow += DETAILS_SECONDS
                yield each

        slow = self.patch(self.result(self.shared()).client.metadata.underreplication, "marked_ledgers", slowly)
        self.assertEqual((self.read("repair")["moreMarked"], self.read("cluster")["marksAlone"]), (True, ""))
        slow.restore()
        self.read("repair")
        self.assertIn(f"no mark names {lost}", self.read("cluster")["marksAlone"])

    def test_marked_replicas(self) -> None:
        """Replicas that a mark names, as after a scrub, are not left; whether entries are lost, a worker says."""
        ledger_id = self.ledger(b"x")
        first, second, _ = self.bookies_of(ledger_id)
        for marked, left, doubtful in (((first,), 1, 0), ((first, second), 0, 1)):
            self.result(self.marks.mark(ledger_id, marked, None))
            found = self.read("repair")
            self.assertEqual((found["ledgers"][0]["replicas"], found["unavailable"], found["doubtful"]),
                             (left, 0, doubtful))
        self.result(self.marks.lock(ledger_id, f"h: cannot be repaired, tried again soon: no bookie has ledger "
                                               f"{ledger_id} entry 0: damaged at {first}"))
        found = self.read("repair")
        self.assertEqual((found["ledgers"][0]["replicas"], found["unavailable"], found["doubtful"]), (0, 1, 0))

    def test_unwritten(self) -> None:
        """A ledger that is not closed may have no entries on bookies that are gone: it is no known loss."""
        ledgers = [self.ledger(close=False), self.ledger(b"x")]
        for ledger_id in ledgers:
            self.result(self.marks.mark(ledger_id, (), None))
        for number in range(4):
            self.result(self.cluster.stop_bookie(f"bookie-{number}"))
        found = self.read("repair")
        self.assertEqual((found["unavailable"], found["unwritten"], found["doubtful"]), (1, 1, 0))
        rows = self.json("ledgers?at_risk=true")["ledgers"]
        self.assertEqual([(row["id"], row["replicas"], row["unwritten"]) for row in rows],
                         [(ledgers[0], 0, True), (ledgers[1], 0, False)])  # fmt: skip

    def test_silent_replicas(self) -> None:
        """A ledger is unavailable if the bookies that have an entry are gone or do not answer."""
        ledger_id = self.ledger(b"x")
        first, second, _ = self.bookies_of(ledger_id)
        self.result(self.marks.mark(ledger_id, (first,), None))
        self.result(self.cluster.stop_bookie(first))
        self.cluster.bookies[second].up = False
        found = self.read("repair")
        self.assertEqual((found["ledgers"][0]["replicas"], found["unavailable"], found["doubtful"]), (0, 1, 0))

    def test_silent_before_marks(self) -> None:
        """Something may have to be repaired if a bookie that ledgers may need does not answer, and none is marked."""
        self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
        self.settle()
        self.cluster.bookies["bookie-1"].up = False
        self.assertEqual(self.read("repair")["limit"], "no ledger is marked, but some may lack replicas: registered, "
                                                       "but does not answer: bookie-1")  # fmt: skip
        self.read("cluster")  # no ledger needs it
        self.assertEqual(self.read("repair")["limit"], "nothing has to be repaired")

    def test_lost_to_check(self) -> None:
        """A ledger whose worker finds that no bookie has an entry is unavailable, also if its mark names no bookie."""
        ledger_id = self.ledger(b"x")
        self.result(self.marks.mark(ledger_id, (), None))
        self.result(self.marks.lock(ledger_id, f"h: waits: no bookie has ledger {ledger_id} entry 0: lost"))
        found = self.read("repair")
        self.assertEqual((found["ledgers"][0]["replicas"], found["unavailable"]), (0, 1))

    def test_past_time(self) -> None:
        """A locked ledger whose time has come waits for a free worker."""
        ledger_id = self.ledger(b"x")
        self.result(self.marks.mark(ledger_id, ("bookie-0",), None))
        self.result(self.marks.lock(ledger_id, "h: waits until 1970-01-01T00:00:09Z: bookie-1 is slow"))
        for seconds, text in ((8, "waits until 1970-01-01T00:00:09Z"), (1, "waits for a free worker")):
            self.clock.advance(seconds)
            found = self.read("repair")
            self.assertEqual(found["ledgers"][0]["lock"], f"h: {text}: bookie-1 is slow")
            self.assertEqual(found["limit"], "1 of 1 locked ledgers wait: bookie-1 is slow")

    def test_own_repairs(self) -> None:
        """What the worker of this process knows itself comes before its lock, and its reason before the lock's text."""
        ledger_id = self.ledger(b"x")
        self.result(self.marks.mark(ledger_id, ("bookie-0",), None))
        name = f"replication of ledger {ledger_id}"
        self.jobs = [RunningJob(name, "repairing", "", 0.0)]
        self.assertEqual(self.read("repair")["ledgers"][0]["lock"], "this process")
        self.jobs = [RunningJob(name, "impossible", "few", 0.0)]
        for holder in ("this process", "h"):
            found = self.read("repair")
            self.assertEqual(found["ledgers"][0]["lock"], f"{holder}: cannot be repaired: few")
            self.assertEqual(found["limit"], "1 of 1 locked ledgers wait: few")
            if holder != "h":
                self.result(self.marks.lock(ledger_id, "h"))

    def test_between_attempts(self) -> None:
        """Between two attempts a ledger has no lock: what the last one found is said until the bookies change."""
        ledger_id = self.ledger(b"x")
        self.result(self.marks.mark(ledger_id, (), None))
        lost = f"no bookie has ledger {ledger_id} entry 0: lost"
        self.result(self.marks.lock(ledger_id, f"h: cannot be repaired, tried again at 2001-01-01T00:00:09Z: {lost}"))
        self.read("repair")
        self.result(self.marks.unlock(ledger_id))
        found = self.read("repair")
        reason = found["ledgers"][0]["reason"]
        self.assertTrue(reason.endswith(f"no worker is at it at present; the last attempt: {lost}"), reason)
        self.assertEqual(found["unavailable"], 1)
        self.result(self.cluster.start_bookie("bookie-9"))
        found = self.read("repair")
        self.assertTrue(found["ledgers"][0]["reason"].endswith("no worker is at it at present"))
        self.assertEqual(found["unavailable"], 0)

    def test_many(self) -> None:
        """Marks beyond a bound are counted alone; a mark of a deleted ledger is left out."""
        for number in range(MOST_MARKS + 5):
            self.result(self.marks.mark(number, (), None))
        found = self.read("repair")
        self.assertEqual((found["count"], found["ledgers"]), (MOST_MARKS + 5, []))

    def test_unavailable(self) -> None:
        """Ledgers beyond those that are shown count as unavailable, too; the rest of very many is not looked at."""
        ledger_ids = [self.ledger(b"x") for _ in range(8)]
        for ledger_id in ledger_ids:
            self.result(self.marks.mark(ledger_id, (), None))
        for gone in range(4):
            self.result(self.cluster.stop_bookie(f"bookie-{gone}"))
        self.patch(cluster_parts, "MOST_MARKS", 2)
        self.patch(cluster_parts, "MOST_LOOKED_AT", 6)
        found = self.read("repair")
        self.assertEqual((found["count"], found["unavailable"], found["lookedAt"]), (8, 6, 6))
        self.assertEqual([row["id"] for row in found["ledgers"]], ledger_ids[:2])
        self.patch(cluster_parts, "MOST_LOOKED_AT", 8)
        found = self.read("repair")
        self.assertEqual((found["unavailable"], found["lookedAt"]), (8, 8))

    def test_undecodable(self) -> None:
        """A marked ledger whose metadata cannot be decoded has a row that says so, shown or not, and is not judged."""
        ids = [self.ledger(b"x") for _ in range(3)]
        broken, store = ids[1], self.client.metadata.ledgers._store
        store.write_ledger(broken, b"garbage", store.read_ledger(broken).version)
        for ledger_id in ids:
            self.result(self.marks.mark(ledger_id, ("gone:1",), 7000))
        found = self.read("repair")
        self.assertEqual((found["count"], found["lookedAt"], found["unavailable"]), (3, 3, 0))
        unjudged = f"1 ledger cannot be judged, as its metadata cannot be read or decoded, such as ledger {broken}"
        self.assertEqual(found["unjudged"], unjudged)
        row = found["ledgers"][1]
        self.assertEqual((row["id"], row["missing"], row["since"], row["state"], row["replicas"]),
                         (broken, ["gone:1"], 7.0, "UNKNOWN", None))  # fmt: skip
        self.assertTrue(row["reason"].startswith("its metadata cannot be decoded, so it cannot be repaired: "), row)
        self.assertIn("the version line is missing; gone:1 is not registered; no worker is at it", row["reason"])
        self.patch(cluster_parts, "MOST_MARKS", 1)
        found = self.read("repair")
        self.assertEqual((len(found["ledgers"]), found["lookedAt"], found["unjudged"]), (1, 3, unjudged))
        remove = self.result(self.marks.read_mark(broken)).version
        self.result(self.marks.remove_mark(broken, remove))
        self.assertEqual(self.read("repair")["unjudged"], "")

    def test_slow_details(self) -> None:
        """The marks are counted although their locks or ledgers cannot be read in time, which then are unknown; without
        the locks, the ledgers are read as well.
        """
        ledger_ids = [self.ledger(b"x") for _ in range(3)]
        for ledger_id in ledger_ids:
            self.result(self.marks.mark(ledger_id, ("bookie-0",), None))
        sample = self.read("cluster")
        self.assertEqual((sample["marked"], sample["moreMarked"]), (3, False))
        client = self.result(self.shared()).client
        read, silent = client.metadata.ledgers.read, ledger_ids[1:]
        self.patch(client.metadata.ledgers, "read", lambda each: Deferred() if each in silent else read(each))
        for locked in (True, False):
            if not locked:
                self.patch(client.metadata.underreplication, "locked_ledgers", Deferred)
            reading = self.begin("repair")
            for _ in range(1 if locked else 2):
                self.assertNoResult(reading)
                self.clock.advance(DETAILS_SECONDS)
                self.settle()
            found: Any = self.successResultOf(reading)
            self.assertEqual((found["count"], found["lookedAt"], found["unavailable"]), (3, 1, 0))
            (row,) = found["ledgers"]
            worker = "no worker is at it" if locked else "worker: not known, as the locks could not be read within 2 s"
            self.assertEqual((row["id"], worker in row["reason"]), (ledger_ids[0], True), row)
            self.assertEqual(found["readAt"], self.clock.seconds() - DETAILS_SECONDS * (1 if locked else 2))
            self.assertIn("no replication worker" if locked else "could not be read within 2 s", found["limit"])

    def test_many_marks(self) -> None:
        """Very many marks are counted for a bounded time, so that the bookies are shown; one is found in any case."""
        for pause, count in ((DETAILS_SECONDS * 0.75, 2), (DETAILS_SECONDS * 3, 1)):

            async def slowly(pause: float = pause) -> Any:
                for ledger_id in range(9):
                    self.clock.rightNow += pause
                    yield ledger_id

            self.patch(self.result(self.shared()).client.metadata.underreplication, "marked_ledgers", slowly)
            found = self.read("cluster")
            self.assertEqual((found["marked"], found["moreMarked"], found["safe"][1]["safe"]), (count, True, False))

    def test_many_details(self) -> None:
        """The details of the first of very many marks are read after a bounded time; the number is a lower bound."""
        ids = [self.ledger(b"x") for _ in range(4)]
        for number in (0, 3):
            self.result(self.marks.lock(ids[number], "h: waits: slow"))
        for ledger_id in ids:
            self.result(self.marks.mark(ledger_id, ("gone:1",), None))

        async def slowly() -> Any:
            for ledger_id in ids:
                self.clock.rightNow += LISTING_SECONDS * 0.7
                yield ledger_id

        self.patch(self.result(self.shared()).client.metadata.underreplication, "marked_ledgers", slowly)
        self.patch(cluster_parts, "MOST_MARKS", 2)
        found = self.read("repair")
        self.assertEqual((found["count"], found["moreMarked"]), (2, True))
        self.assertEqual([row["id"] for row in found["ledgers"]], ids[:2])
        self.assertEqual(found["limit"], "2 of 2 locked ledgers wait: slow")
        self.assertLess(LISTING_SECONDS + 2 * DETAILS_SECONDS, LATE)

    def test_few_slow_marks(self) -> None:
        """Few marks are all listed, although the store is slow; their details get the rest of the time."""
        ids = [self.ledger(b"x") for _ in range(4)]
        for ledger_id in ids:
            self.result(self.marks.mark(ledger_id, ("gone:1",), None))

        async def slowly() -> Any:
            for ledger_id in ids:
                self.clock.rightNow += 0.45
                yield ledger_id

        metadata = self.result(self.shared()).client.metadata
        self.patch(metadata.underreplication, "marked_ledgers", slowly)
        found = self.read("repair")
        self.assertEqual((found["count"], found["moreMarked"], found["lookedAt"]), (4, False, 4))
        for name in ("locked_ledgers", "read_mark"):
            self.patch(metadata.underreplication, name, lambda *_: Deferred())
        began, reading = self.clock.seconds(), self.begin("repair")
        while not reading.called and self.clock.seconds() < began + LATE:
            self.clock.advance(0.1)
            self.settle()
        self.assertEqual(self.successResultOf(reading)["count"], 4)  # type: ignore[index]
        self.assertLess(self.clock.seconds() - began, LATE)

    def test_slow_ledgers(self) -> None:
        """The bookies are shown although it cannot be told in time which of them no ledger needs."""
        self.ledger(b"x")
        self.result(self.cluster._registration.write_cookie("old:1", b"4\nbookieHost: \"x\"\n", None))
        self.patch(self.result(self.shared()).client.metadata.ledgers, "read", lambda ledger_id: Deferred())
        self.patch(cluster_parts, "NEWEST", 0)
        reading = self.begin("cluster")
        self.assertNoResult(reading)
        self.clock.advance(DETAILS_SECONDS)
        self.settle()
        self.assertEqual(self.result(reading)["safe"][0]["text"], "unavailable: old:1")

    def test_late_lock(self) -> None:
        """The lock of a ledger whose mark is gone already is no ledger that waits."""
        for number in range(2):
            self.result(self.marks.mark(number, ("bookie-0",), None))
            self.result(self.marks.lock(number, "h: waits until noon: slow"))
        self.assertEqual(self.read("repair")["limit"], "2 of 2 locked ledgers wait: slow")

        async def one() -> Any:
            yield 1

        self.patch(self.result(self.shared()).client.metadata.underreplication, "marked_ledgers", one)
        found = self.read("repair")
        self.assertEqual((found["count"], found["limit"]), (1, "1 of 1 locked ledgers wait: slow"))

    def test_waiting(self) -> None:
        """If replication waits for a speed limit of this process, that is what limits the repair."""
        self.result(self.marks.mark(self.ledger(b"x"), ("bookie-0",), None))
        for _ in range(3):
            self.throttles.get("replication-read").acquire().addErrback(lambda _: None)
        self.assertEqual(self.read("repair")["limit"], "the speed limit replication-read (1 entries/s)")

    def test_elsewhere(self) -> None:
        """The limits of other processes are unknown: the consoles on the hosts of those at work are named."""
        registration = self.cluster._registration
        for number, host in ((1, "10.0.0.9"), (2, "10.0.0.8")):
            info = BookieServiceInfo((Endpoint("h", host, 8080, "http"),))
            self.result(registration.register_bookie(f"bookie-{number}", False, info))
        self.read("cluster")
        for number, holder in enumerate(("own", "10.0.0.9", "10.0.0.8: waits until noon: slow")):
            self.result(self.marks.mark(number, ("bookie-0",), None))
            self.result(self.marks.lock(number, holder))
        self.jobs = [RunningJob("replication of ledger 0", "repairing", "", 0.0)]
        self.assertEqual(self.read("repair")["consoles"], ["http://10.0.0.9:8080"])
        self.result(self.marks.unlock(2))
        self.assertTrue(self.read("repair")["limit"].endswith(f" those on 10.0.0.9, {_ELSEWHERE}"))
        self.result(self.marks.unlock(1))
        found = self.read("repair")
        self.assertEqual(found["consoles"], [])
        self.assertIn("1 of 3 ledgers are being repaired, onto 4 writable bookies", found["limit"])
        self.assertNotIn("process", found["limit"])

        async def locked() -> Any:
            self.jobs = []  # the repair ends meanwhile
            return await self.marks.locked_ledgers()

        self.patch(self.result(self.shared()).client.metadata.underreplication, "locked_ledgers", locked)
        self.assertEqual(self.read("repair")["elsewhere"], [])

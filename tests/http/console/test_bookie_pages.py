"""The pages of the console about one bookie."""

import json
from collections.abc import Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock

from bookkeeper_twisted.autorecovery.operations.decommission import GONE, MARKED, OPEN, UNMARKED, Remaining
from bookkeeper_twisted.bookie.admin import DirectoryUsage, EntryLogFile, Phase, WorkProgress
from bookkeeper_twisted.bookie.lifecycle.disk_monitor import FEW_INODES
from bookkeeper_twisted.bookie.requests.slow_requests import DISK, ROOM, PresentWait, SlowRequest
from bookkeeper_twisted.http.autorecovery_api import RunningOperation
from bookkeeper_twisted.http.console.bookie_pages import LOGS_A_PAGE, LOGS_A_STEP
from bookkeeper_twisted.http.console.bookie_parts import BookieParts, operations_value, replication_value
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.limits.adaptive import RunningJob
from bookkeeper_twisted.metrics import JournalGroup
from bookkeeper_twisted.testing.admin import FakeBackgroundWork, FakeBookieAdmin

from ..http_case import HttpCase

DIRECTORY = "/ledgers/current"


class BookieConsoleCase(HttpCase):
    """Over a fake administration."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, self.clock)

    def json(self, path: str) -> Any:
        """The body of a GET."""
        answer = self.ask(f"/api/v1/console/{path}")
        self.assertEqual(answer.status, 200, answer.body)
        return json.loads(answer.body)


class BookiePagesTests(BookieConsoleCase):
    """Its state, records and space."""

    def test_read_only(self) -> None:
        """Why the bookie is read-only, and since when each reason holds."""
        self.assertEqual((self.json("bookie")["readOnly"], self.json("bookie")["reasons"]), (False, []))
        self.admin.other_reasons, self.admin.since = ("a disk is full",), 1234.5
        expected = {"text": "a disk is full", "since": 1234.5, "atLeast": False}
        self.assertEqual(self.json("bookie")["reasons"], [expected])
        self.admin.older_reasons = ("a disk is full",)
        self.assertEqual(self.json("bookie")["reasons"], [expected | {"atLeast": True}])

    def test_disks(self) -> None:
        """Each disk has its growth and the days until it is full, if they are known."""
        self.admin.usage = (DirectoryUsage("/a", 1000, 250, 100 / 86400), DirectoryUsage("/b", 1000, 250))
        first, second = self.json("bookie")["disks"]
        self.assertEqual((first["growthPerDay"], first["daysUntilFull"]), (100, 2.0))
        self.assertEqual((second["growthPerDay"], second["daysUntilFull"]), (None, None))
        self.admin.usage = (DirectoryUsage("/a", 1000, 250, 10 / 86400, None, 7200.0, 100 / 86400),)
        (found,) = self.json("bookie")["disks"]
        self.assertEqual((found["recentGrowthPerDay"], found["daysUntilFull"]), (100, 2.0))
        self.assertEqual(
            found["forecast"], "by the growth of the last hour; by that of the last 2 hours: 20.0 days"
        )

    def test_gone(self) -> None:
        """A directory that cannot be measured is a row with the reason; it has no numbers, and no forecast."""
        gone = DirectoryUsage("/b", 0, 0, reason="[Errno 2] No such file or directory: '/b/current'")
        self.admin.usage, self.admin.journal_usage = (DirectoryUsage("/a", 1000, 250), gone), (gone,)
        whole, *rows = self.json("bookie")["disks"]
        self.assertEqual((whole["total"], whole["free"], whole["reason"]), (1000, 250, ""))
        for row in rows:
            self.assertEqual((row["directory"], row["reason"]), (gone.directory, gone.reason))
            self.assertEqual((row["total"], row["free"]), (None, None))
            self.assertEqual((row["daysUntilFull"], row["growthPerDay"], row["warning"]), (None, None, ""))

    def test_journal_disks(self) -> None:
        """Disks of journals are beside those of ledgers, full at their last byte; little space is told."""
        self.admin.journal_usage = (
            DirectoryUsage("/j", 1000, 0), DirectoryUsage("/k", 1000, 51, 51 / 86400), DirectoryUsage("/l", 1000, 50),
        )  # fmt: skip
        ledgers, *journals = self.json("bookie")["disks"]
        self.assertEqual((ledgers["directory"], "journal" in ledgers), ("/ledgers", False))
        self.assertEqual([each["journal"] for each in journals], [True] * 3)
        self.assertEqual([each["daysUntilFull"] for each in journals], [0.0, 1.0, None])
        text = "bytes are left for the journal: once it needs more than what is allocated, the bookie ends"
        self.assertEqual([each["warning"] for each in journals], [f"0 {text}", "", f"50 {text}"])

    def test_index_disks(self) -> None:
        """Disks that only indexes are on have a row each, full at the threshold of ledger disks."""
        self.admin.index_usage = (DirectoryUsage("/i", 1000, 51, 1 / 86400), DirectoryUsage("/k", 1000, 10))
        *_, first, second = self.json("bookie")["disks"]
        self.assertEqual([(each["directory"], each["index"]) for each in (first, second)], [("/i", True), ("/k", True)])
        self.assertEqual([each["daysUntilFull"] for each in (first, second)], [1.0, 0.0])

    def test_inodes(self) -> None:
        """A disk without inodes is told of, however many bytes are free."""
        for inodes, warned in ((0, True), (FEW_INODES - 1, True), (FEW_INODES, False), (None, False)):
            self.admin.usage = (DirectoryUsage("/a", 1000, 900, None, inodes),)
            (found,) = self.json("bookie")["disks"]
            self.assertEqual((found["freeInodes"], bool(found["warning"])), (inodes, warned))

    def test_journals(self) -> None:
        """Each group is a row; those after a number are new."""
        for number in range(3):
            self.admin.groups[0].append(JournalGroup(100.0 + number, 5, 500, 0.001, 0.002, None if number else 0.004))
        (journal,) = self.json("journals")
        self.assertEqual((journal["last"], journal["records"][0]), (3, [100.0, 5, 500, 1.0, 2.0, 4.0]))
        self.assertEqual(self.json("journals?after=2")[0]["records"], [[102.0, 5, 500, 1.0, 2.0, None]])
        self.assertEqual(self.ask("/api/v1/console/journals?after=x").status, 400)

    def test_slow(self) -> None:
        """Slow requests name their client, ledger, entry and cause; the verdict names what most waited for."""
        self.assertEqual(self.json("latency")["cause"], "none")
        self.admin.slow.append(SlowRequest(0.0, "ADD_ENTRY", "10.0.0.7:5", 7, 3, 20, 250.04, DISK))
        (found,) = self.json("slow_requests")
        self.assertEqual(found["records"], [[0.0, "ADD_ENTRY", "10.0.0.7:5", 7, 3, 20, 250.0, DISK]])
        self.assertEqual(self.json("latency")["cause"], "disk")
        self.admin.waits = (PresentWait(ROOM, 3.0),)
        self.assertEqual(self.json("latency")["cause"], "queue")
        high = (1 << 63) - 1
        self.admin.slow.append(SlowRequest(0.0, "ADD_ENTRY", "10.0.0.7:5", high, high, 20, 250.04, DISK))
        self.assertEqual(self.json("slow_requests?after=1")[0]["records"][0][3:5], [str(high), str(high)])

    def test_work(self) -> None:
        """What is at work, with its progress and end; nothing while the bookie does not serve."""
        self.admin.work.progress = WorkProgress(10, 30, 12.34)
        self.admin.work.suspended_minor = True
        found = self.json("work")
        self.assertEqual(found["scrub"]["progress"], {"doneBytes": 10, "leftBytes": 30, "etaSeconds": 12.3})
        self.assertEqual(list(found["collection"]["directories"]), [DIRECTORY])
        self.assertEqual((found["collection"]["minor"]["suspended"], found["collection"]["major"]["threshold"]),
                         (True, 0.8))  # fmt: skip
        self.assertIsNone(found["collection"]["major"]["last"], "none has run")
        self.admin.work.last_major = 5.0
        self.assertEqual(self.json("work")["collection"]["major"]["last"], 5.0)
        self.admin.phase = Phase.STOPPING
        self.assertIsNone(self.json("work"))

    def test_waiting(self) -> None:
        """A requested collection that waits for the end of another one is told, and that the other is suspended."""
        self.assertEqual(self.json("work")["collection"]["waiting"], "")
        self.admin.work.has_waiting, self.admin.work.phase = True, "minor compaction"
        text = "a requested collection waits for the end of this one"
        for suspended, expected in ((False, text), (True, f"{text}, which is suspended")):
            self.admin.work.suspended_minor = suspended
            self.assertEqual(self.json("work")["collection"]["waiting"], expected)

    def test_entry_logs(self) -> None:
        """Live and dead bytes of each log, and what each kind of compaction would free; pages bound the list."""
        self.admin.work.logs = {0: {7: 100, 8: 50}, 10: {7: 20}, 11: {8: 70}}
        found = self.json("entry_logs")
        self.assertEqual(found["page"], [[DIRECTORY, 0, 150, 100], [DIRECTORY, 10, 20, 20], [DIRECTORY, 11, 70, 0]])
        self.assertEqual((found["bytes"], found["live"], found["deletable"]), (240, 120, 70))
        self.assertEqual(found["major"], {"logs": 1, "freed": 50, "copied": 100, "obstacles": []})
        self.assertEqual(found["minor"], {"logs": 0, "freed": 0, "copied": 0, "obstacles": []})
        known = {"count": 1, "read": self.admin.work.deleted.read_at, "unreadSince": None, "reason": ""}
        self.assertEqual(found["deletedLedgers"], known)
        measured = {"directory": DIRECTORY, "measured": self.admin.work.measured.measured_at, "reason": ""}
        self.assertEqual(found["directories"], [measured])
        self.admin.work.logs = {number: {7: 1} for number in range(LOGS_A_PAGE + 1)}
        self.assertEqual([len(self.json(f"entry_logs?page={n}")["page"]) for n in (1, 2, 3)], [LOGS_A_PAGE, 1, 0])

    def test_left_out(self) -> None:
        """The forecast names the logs that a compaction leaves out as damaged, and why."""
        self.assertEqual(self.json("entry_logs")["leftOut"], [])
        self.admin.work.damaged = {"1a.log": "wrong digest"}
        left_out = [{"directory": DIRECTORY, "log": "1a.log", "reason": "wrong digest"}]
        self.assertEqual(self.json("entry_logs")["leftOut"], left_out)

    def test_obstacles(self) -> None:
        """What a compaction would free comes with what prevents it."""
        self.admin.work.suspended_major = True
        found = self.json("entry_logs")
        self.assertEqual(found["major"]["obstacles"], ["an operator has suspended it"])
        self.assertEqual(found["minor"]["obstacles"], [])
        self.admin.work.obstacles = ("the index takes no changes",)
        self.assertEqual(self.json("entry_logs")["obstacles"], ["the index takes no changes"])

    def test_disk_ledgers(self) -> None:
        """The bytes of each ledger of a directory are counted some logs at a time, each log once."""
        self.admin.work.logs = {number: {7: 1, number: 10} for number in range(100, 100 + 2 * LOGS_A_STEP + 1)}
        total, after, steps = 0, -1, 0
        while after is not None:
            found = self.json(f"disk_ledgers?directory={DIRECTORY}&after={after}")
            total, after, steps = total + found["ledgers"]["7"], found["next"], steps + 1
        self.assertEqual((total, steps, found["left"]), (2 * LOGS_A_STEP + 1, 3, 0))
        self.assertEqual(self.ask("/api/v1/console/disk_ledgers?directory=/else").status, 400)
        self.admin.work.logs = {}
        found = self.json(f"disk_ledgers?directory={DIRECTORY}")
        self.assertEqual((found["logs"], found["left"], found["next"], found["ledgers"]), (0, 0, None, {}))

    def test_freed(self) -> None:
        """Bytes of deleted ledgers are freed now only in logs that a collection deletes or a compaction copies."""
        self.admin.work.logs = {0: {7: 100, 8: 50}, 10: {7: 90, 8: 10}, 11: {8: 70}, 12: {7: 20}}
        found = self.json(f"disk_ledgers?directory={DIRECTORY}")
        self.assertEqual((found["ledgers"], found["freed"]), ({"7": 210, "8": 130}, {"7": 100, "8": 120}))
        live = "less than 80% live (majorCompactionThreshold)"
        self.assertEqual(found["stays"], f"until their entry log is complete, undamaged and {live}")
        self.admin.work.logs = {0: {7: 100}}
        self.assertEqual(self.json(f"disk_ledgers?directory={DIRECTORY}")["freed"], {})
        work = self.admin.work
        off = [attrs.evolve(each, threshold=0.0) for each in (work.collection().major, work.collection().minor)]
        status = attrs.evolve(work.collection(), major=off[0], minor=off[1])
        self.patch(FakeBackgroundWork, "collection", lambda _: status)
        found = self.json(f"disk_ledgers?directory={DIRECTORY}")
        self.assertEqual(found["stays"], "until their entry log has no live bytes, as compactions are switched off")

    def test_freed_beside_a_full_disk(self) -> None:
        """While compactions are refused, only logs without live bytes are freed, and the reason is told."""
        self.admin.work.logs = {0: {7: 100, 8: 900}, 10: {7: 400, 8: 600}, 11: {8: 70}}
        work, full = self.admin.work.collection(), "/l is full; isForceGCAllowWhenNoSpace is false"
        for major, minor, freed in (
            ((), (), {"7": 500, "8": 1570}), ((full,), (), {"7": 100, "8": 970}), ((full,), (full,), {"8": 70}),
        ):  # fmt: skip
            kinds = attrs.evolve(work.major, refusals=major), attrs.evolve(work.minor, refusals=minor)
            status = attrs.evolve(work, major=kinds[0], minor=kinds[1])
            self.patch(FakeBackgroundWork, "collection", lambda _, status=status: status)
            found = self.json(f"disk_ledgers?directory={DIRECTORY}")
            self.assertEqual(found["freed"], freed)
            self.assertEqual(f"; no major compaction runs now: {full}" in found["stays"], bool(major))
            self.assertEqual(f"; no minor compaction runs now: {full}" in found["stays"], bool(minor))

    def test_nothing_is_freed(self) -> None:
        """While the directory or an index takes no writes, or no checkpoint succeeds, no bytes are promised."""
        self.admin.work.logs = {0: {7: 100, 8: 50}, 11: {8: 70}}
        (usage,) = self.admin.usage
        no_space, index = "a checkpoint found no space", "the index directory /i cannot be used"
        failed, broken = "a checkpoint failed: /l: Read-only file system (errno 30)", "its file system is read-only"
        for reason, reasons, stays in (
            ("", (), ""), ("", (no_space,), ""),
            (broken, (failed,), f"until the directory can be used again: {broken}"),
            ("", (failed,), f"until a checkpoint succeeds: {failed}"),
            ("", (no_space, index), f"until a checkpoint succeeds: {index}"),
        ):  # fmt: skip
            self.admin.usage, self.admin.other_reasons = (attrs.evolve(usage, reason=reason),), reasons
            found = self.json(f"disk_ledgers?directory={DIRECTORY}")
            self.assertEqual(found["freed"], {} if stays else {"7": 100, "8": 120})
            self.assertEqual(found["ledgers"], {"7": 100, "8": 120})
            if stays:
                self.assertEqual(found["stays"], stays)

    def test_freed_beside_a_failed_disk(self) -> None:
        """A checkpoint that failed in other directories alone prevents no collection of this one."""
        self.admin.work.logs = {0: {7: 100, 8: 50}, 11: {8: 70}}
        work = self.admin.work.collection()
        here = attrs.evolve(work.directories[0], index="/i/current/index.sqlite")
        other = attrs.evolve(here, directory="/ledgers2/current", index="/ledgers2/current/index.sqlite")
        status = attrs.evolve(work, directories=(here, other))
        self.patch(FakeBackgroundWork, "collection", lambda _: status)
        failed, used = "a checkpoint failed: ", "the index directory"
        for reason, is_here in (
            (f"{failed}/ledgers2: EIO (errno 5)", False), (f"{failed}/ledgers: EIO (errno 5)", True),
            (f"{failed}/i: disk I/O error", True), (f"{failed}/ledgers2: EIO (errno 5); /i: disk I/O error", True),
            (f"{used} /ledgers2/ cannot be used", False), (f"{used} /i/ cannot be used", True),
            (f"{used} /i cannot be used", True), ("a checkpoint failed", True),
        ):  # fmt: skip
            self.admin.other_reasons = (reason,)
            found = self.json(f"disk_ledgers?directory={DIRECTORY}")
            self.assertEqual(found["freed"], {} if is_here else {"7": 100, "8": 120}, reason)
            self.assertEqual(reason in found["stays"], is_here)

    def test_other_directory_gone(self) -> None:
        """The ledgers of a directory are counted although another one is gone; of that one, the error is told."""
        gone = "[Errno 2] No such file or directory: '/gone/current'"

        class HalfGoneWork(FakeBackgroundWork):
            def entry_logs(self, directory: str = "") -> "Deferred[Sequence[EntryLogFile]]":
                return super().entry_logs(directory) if directory == DIRECTORY else fail(FileNotFoundError(gone))

        self.admin.work = HalfGoneWork()
        self.admin.usage = (*self.admin.usage, DirectoryUsage("/gone", 0, 0, reason=gone))
        self.assertEqual(self.json(f"disk_ledgers?directory={DIRECTORY}")["logs"], 2)
        answer = self.ask("/api/v1/console/disk_ledgers?directory=/gone/current")
        self.assertEqual((answer.status, gone in answer.body), (500, True))

    def test_not_serving(self) -> None:
        """While the bookie starts, its state is there, and its entry logs are not."""
        self.admin.phase = Phase.STARTING
        self.assertEqual(self.json("bookie")["phase"], "starting")
        self.assertEqual(self.ask("/api/v1/console/entry_logs").status, 503)


class BookiePartsTests(BookieConsoleCase):
    """What the stream sends beyond the pages."""

    def read(self, name: str) -> Any:
        """The state of a part."""
        (source,) = [each for each in BookieParts(self.admin, self.clock.seconds).sources() if each.name == name]
        return self.successResultOf(Deferred.fromCoroutine(source.read()))  # type: ignore[union-attr,arg-type]

    def test_throttles(self) -> None:
        """The limits are those of the page about limits; there are none while the bookie does not serve."""
        self.assertEqual(self.read("throttles")["limiters"]["gc-metadata"]["entriesPerSecond"], 1000)
        self.admin.phase = Phase.STOPPED
        self.assertIsNone(self.read("throttles"))

    def test_replication(self) -> None:
        """A repair has the fragments that are done of all, its copied bytes, and its end if that is known."""
        job = RunningJob("replication of ledger 7", "repairing", "", 5.0, 1, 3, 1000, 12.34)
        (found,) = replication_value([job])
        assert isinstance(found, dict)
        self.assertEqual((found["done"], found["total"], found["bytes"], found["eta"]), (1, 3, 1000, 12.3))
        (found,) = replication_value([RunningJob("replication of ledger 8", "waiting", "b is away", 5.0)])
        assert isinstance(found, dict)
        self.assertEqual((found["reason"], found["eta"]), ("b is away", None))

    def test_many_repairs(self) -> None:
        """Of very many ledgers that the worker holds, the first are shown, behind those that it is repairing."""
        jobs = [RunningJob(f"replication of ledger {n}", "impossible", "b is lost", 5.0) for n in range(5000)]
        jobs[4000] = RunningJob("replication of ledger 4000", "repairing", "", 5.0)
        found: Any = replication_value(jobs)
        self.assertEqual([each["name"].rpartition(" ")[2] for each in found], ["4000", *map(str, range(99))])

    def test_operations(self) -> None:
        """A decommission says what it still waits for, the most frequent reason first."""
        operation = RunningOperation("decommission of bookie b", 5.0)
        self.assertEqual(operations_value({"d": operation}, 25.0), [{"name": "decommission of bookie b", "began": 5.0}])
        operation.remaining = Remaining({1: OPEN, **dict.fromkeys(range(2, 50), UNMARKED)}, 60)
        (found,) = operations_value({"d": operation}, 25.0)
        assert isinstance(found, dict)
        self.assertEqual((found["found"], found["left"], found["eta"]), (60, 49, 89.1))
        self.assertEqual([each["reason"] for each in found["blockers"]], [UNMARKED, OPEN])
        self.assertEqual((found["blockers"][0]["count"], len(found["blockers"][0]["ledgers"])), (48, 20))

    def test_no_end(self) -> None:
        """A decommission that cannot end, or not before a time, says so instead of a number."""
        operation = RunningOperation("decommission of bookie b", 5.0)
        held = "held by h: waits until 2026-11-27T18:00:00Z: b:2 is slow"
        later = "held by h: left to its writer until 2026-11-27T19:00:00Z: its writer may replace it"
        never = "held by h: cannot be repaired, tried again at 2026-11-27T18:00:00Z: no bookie has entry 5"
        for blockers, obstacle in (
            ({1: held, 2: later, 3: UNMARKED},
             f"does not end before 2026-11-27T19:00:00Z: 2 ledgers wait for their times; 1 more: {UNMARKED}"),
            ({1: held, 2: never}, "cannot end: 1 ledger cannot be repaired, as ledger 2: no bookie has entry 5"),
        ):  # fmt: skip
            operation.note(Remaining(blockers, 60), 20.0)
            (found,) = operations_value({"d": operation}, 25.0)
            assert isinstance(found, dict)
            self.assertEqual((found["obstacle"], found["eta"]), (obstacle, None))
            self.assertEqual(found["summary"].partition(" left, 1 of them because of this: ")[0],
                             f"{obstacle}; {len(blockers)} ledgers")  # fmt: skip

    def test_gone(self) -> None:
        """Ledgers without any replica left come first, whatever most of the others wait for, and there is no end."""
        operation = RunningOperation("decommission of bookie b", 5.0)
        operation.note(Remaining({**dict.fromkeys(range(300), MARKED), **dict.fromkeys(range(300, 500), GONE)}, 600), 9)
        (found,) = operations_value({"d": operation}, 25.0)
        assert isinstance(found, dict)
        obstacle = (
            "cannot end: 200 ledgers cannot be repaired, as ledger 300: no registered bookie has a replica of some of "
            "its entries"
        )
        self.assertEqual((found["obstacle"], found["eta"]), (obstacle, None))
        most = f"500 ledgers left, 300 of them because of this: {MARKED}"
        self.assertEqual(found["summary"], f"{obstacle}; {most}")

    def test_outage(self) -> None:
        """As soon as the metadata store is away, the ledgers are said to be those of before, and there is no end."""
        operation = RunningOperation("decommission of bookie b", 5.0)
        for count in (60, 20):
            operation.note(Remaining(dict.fromkeys(range(count), MARKED), 60), 20.0)
        for outage in ("", "no connection"):
            (found,) = operations_value({"d": operation}, 25.0, (), outage)
            assert isinstance(found, dict)
            left = f"20 ledgers left, 20 of them because of this: {MARKED}"
            text = f"waits for the metadata store: {outage}; before: {left}" if outage else left
            self.assertEqual((found["unreachable"], found["summary"]), (outage, text))
            self.assertEqual((found["eta"] is None, found["left"]), (bool(outage), 20))
        for before, outage in (("", "no connection"), ("no connection", ""), ("", "")):
            operation = RunningOperation("decommission of bookie b", 5.0, remaining=Remaining({}, 0, before))
            (found,) = operations_value({"d": operation}, 25.0, (), outage)
            assert isinstance(found, dict)
            told = {"unreachable": "no connection", "summary": "waits for the metadata store: no connection"}
            self.assertEqual({name: found[name] for name in found.keys() - {"name", "began"}},
                             told if before or outage else {})  # fmt: skip

    def test_past_time(self) -> None:
        """A time that is past is not shown: its ledger waits for a free worker, and the end follows from the speed."""
        operation = RunningOperation("decommission of bookie b", 0.0)
        never = "held by h: cannot be repaired, tried again at 1970-01-01T00:00:50Z: no bookie has entry 5"
        held = {n: f"held by h: {text} until 1970-01-01T00:00:{40 + n}Z: b:2 is slow"
                for n, text in enumerate(("waits", "left to its writer"))}  # fmt: skip
        operation.note(Remaining(held | {2: MARKED}, 6, read_at=39.0), 40.0)
        for now, obstacle, eta, kinds in (
            (39.0, f"does not end before 1970-01-01T00:00:41Z: 2 ledgers wait for their times; 1 more: {MARKED}", None,
             ["held by a worker: waits until a time: b:2 is slow",
              "held by a worker: left to its writer until a time: b:2 is slow", MARKED]),
            (40.0, f"does not end before 1970-01-01T00:00:41Z: 1 ledger waits for its time; "
             f"1 more: held by a worker: waits for a free worker: b:2 is slow; 1 more: {MARKED}", None,
             ["held by a worker: waits for a free worker: b:2 is slow",
              "held by a worker: left to its writer until a time: b:2 is slow", MARKED]),
            (41.0, "", 41.0, ["held by a worker: waits for a free worker: b:2 is slow", MARKED]),
        ):  # fmt: skip
            (found,) = operations_value({"d": operation}, now)
            assert isinstance(found, dict)
            self.assertEqual((found["obstacle"], found["eta"], found["readAt"]), (obstacle, eta, 39.0))
            self.assertEqual([each["kind"] for each in found["blockers"]], kinds)
        for now, present in ((49.0, "at a time"), (50.0, "soon")):
            operation.note(Remaining({1: never}, 6), 40.0)
            (found,) = operations_value({"d": operation}, now)
            assert isinstance(found, dict)
            self.assertIn(f"tried again {present}: no bookie", found["blockers"][0]["kind"])
            self.assertIn("cannot end: 1 ledger ", found["obstacle"])

    def test_slower(self) -> None:
        """A decommission that makes no progress ends later, and not before the repairs of its ledgers."""
        operation = RunningOperation("decommission of bookie b", 0.0)
        operation.note(Remaining(dict.fromkeys(range(10), UNMARKED), 10), 1.0)
        operation.note(Remaining(dict.fromkeys(range(3), UNMARKED), 10), 5.0)
        operation.note(Remaining(dict.fromkeys(range(2), UNMARKED), 10), 10.0)
        jobs = [RunningJob(f"replication of ledger {n}", "repairing", "", 5.0, eta=100.0 * n) for n in (1, 7)]
        for now, more, eta in ((11.0, (), 2.8), (1010.0, (), 2000.0), (12.0, jobs, 100.0)):
            operation.note(operation.remaining or Remaining({}, 0), now)
            (found,) = operations_value({"d": operation}, now, more)
            assert isinstance(found, dict)
            self.assertEqual((found["eta"], found["obstacle"]), (eta, ""))

    def test_kinds(self) -> None:
        """Reasons that differ in ids, times and workers are one kind, with an example; there are not many kinds."""
        operation = RunningOperation("decommission of bookie b", 5.0)
        reasons = {
            n: f"held by h-{n % 3}: waits until 2026-11-27T18:{n:02}:00Z: ledger {n}: b:1 has no entry {n}-{2 * n}"
            for n in range(10, 60)
        }  # fmt: skip
        operation.remaining = Remaining(reasons | {1: "held by h: waits until 2026-11-27T18:00:00Z: b:2 is slow"}, 60)
        (found,) = operations_value({"d": operation}, 25.0)
        assert isinstance(found, dict)
        self.assertEqual([each["count"] for each in found["blockers"]], [50, 1])
        self.assertEqual(found["blockers"][0]["reason"], reasons[10])
        self.assertEqual(
            found["blockers"][0]["kind"], "held by a worker: waits until a time: ledger ...: b:1 has no entry ..."
        )
        operation.remaining = Remaining({n: f"b:{n} is slow" for n in range(400)}, 400)
        (found,) = operations_value({"d": operation}, 25.0)
        assert isinstance(found, dict)
        self.assertEqual(len(found["blockers"]), 20)

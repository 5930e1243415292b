"""Garbage collection, compaction and scrub over HTTP."""

import json
from typing import Any

import attrs
from twisted.internet.task import Clock

from bookkeeper_twisted.bookie.admin import Phase, WorkProgress
from bookkeeper_twisted.http.background_api import FINDINGS_A_PAGE
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.storage.maintenance.scrub import DamagedEntries
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from .http_case import HttpCase, captured

API = "/api/v1/bookie/"


class BackgroundCase(HttpCase):
    """Over a fake administration, of the bookie whose answers were captured."""

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin(bookie_id="127.0.0.1:3281", address="127.0.0.1:3281")
        self.work = self.admin.work
        self.site = make_site(self.admin, Clock())

    def answer(self, path: str, method: str = "GET", body: str = "") -> tuple[int, str]:
        """Status and body."""
        found = self.ask(API + path, method, body)
        return found.status, found.body

    def json(self, path: str) -> Any:
        """The body of a GET."""
        return json.loads(self.ask(API + path).body)


class CollectionTests(BackgroundCase):
    """Garbage collection and compaction."""

    def test_collect(self) -> None:
        """A PUT forces a run, with the compactions that its body names; the words are those of Apache's."""
        self.assertEqual(self.answer("gc", "PUT"), captured("gc-put"))
        both = '{"forceMajor":true,"forceMinor":true}'
        self.assertEqual(self.answer("gc", "PUT", both), captured("gc-put-force"))
        self.answer("gc", "PUT", '{"forceMajor" : false}')
        self.assertEqual(self.work.collections, [(True, True), (True, True), (False, True)])

    def test_collect_refused(self) -> None:
        """A body that is no JSON object, or has other values, forces nothing."""
        for body in ("gc!", "[]", '{"forceMajor" : 1}', '{"forceMinor" : "true"}', "[" * 50_000):
            status, text = self.answer("gc", "PUT", body)
            self.assertEqual(status, 400, text)
        self.assertEqual(self.work.collections, [])

    def test_mistyped(self) -> None:
        """A member that has no meaning is refused where Apache's ignores it, and nothing is done."""
        for path, known in (
            ("gc", ("forceMajor", "forceMinor")),
            ("gc/suspend_compaction", ("suspendMajor", "suspendMinor")),
            ("gc/resume_compaction", ("resumeMajor", "resumeMinor")),
            ("entry_location_compact", ("entryLocationRocksDBCompact", "entryLocations")),
        ):
            body = json.dumps({known[0]: True, "forceMajr": False})
            text = f"the body: unknown forceMajr; known: {', '.join(known)}"
            self.assertEqual(self.answer(path, "PUT", body), (400, text))
        work = self.work
        self.assertEqual((work.collections, work.suspended_major, work.suspended_minor), ([], False, False))

    def test_forced(self) -> None:
        """Whether a forced run is at work, as text; another method gets Apache's hint."""
        self.assertEqual(self.answer("gc"), captured("gc-get"))
        self.work.forced = True
        self.assertEqual(self.json("gc"), {"is_in_force_gc": "true"})
        hint = "Not found method. Should be PUT to trigger GC, Or GET to get Force GC state."
        self.assertEqual(self.answer("gc", "DELETE"), (404, hint))

    def test_details(self) -> None:
        """An object for each directory, byte for byte as Apache's; what is at work there is said."""
        self.work.majors = 2
        self.work.last_major = self.work.last_minor = 1_795_225_873.741
        text = self.answer("gc_details")[1]
        theirs = captured("gc_details")[1]
        location = '"lastEntryLocationCompactionTime" : '
        self.assertEqual(text, theirs.replace(location + "1795225550536", location + "1795225000000"))
        self.work.phase, self.work.forced, self.work.progress = "major compaction", True, WorkProgress(1, 2, 0.5)
        (details,) = self.json("gc_details")
        self.assertEqual((details["forceCompacting"], details["majorCompacting"]), (True, True))
        self.assertFalse(details["minorCompacting"])

    def test_compaction_times(self) -> None:
        """The times of compactions are Apache's: at first the start; a major compaction is a minor one, too."""
        began = 1_795_225_000
        for major, minor, told in (
            (None, None, (began, began)), (began + 5.0, None, (began + 5, began + 5)),
            (None, began + 7.0, (began, began + 7)), (began + 5.0, began + 7.0, (began + 5, began + 7)),
        ):  # fmt: skip
            self.work.last_major, self.work.last_minor = major, minor
            (details,) = self.json("gc_details")
            times = details["lastMajorCompactionTime"], details["lastMinorCompactionTime"]
            self.assertEqual(times, (told[0] * 1000, told[1] * 1000))

    def test_progress(self) -> None:
        """Bytes done and left, and seconds to the end; damaged logs with the reason."""
        self.work.phase = "minor compaction"
        self.work.progress, self.work.damaged = WorkProgress(30, 60, 20.04), {"a.log": "1 byte is missing"}
        found = self.json("gc/progress")
        self.assertEqual(found["phase"], "minor compaction")
        (directory,) = found["directories"].values()
        self.assertEqual(directory["compaction"], {"doneBytes": 30, "leftBytes": 60, "etaSeconds": 20.0})
        self.assertEqual(directory["damagedEntryLogs"], {"a.log": "1 byte is missing"})
        self.work.progress = WorkProgress(0, 90, None)
        self.assertIsNone(self.json("gc/progress")["directories"]["/ledgers/current"]["compaction"]["etaSeconds"])

    def test_suspend_and_resume(self) -> None:
        """In the words of Apache's, and shown."""
        both = '{"suspendMajor":true,"suspendMinor":true}'
        self.assertEqual(self.answer("gc/suspend_compaction", "PUT", both), captured("suspend_compaction"))
        self.assertEqual(self.answer("gc/suspend_compaction"), captured("suspend_compaction-get"))
        both = '{"resumeMajor":true,"resumeMinor":true}'
        self.assertEqual(self.answer("gc/resume_compaction", "PUT", both), captured("resume_compaction"))
        self.assertEqual((self.work.suspended_major, self.work.suspended_minor), (False, False))

    def test_one_kind(self) -> None:
        """One kind is suspended, and resumed, without the other."""
        status, text = self.answer("gc/suspend_compaction", "PUT", '{"suspendMinor":true}')
        self.assertEqual((status, json.loads(text)[:16]), (200, "Suspend minorGC "))
        self.assertEqual((self.work.suspended_major, self.work.suspended_minor), (False, True))
        self.answer("gc/resume_compaction", "PUT", '{"resumeMajor":true}')
        self.assertTrue(self.work.suspended_minor)

    def test_suspend_refused(self) -> None:
        """A body that names no kind is refused, in Apache's words."""
        for verb in ("suspend", "resume"):
            path = f"gc/{verb}_compaction"
            self.assertEqual(self.answer(path, "PUT"), (400, "Empty request body"))
            expected = (400, f"No {verb}Major or {verb}Minor params found")
            self.assertEqual(self.answer(path, "PUT", "{}"), expected)
            self.assertEqual(self.answer(path, "PUT", f'{{"{verb}Major":false}}'), expected)
            self.assertEqual(self.answer(path, "PUT", f'{{"{verb}Major":1}}')[0], 400)

    def test_cancel(self) -> None:
        """A PUT ends the compaction at work."""
        self.assertEqual(self.answer("gc/cancel_compaction")[0], 404)
        self.assertEqual(self.answer("gc/cancel_compaction", "PUT")[0], 200)
        self.assertEqual(self.work.cancelled, 1)

    def test_locations(self) -> None:
        """No index is ever being compacted, and none has to be; a path that is none is refused."""
        path, index = "entry_location_compact", "/ledgers/current/index.sqlite"
        self.assertEqual(self.json(path), {index: False})
        self.assertEqual(self.answer(path, "PUT"), (400, "Empty request body"))
        no = self.answer(path, "PUT", '{"entryLocationRocksDBCompact":false}')
        self.assertEqual(no, (200, '"Not trigger Entry Location RocksDB compact."'))
        for more in ("", f',"entryLocations":"{index}"'):
            status, text = self.answer(path, "PUT", f'{{"entryLocationRocksDBCompact":true{more}}}')
            self.assertEqual((status, "has to be compacted" in text), (200, True))
        self.assertEqual(self.answer(path, "PUT", '{"entryLocationRocksDBCompact":"true"}')[0], 400)
        for wrong in ('"/x"', "7"):
            body = f'{{"entryLocationRocksDBCompact":true,"entryLocations":{wrong}}}'
            self.assertEqual(self.answer(path, "PUT", body)[0], 400)

    def test_not_serving(self) -> None:
        """A bookie that does not serve says what it does instead."""
        self.admin.phase = Phase.STARTING
        for path in ("gc", "gc_details", "gc/suspend_compaction", "gc/progress", "scrub", "throttles", "last_log_mark"):
            self.assertEqual(self.answer(path), (503, "the bookie is starting"))
        self.assertEqual(self.answer("gc", "PUT"), (503, "the bookie is starting"))


class SpaceTests(BackgroundCase):
    """The space of ledgers in entry logs."""

    def test_entry_logs(self) -> None:
        """The logs, and of one that is named the bytes of each ledger."""
        first, second = self.json("entry_logs")
        self.assertEqual(first, {"directory": "/ledgers/current", "logId": 0, "fileBytes": 1174})
        self.assertEqual(second["logId"], 10)
        self.assertEqual(self.json("entry_logs?directory=/ledgers/current&log_id=0"), {"7": 100, "8": 50})
        for wrong in ("directory=/x&log_id=0", "directory=/ledgers/current&log_id=5", "directory=/ledgers/current"):
            status, text = self.answer(f"entry_logs?{wrong}")
            self.assertEqual((status, "log_id" in text or "no entry log" in text), (400, True))


class ScrubTests(BackgroundCase):
    """The scrub."""

    def test_scrub(self) -> None:
        """It is started, suspended and resumed; its state is shown."""
        self.assertEqual(self.json("scrub")["lastPassTime"], None)
        self.assertEqual(self.answer("scrub", "PUT"), (200, '"Triggered scrub on BookieServer: 127.0.0.1:3281"'))
        self.assertEqual(self.answer("scrub/suspend", "PUT")[0], 200)
        self.assertIsNone(self.json("scrub")["at"])
        self.work.progress = WorkProgress(1, 3, 6.0)
        found = self.json("scrub")
        self.assertEqual(found["at"], "/ledgers/current, directory 1 of 2")
        self.assertEqual((found["passes"], found["suspended"], found["failures"]), (1, True, 0))
        self.assertEqual(found["progress"], {"doneBytes": 1, "leftBytes": 3, "etaSeconds": 6.0})
        self.assertEqual(found["lastPassTime"], 1_795_225_000_000)
        self.assertEqual(self.answer("scrub/resume", "PUT")[0], 200)
        self.assertFalse(self.json("scrub")["suspended"])
        self.assertEqual(self.answer("scrub/cancel", "PUT")[0], 200)
        self.assertIsNone(self.json("scrub")["progress"])

    def test_findings(self) -> None:
        """Damage is listed a page at a time, and counted."""
        one = DamagedEntries(7, 1, 5, 1_795_225_000, "a.log: offset 1028")
        self.assertEqual(self.answer("scrub/findings"), (200, "[ ]"))
        self.work.findings = tuple(attrs.evolve(one, ledger_id=number) for number in range(FINDINGS_A_PAGE + 1))
        self.assertEqual(self.json("scrub")["findings"], FINDINGS_A_PAGE + 1)
        self.assertEqual(len(self.json("scrub/findings")), FINDINGS_A_PAGE)
        (last,) = self.json("scrub/findings?page=2")
        self.assertEqual(
            last,
            {
                "ledgerId": FINDINGS_A_PAGE, "firstEntryId": 1, "lastEntryId": 5, "foundTime": 1_795_225_000_000,
                "text": "a.log: offset 1028",
            },
        )  # fmt: skip
        self.assertEqual(self.json("scrub/findings?page=3"), [])

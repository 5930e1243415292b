"""Autorecovery over HTTP."""

import json
from typing import Any

from twisted.internet.defer import ensureDeferred, fail
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.errors import MetadataSerializationError, MetadataUnavailableError
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.cluster import MemoryCluster

from .http_case import HttpCase, captured


class AutorecoveryApiTests(HttpCase):
    """Over a cluster in memory."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock, 3)
        connected = self.cluster.connect()
        self.settle()
        self.client = self.successResultOf(connected)
        self.driver: Any = self.client.metadata
        shared = SharedClient(lambda: self.cluster.connect().addCallback(BookKeeperAdmin))
        self.site = make_site(FakeBookieAdmin(), self.clock, shared)

    def settle(self) -> None:
        """Turns of the clock."""
        self.clock.pump([0.0] * 60)

    def do(self, work: Any) -> Any:
        """The result of a coroutine, or of a Deferred."""
        running = ensureDeferred(work)
        self.settle()
        return self.successResultOf(running)

    def assertAnswers(self, name: str, path: str, method: str = "GET") -> None:
        """The request of a capture is answered as Apache's bookie answered it."""
        answer = self.ask(f"/api/v1/autorecovery/{path}", method)
        self.assertEqual((answer.status, answer.body), captured(name))

    def test_switch(self) -> None:
        """It is shown, and turned."""
        self.assertAnswers("autorecovery-status", "status")
        answer = self.ask("/api/v1/autorecovery/status?enabled=false", "PUT")
        self.assertEqual((answer.status, json.loads(answer.body)), (200, {"enabled": False}))
        self.assertFalse(self.do(self.driver.underreplication.is_enabled()))
        for query in ("?enabled=perhaps", "?enable=true", ""):
            self.assertEqual(self.ask(f"/api/v1/autorecovery/status{query}", "PUT").status, 400)
        self.assertFalse(self.do(self.driver.underreplication.is_enabled()))

    def test_events(self) -> None:
        """The events of changes tell what was changed: which way the switch was turned, and of which bookie."""
        with capturedLogs() as events:
            for value in ("true", "false"):
                self.ask(f"/api/v1/autorecovery/status?enabled={value}", "PUT")
            self.ask("/api/v1/autorecovery/lost_bookie_recovery_delay", "PUT", '{"delay_seconds": 7}')
        said = [formatEvent(event) for event in events if "was done" in formatEvent(event)]
        self.assertEqual(
            [text.partition(" of ")[0].rpartition("/")[2] for text in said],
            ["status with enabled=true", "status with enabled=false",
             "lost_bookie_recovery_delay with delay_seconds=7"],
        )  # fmt: skip

    def test_marks(self) -> None:
        """Ids of marked ledgers, filtered, with the bookies on demand; none is "not found"."""
        path = "/api/v1/autorecovery/list_under_replicated_ledger"
        self.assertEqual(self.ask(path).status, 404)
        self.do(self.driver.underreplication.mark(3, ("bookie-1",), 5))
        self.do(self.driver.underreplication.mark(5, ("bookie-2", "bookie-1"), 5))
        self.assertEqual(json.loads(self.ask(path).body), sorted(json.loads(captured("list_under_replicated")[1])))
        self.assertEqual(json.loads(self.ask(f"{path}?missingreplica=bookie-2").body), [5])
        self.assertEqual(json.loads(self.ask(f"{path}?excludingmissingreplica=bookie-2").body), [3])
        answer = self.ask(f"{path}?printmissingreplica=true")
        self.assertEqual(json.loads(answer.body), {"3": ["bookie-1"], "5": ["bookie-2", "bookie-1"]})

    def test_decommission_by_another_process(self) -> None:
        """If another process has deleted the cookie of the same bookie, whose ledgers are copied, it is done, too."""
        self.driver.auditing.stand("bookie-2", lambda elected: None)
        self.do(self.driver.registration.write_cookie("gone:1", b"5\n", None))
        self.do(self.driver.underreplication.mark(3, ("gone:1",), 5))
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1", "delete_cookie": true}')
        self.clock.pump([1.0] * 5)
        self.do(self.driver.registration.remove_cookie("gone:1", 0))
        self.do(self.driver.underreplication.remove_mark(3, 0))
        self.clock.pump([1.0] * 5)
        (found,) = self.progress()
        self.assertEqual((found["state"], found.get("reason", "")), ("done", ""), found)

    def test_undecodable_mark(self) -> None:
        """A mark that cannot be decoded is listed without bookies."""
        for ledger_id in (3, 5):
            self.do(self.driver.underreplication.mark(ledger_id, ("bookie-1",), 5))
        self.driver.underreplication._store.write_mark(3, b"\xff", 0)
        path = "/api/v1/autorecovery/list_under_replicated_ledger"
        self.assertEqual(json.loads(self.ask(path).body), [3, 5])
        self.assertEqual(json.loads(self.ask(f"{path}?printmissingreplica=true").body), {"3": [], "5": ["bookie-1"]})

    def test_workers(self) -> None:
        """What the lock of each marked ledger says, with the bookies on demand."""
        path = "/api/v1/autorecovery/list_under_replicated_ledger?printreplicationworkerid=true"
        for ledger_id in (3, 5):
            self.do(self.driver.underreplication.mark(ledger_id, ("bookie-1",), 5))
        self.do(self.driver.underreplication.lock(5, "host"))
        self.do(self.driver.underreplication.describe_lock(5, "host: cannot be repaired"))
        texts: dict[str, Any] = {"3": None, "5": "host: cannot be repaired"}
        expected = {ledger_id: {"replicationWorkerId": text} for ledger_id, text in texts.items()}
        self.assertEqual(json.loads(self.ask(path).body), expected)
        for shown in expected.values():
            shown["missingReplicas"] = ["bookie-1"]
        self.assertEqual(json.loads(self.ask(f"{path}&printmissingreplica=true").body), expected)

    def test_auditor(self) -> None:
        """Its id, and an audit on demand; without an auditor neither."""
        self.assertEqual(self.ask("/api/v1/autorecovery/who_is_auditor").status, 404)
        answer = self.ask("/api/v1/autorecovery/trigger_audit", "PUT")
        self.assertEqual(answer.status, 400)
        self.assertIn("no auditor", answer.body)
        self.driver.auditing.stand("127.0.0.1:3281", lambda elected: None)
        self.settle()
        self.assertAnswers("who_is_auditor", "who_is_auditor")
        self.assertAnswers("trigger_audit", "trigger_audit", "PUT")

    def test_delay(self) -> None:
        """It is shown and set; a body that does not say how long is refused."""
        self.assertAnswers("lost_bookie_recovery_delay", "lost_bookie_recovery_delay")
        path = "/api/v1/autorecovery/lost_bookie_recovery_delay"
        answer = self.ask(path, "PUT", '{"delay_seconds": 12}')
        self.assertEqual((answer.status, answer.body), (200, "Success set lostBookieRecoveryDelay to 12"))
        self.assertEqual(self.do(self.driver.auditing.lost_bookie_delay()), 12)
        for body in ("", "{}", "[]", "no", "[" * 50_000, '{"delay_seconds": "1"}', '{"delay_seconds": true}'):
            self.assertEqual(self.ask(path, "PUT", body).status, 404)
        for seconds in (-1, 2**31):
            self.assertEqual(self.ask(path, "PUT", json.dumps({"delay_seconds": seconds})).status, 400)
        self.assertEqual(self.do(self.driver.auditing.lost_bookie_delay()), 12)

    def test_mistyped(self) -> None:
        """A member that has no meaning is refused, and named."""
        for path, body in (
            ("lost_bookie_recovery_delay", {"delay_seconds": 5, "delay_second": 6}),
            ("decommission", {"bookie_src": "gone:1", "delete_cooky": True}),
            ("bookie", {"bookie_src": ["gone:1"], "delete_cooky": True}),
        ):
            answer = self.ask(f"/api/v1/autorecovery/{path}", "PUT", json.dumps(body))
            self.assertEqual((answer.status, answer.body.split(";")[0]), (400, f"the body: unknown {list(body)[1]}"))
        self.assertEqual(self.do(self.driver.auditing.lost_bookie_delay()), None)

    def test_decommission(self) -> None:
        """It goes on after the answer, until nothing needs the bookie; then the cookie goes, where that is wanted."""
        path = "/api/v1/autorecovery/decommission"
        self.assertEqual((self.ask(path, "PUT").status, self.ask(path, "PUT").body), captured("decommission-bad"))
        self.assertEqual(self.ask(path, "PUT", '{"bookie_src": 5}').status, 404)
        body = json.dumps({"bookie_src": "gone:1", "delete_cookie": True})
        refused = self.ask(path, "PUT", body)
        self.assertEqual((refused.status, refused.body[:10]), (400, "no auditor"))
        self.driver.auditing.stand("bookie-2", lambda elected: None)
        self.do(self.driver.registration.write_cookie("gone:1", b"5\n", None))
        self.do(self.driver.underreplication.mark(3, ("gone:1",), 5))
        for _ in range(2):  # one is enough
            answer = self.ask(path, "PUT", body)
            self.assertEqual((answer.status, answer.body), (200, "Success send decommission Bookie command gone:1"))
        self.clock.pump([1.0] * 5)
        self.assertIn("gone:1", self.do(self.driver.registration.all_bookies()))
        self.do(self.driver.underreplication.remove_mark(3, 0))
        self.clock.pump([1.0] * 5)
        self.assertNotIn("gone:1", self.do(self.driver.registration.all_bookies()))

    def test_decommission_without_store(self) -> None:
        """One that is requested while the metadata store is away waits for it, also for the first connection to it."""
        path, body = "/api/v1/autorecovery/decommission", '{"bookie_src": "gone:1", "delete_cookie": true}'
        self.driver.auditing.stand("bookie-2", lambda elected: None)

        def away(*_: object) -> Any:
            return fail(MetadataUnavailableError("no connection"))

        for place, name in ((MemoryCluster, "connect"), (type(self.driver.registration), "writable_bookies")):
            self.do(self.driver.registration.write_cookie("gone:1", b"5\n", None))
            patch = self.patch(place, name, away)
            self.assertEqual(self.ask(path, "PUT", '{"bookie_src": "no id"}').status, 400)
            self.assertEqual(self.ask(path, "PUT", body).status, 200)
            self.clock.pump([5.0] * 200)
            patch.restore()
            self.assertIn("gone:1", self.do(self.driver.registration.all_bookies()))
            self.clock.pump([5.0] * 3)
            self.assertNotIn("gone:1", self.do(self.driver.registration.all_bookies()))

    def test_decommission_with_undecodable_metadata(self) -> None:
        """It ends with the ledgers that may need the bookie, does not delete its cookie, and says what to do first."""
        writer = self.do(self._write())
        self.driver.auditing.stand("bookie-2", lambda elected: None)
        self.do(self.driver.registration.write_cookie("gone:1", b"5\n", None))

        async def undecodable(*_: object) -> Any:
            raise MetadataSerializationError("the version line is missing")

        self.patch(type(self.driver.ledgers), "read", undecodable)
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1", "delete_cookie": true}')
        self.clock.pump([1.0] * 3)
        (progress,) = self.progress()
        self.assertEqual(progress["state"], "failed")
        self.assertIn(f"read or decoded, such as ledger {writer.ledger_id}; no other", str(progress["reason"]))
        self.assertIn("gone:1", self.do(self.driver.registration.all_bookies()))

    def test_decommission_that_is_cut_short(self) -> None:
        """What goes on ends with the site."""
        self.driver.auditing.stand("bookie-2", lambda elected: None)
        self.do(self.driver.underreplication.mark(3, ("gone:1",), 5))
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1"}')
        self.assertNotEqual(self.clock.getDelayedCalls(), [])
        self.site.stopFactory()
        self.settle()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_recovery(self) -> None:
        """What a lost bookie kept is copied after the answer, and its cookie goes."""
        path = "/api/v1/autorecovery/bookie"
        answer = self.ask(path, "PUT")
        self.assertEqual((answer.status, answer.body), captured("recovery-bookie-bad"))
        for body in (
            "{}",
            '{"bookie_src": "one"}',
            '{"bookie_src": []}',
            '{"bookie_src": ["a:1"], "delete_cookie": 1}',
        ):
            self.assertEqual(self.ask(path, "PUT", body).status, 404)
        writer = self.do(self._write())
        gone = writer.metadata.segments[0].bookies[0]
        self.do(self.driver.registration.write_cookie(gone, b"5\n", None))
        self.do(self.cluster.stop_bookie(gone))
        body = json.dumps({"bookie_src": [gone], "bookie_dest": [], "delete_cookie": True})
        answer = self.ask(path, "PUT", body)
        self.assertEqual((answer.status, answer.body), (200, "Success send recovery request command."))
        self.assertIn("Location: /api/v1/autorecovery/progress\r\n", f"{answer.head}\r\n")
        expected = {"name": f"recovery of {gone}", "state": "done", "seconds": 0.0, "ledgersLeft": None,
                    "ledgersRecovered": 1, "ledgersFailed": 0, "reason": ""}  # fmt: skip
        self.assertEqual(self.progress(), [expected])
        self.assertNotIn(gone, self.do(self.client.ledger_metadata(writer.ledger_id)).segments[0].bookies)
        self.assertNotIn(gone, self.do(self.driver.registration.all_bookies()))

    def test_progress_of_what_fails(self) -> None:
        """A recovery that cannot copy a ledger has failed, with the reason; one of an unknown bookie says so, once."""
        writer = self.do(self._write())
        first, second = writer.metadata.segments[0].bookies
        self.do(self.cluster.stop_bookie(first))
        self.do(self.cluster.stop_bookie(second))
        for names in ([first, second], ["nope:1"], ["nope:1"]):
            self.ask("/api/v1/autorecovery/bookie", "PUT", json.dumps({"bookie_src": names}))
            self.clock.pump([5.0] * 60)
        found = {each["name"]: each for each in self.progress()}
        self.assertEqual(len(self.progress()), 2, "the newest takes the place of the one before")
        unknown, failed = found["recovery of nope:1"], found[f"recovery of {', '.join(sorted([first, second]))}"]
        self.assertEqual((unknown["state"], unknown["ledgersRecovered"]), ("done", 0))
        self.assertEqual(unknown["reason"], "no ledger names nope:1, and there is no cookie: mistyped?")
        self.assertEqual((failed["state"], failed["ledgersFailed"]), ("failed", 1))
        self.assertTrue(str(failed["reason"]).startswith(f"ledger {writer.ledger_id}: "), failed)

    def test_recovery_with_undecodable_metadata(self) -> None:
        """A recovery goes on past a ledger whose metadata cannot be decoded, fails with it, and keeps the cookies."""
        broken, writer, lost = self.do(self._write()), self.do(self._write()), self.do(self._write())
        store = self.driver.ledgers._store
        store.write_ledger(broken.ledger_id, b"garbage", store.read_ledger(broken.ledger_id).version)
        gone = writer.metadata.segments[0].bookies[0]
        self.do(self.client.delete_ledger(lost.ledger_id))
        self.do(self.driver.registration.write_cookie(gone, b"5\n", None))
        self.do(self.cluster.stop_bookie(gone))
        body = json.dumps({"bookie_src": [gone], "delete_cookie": True})
        with capturedLogs() as events:
            self.ask("/api/v1/autorecovery/bookie", "PUT", body)
            self.settle()
        (progress,) = self.progress()
        self.assertEqual((progress["state"], progress["ledgersRecovered"], progress["ledgersFailed"]), ("failed", 1, 0))
        why = f"as its metadata cannot be read or decoded, such as ledger {broken.ledger_id}"
        reason = f"1 ledger may need the bookie, {why}"
        self.assertEqual(progress["reason"], f"{reason}; all others are recovered; no cookie is deleted")
        self.assertNotIn(gone, self.do(self.client.ledger_metadata(writer.ledger_id)).segments[0].bookies)
        self.assertIn(gone, self.do(self.driver.registration.all_bookies()))
        self.assertIn(f"recovery of {gone}: {reason}; all", "\n".join(str(formatEvent(each)) for each in events))
        self.ask("/api/v1/autorecovery/bookie", "PUT", '{"bookie_src": ["nope:1"]}')
        self.settle()
        self.assertEqual(self.progress()[-1]["reason"], f"{reason}; all others are recovered")
        for bookie_id in self.do(self.client.ledger_metadata(writer.ledger_id)).bookies:
            self.do(self.cluster.stop_bookie(bookie_id))
        names = list(self.do(self.client.ledger_metadata(writer.ledger_id)).bookies)
        self.ask("/api/v1/autorecovery/bookie", "PUT", json.dumps({"bookie_src": names}))
        self.clock.pump([5.0] * 60)
        more = f"{broken.ledger_id}; 1 more could not be recovered, the first: ledger {writer.ledger_id}: "
        self.assertIn(f"may need the bookies, as its metadata cannot be read or decoded, such as ledger {more}",
                      str(self.progress()[-1]["reason"]))  # fmt: skip

    def test_progress_of_a_decommission(self) -> None:
        """It has the number of ledgers that are left; one that has failed keeps its reason, and is before what runs."""
        self.driver.auditing.stand("bookie-2", lambda elected: None)
        self.do(self.driver.registration.write_cookie("gone:1", b"5\n", None))
        self.do(self.driver.underreplication.mark(3, ("gone:1",), 5))
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "gone:1"}')
        self.clock.pump([1.0] * 3)
        (progress,) = self.progress()
        self.assertEqual((progress["state"], progress["ledgersLeft"]), ("running", 1))
        self.ask("/api/v1/autorecovery/decommission", "PUT", '{"bookie_src": "never:1"}')
        self.settle()
        self.assertEqual([each["state"] for each in self.progress()], ["failed", "running"])
        self.site.stopFactory()
        self.settle()
        found = {each["name"]: (each["state"], each["seconds"]) for each in self.progress()}
        self.assertEqual(found["decommission of bookie gone:1"], ("failed", 3.0))

    def progress(self) -> list[dict[str, object]]:
        """What is said of the operations that requests have begun."""
        found: list[dict[str, object]] = json.loads(self.ask("/api/v1/autorecovery/progress").body)
        return found

    def test_recovery_of_a_running_bookie(self) -> None:
        """It is emptied, but refused at once where its cookie is to go at the end."""
        writer = self.do(self._write())
        before = self.do(self.client.ledger_metadata(writer.ledger_id))
        body = json.dumps({"bookie_src": list(before.segments[0].bookies), "delete_cookie": True})
        answer = self.ask("/api/v1/autorecovery/bookie", "PUT", body)
        self.assertEqual((answer.status, "is running" in answer.body), (400, True))
        self.settle()
        self.assertEqual(self.do(self.client.ledger_metadata(writer.ledger_id)), before)
        self.assertEqual(self.ask("/api/v1/autorecovery/bookie", "PUT", '{"bookie_src": ["no id"]}').status, 400)

    async def _write(self) -> Any:
        writer = await self.client.create_ledger(2, 2, 2)
        await writer.append(b"an entry")
        await writer.close()
        return writer

    def test_cluster_info(self) -> None:
        """The auditor, the switch, and whether a ledger is marked, under Apache's names."""
        answer = json.loads(self.ask("/api/v1/bookie/cluster_info").body)
        self.assertEqual(list(answer), list(json.loads(captured("cluster_info")[1])))
        self.assertEqual(
            [answer[name] for name in ("auditorElected", "auditorId", "clusterUnderReplicated")], [False, "", False]
        )
        self.driver.auditing.stand("bookie-2", lambda elected: None)
        self.do(self.driver.underreplication.mark(3, ("bookie-1",), 5))
        answer = json.loads(self.ask("/api/v1/bookie/cluster_info").body)
        self.assertEqual(
            [answer[name] for name in ("auditorElected", "auditorId", "clusterUnderReplicated")],
            [True, "bookie-2", True],
        )
        self.assertTrue(answer["ledgerReplicationEnabled"])

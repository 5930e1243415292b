"""The cluster over HTTP."""

import json
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.http.api import json_answer
from bookkeeper_twisted.http.cluster_api import ENTRIES_A_PAGE, LEDGERS_A_PAGE, SharedClient
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.cluster import MemoryCluster

from .http_case import HttpCase, captured, lines


class ClusterApiTests(HttpCase):
    """Over a cluster in memory."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock, 3)
        self.made = 0
        self.client = SharedClient(self._connect)
        self.site = make_site(FakeBookieAdmin(), self.clock, self.client)

    def _connect(self) -> "Deferred[BookKeeperAdmin]":
        self.made += 1
        return self.cluster.connect().addCallback(BookKeeperAdmin)

    def settle(self) -> None:
        """Turns of the clock."""
        self.clock.pump([0.0] * 60)

    def result(self, work: Any) -> Any:
        running = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(running)

    def ledger(self, *payloads: bytes, **more: Any) -> int:
        """A closed ledger."""
        client = self.result(self.cluster.connect())
        writer = self.result(client.create_ledger(2, 2, 2, **more))
        for payload in payloads:
            self.result(writer.append(payload))
        self.result(writer.close())
        return int(writer.ledger_id)

    def json(self, path: str) -> Any:
        answer = self.ask(f"/api/v1/{path}")
        self.assertEqual((answer.status, answer.head.count("application/json")), (200, 1), answer.body)
        return json.loads(answer.body)

    def test_bookies(self) -> None:
        """Writable ones, read-only ones, with their hosts on demand; one client serves all requests."""
        names = [f"bookie-{number}" for number in range(3)]
        self.assertEqual(self.json("bookie/list_bookies?type=rw"), dict.fromkeys(names))
        self.assertEqual(self.json("bookie/list_bookies?type=ro"), {})
        self.assertEqual(list(self.json("bookie/list_bookies?print_hostnames=true")), names)
        self.assertEqual(self.made, 1)

    def test_cluster_info(self) -> None:
        """Numbers of bookies, those of Apache's that do not depend on an auditor."""
        self.result(self.cluster.stop_bookie("bookie-1"))
        info = self.json("bookie/cluster_info")
        self.assertLessEqual(info.keys(), json.loads(captured("cluster_info")[1]).keys())
        self.assertEqual((info["writableBookiesCount"], info["readonlyBookiesCount"]), (2, 0))

    def test_bookie_info(self) -> None:
        """The space of each bookie and of all, in the words of Apache's."""
        info = self.json("bookie/list_bookie_info")
        self.assertEqual(list(info)[-1], "ClusterInfo: ")
        self.assertRegex(info["bookie-0"], r"^: \{Free: \d+(\([0-9.]+.B\))?, Total: \d+(\([0-9.]+.B\))?\},$")

    def test_no_ledgers(self) -> None:
        """A list without ledgers is an empty object."""
        answer, expected = self.ask("/api/v1/ledger/list"), json_answer({})
        self.assertEqual((answer.body, self.json("ledger/list")), (expected.body, {}))

    def test_ledgers(self) -> None:
        """Ids, and on demand their metadata by pages, as stored or decoded; no password in any."""
        ids = [self.ledger(b"x", password=b"sesame") for _ in range(2)]
        self.assertEqual(self.ask("/api/v1/ledger/list").body, json_answer({str(i): None for i in ids}).body)
        text = self.ask("/api/v1/ledger/list?print_metadata=true").body
        self.assertIn("BookieMetadataFormatVersion", text)
        self.assertNotIn("sesame", text)
        decoded = self.json("ledger/list?print_metadata=true&decode_meta=true")
        self.assertEqual([decoded[str(i)]["lastEntryId"] for i in ids], [0, 0])
        self.assertEqual(self.json("ledger/list?print_metadata=true&page=2"), {})
        self.assertGreater(LEDGERS_A_PAGE, 2)

    def test_metadata(self) -> None:
        """The fields of Apache's bookie; a ledger that does not exist is 500, as there."""
        ledger_id = self.ledger(b"abc", custom_metadata={"application": b"vectors"})
        found = self.json(f"ledger/metadata?ledger_id={ledger_id}")[str(ledger_id)]
        theirs = json.loads(captured("ledger-metadata")[1])["14"]
        self.assertEqual(list(found), list(theirs))
        self.assertEqual((found["state"], found["length"], found["closed"]), ("CLOSED", 3, True))
        self.assertEqual(found["customMetadata"], {"application": "dmVjdG9ycw=="})
        self.assertEqual(len(found["allEnsembles"]["0"]), 2)
        self.assertEqual(self.ask("/api/v1/ledger/metadata?ledger_id=4242").status, 500)
        self.assertEqual(self.ask("/api/v1/ledger/metadata").status, 404)

    def test_read(self) -> None:
        """Entries by id; a page bounds them; ids beyond the ledger give nothing; the password is not asked for."""
        ledger_id = self.ledger(b"one", b"two", b"\xff", password=b"sesame")
        path = f"ledger/read?ledger_id={ledger_id}"
        self.assertEqual(self.json(path), {"0": "one", "1": "two", "2": "\N{REPLACEMENT CHARACTER}"})
        self.assertEqual(self.json(path + "&start_entry_id=1&end_entry_id=1"), {"1": "two"})
        self.assertEqual(self.json(path + "&page=2"), {"Entries for page: ": "2"})
        self.assertGreater(ENTRIES_A_PAGE, 3)
        self.assertEqual(self.ask("/api/v1/" + path + "&start_entry_id=2&end_entry_id=1").status, 500)
        self.assertEqual(self.ask("/api/v1/ledger/read").status, 404)

    def test_reads_are_logged(self) -> None:
        """A host that reads on and on makes one line a minute, which counts what was left out."""
        ledger_id = self.ledger(b"one", b"two", b"three")
        with capturedLogs() as events:
            for number in range(3):
                self.json(f"ledger/read?ledger_id={ledger_id}&start_entry_id={number}")
            self.clock.advance(60)
            self.json(f"ledger/read?ledger_id={ledger_id}&start_entry_id=1&end_entry_id=1")
        said = f"of ledger {ledger_id} are read over HTTP by 192.168.1.1:54321"
        left_out = "(2 such lines were left out before this one)"
        self.assertEqual(
            [text for text in lines(events) if "are read" in text],
            [f"info: entries 0 to 2 {said}", f"info: entries 1 to 1 {said} {left_out}"],
        )

    def test_delete(self) -> None:
        """By DELETE with an id only."""
        ledger_id = self.ledger(b"x")
        self.assertEqual(self.ask(f"/api/v1/ledger/delete?ledger_id={ledger_id}").status, 404)
        status, body = captured("ledger-delete-missing-arg")
        missing = self.ask("/api/v1/ledger/delete", "DELETE")
        self.assertEqual((missing.status, missing.body), (status, body))
        self.assertEqual(self.ask(f"/api/v1/ledger/delete?ledger_id=7&ledger_id={ledger_id}", "DELETE").status, 400)
        self.assertIn(str(ledger_id), self.json("ledger/list"))
        with capturedLogs() as events:
            answer = self.ask(f"/api/v1/ledger/delete?ledger_id={ledger_id}", "DELETE")
        said = f"info: ledger {ledger_id} was deleted over HTTP by 192.168.1.1:54321, for nobody known"
        self.assertEqual([text for text in lines(events) if text.startswith("info") and "delete" in text], [said])
        self.assertEqual((answer.status, answer.body), (200, f'"Deleted ledger: {ledger_id}"'))
        self.assertEqual(self.json("ledger/list"), {})

    def test_no_ledger(self) -> None:
        """Entries and the deletion of a ledger that does not exist are 404, with the reason."""
        for path, method in (("read", "GET"), ("delete", "DELETE")):
            answer = self.ask(f"/api/v1/ledger/{path}?ledger_id=4242", method)
            self.assertEqual((answer.status, answer.body), (404, "Not Found\nledger 4242 does not exist"))

    def test_client(self) -> None:
        """A client that could not be made is made again for the next request; the end of the site closes it."""
        good, self._connect = self._connect, lambda: fail(MetadataError("away"))  # type: ignore[method-assign]
        self.client = SharedClient(lambda: self._connect())
        self.site = make_site(FakeBookieAdmin(), self.clock, self.client)
        self.assertEqual(self.ask("/api/v1/ledger/list").status, 500)
        self._connect = good  # type: ignore[method-assign]
        self.assertEqual(self.json("ledger/list"), {})
        self.site.doStart()
        self.site.doStop()
        self.settle()
        self.assertEqual(self.made, 1)

    def test_without_a_cluster(self) -> None:
        """A site without a client has none of these paths."""
        self.site = make_site(FakeBookieAdmin(), self.clock)
        self.assertEqual(self.ask("/api/v1/ledger/list").status, 404)

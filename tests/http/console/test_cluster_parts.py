"""The bookies of the cluster in the console, and what limits a repair."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from zope.interface import directlyProvides

from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.http.console import cluster_parts
from bookkeeper_twisted.http.console.bookie_answers import AGAIN, PATIENCE
from bookkeeper_twisted.http.console.cluster_parts import SEEN_SECONDS, SIZED_SECONDS, newest_sizes, unneeded_bookies
from bookkeeper_twisted.http.console.diagnosis import UNSIZED
from bookkeeper_twisted.http.console.feed import LATE
from bookkeeper_twisted.http.console.sources import StateSource
from bookkeeper_twisted.metadata.interfaces import IStoreConnection
from bookkeeper_twisted.metadata.undecoded import UndecodedLedgers
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint, LedgerMetadata, Segment
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, MappingResolver

from .cluster_case import ClusterPartsCase


class ClusterTests(ClusterPartsCase):
    """Over a cluster in memory."""

    def test_states(self) -> None:
        """Each bookie with a cookie or a registration has its state, and since when, if it has changed."""
        rows = {row["id"]: row for row in self.read("cluster")["bookies"].values()}
        self.assertEqual([row["state"] for row in rows.values()], ["writable"] * 4)
        self.assertEqual({row["since"] for row in rows.values()}, {None})
        self.clock.advance(10)
        info = BookieServiceInfo((Endpoint("h", "10.0.0.9", 8080, "http"),))
        registration = self.cluster._registration
        self.result(registration.write_cookie("bookie-3", b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie("bookie-3"))
        self.result(registration.register_bookie("bookie-2", True, info))
        rows = {row["id"]: row for row in self.read("cluster")["bookies"].values()}
        self.assertEqual((rows["bookie-3"]["state"], rows["bookie-3"]["since"]), ("unavailable", 10.0))
        self.assertEqual((rows["bookie-3"]["total"], rows["bookie-2"]["free"]), (None, None))
        self.assertEqual((rows["bookie-2"]["state"], rows["bookie-2"]["url"]), ("read-only", "http://10.0.0.9:8080"))
        self.assertIsNone(rows["bookie-0"]["since"])
        self.assertEqual(rows["bookie-0"]["free"], 1 << 39)

    def test_gap(self) -> None:
        """It is not known since when a bookie is gone that was lost while nobody looked; disks are asked again."""
        registration = self.cluster._registration
        self.result(registration.write_cookie("bookie-3", b"4\nbookieHost: \"x\"\n", None))
        self.read("cluster")
        self.clock.advance(SEEN_SECONDS + 1)
        self.result(self.cluster.stop_bookie("bookie-3"))
        admin, asked = self.result(self.shared()), []
        space = admin.disk_space_of

        async def disk_space_of(bookie_id: str) -> object:
            asked.append(bookie_id)
            return await space(bookie_id)

        self.patch(admin, "disk_space_of", disk_space_of)
        rows = self.read("cluster")["bookies"]
        self.assertEqual((rows["bookie-3"]["state"], rows["bookie-3"]["since"]), ("unavailable", None))
        self.assertEqual(asked, ["bookie-0", "bookie-1", "bookie-2"])

    def test_no_answer(self) -> None:
        """A bookie that is registered but does not answer is shown as such, and not counted as one that is left."""
        self.read("cluster")
        self.cluster.bookies["bookie-1"].silent = True
        self.clock.advance(AGAIN)
        asked = self.clock.seconds()
        reading = self.begin("cluster")
        self.clock.advance(PATIENCE)
        self.settle()
        found: Any = self.successResultOf(reading)
        row = found["bookies"]["bookie-1"]
        self.assertEqual((row["state"], row["why"], row["silentSince"]), ("writable", "no answer within 2 s", asked))
        self.assertEqual((row["total"], found["bookies"]["bookie-0"]["why"]), (None, ""))
        unsafe = [each["text"] for each in found["safe"] if not each["safe"]]
        self.assertIn("2 writable bookies would be left; a new ledger needs 3, by the newest 20 ledgers; "
                      "racks, which may be enforced, are not "
                      "known to this process; not counted, as there is no answer: bookie-1", unsafe)  # fmt: skip
        self.clock.advance(AGAIN)
        again = self.read("cluster")["bookies"]["bookie-1"]
        self.assertEqual(again["silentSince"], asked, "later samples do not wait for it")
        self.cluster.bookies["bookie-1"].silent = False
        self.clock.pump([AGAIN] * 4)
        self.read("cluster")
        self.clock.advance(AGAIN)
        row = self.read("cluster")["bookies"]["bookie-1"]
        self.assertEqual((row["why"], row["silentSince"], row["free"]), ("", None, 1 << 39))

    def test_new(self) -> None:
        """A bookie that has just joined is asked for its free space at once."""
        self.read("cluster")
        self.result(self.cluster.start_bookie("bookie-9"))
        found = self.read("cluster")
        self.assertEqual(found["bookies"]["bookie-9"]["free"], 1 << 39)
        self.assertNotIn("not counted", found["safe"][5]["text"])

    def test_outage(self) -> None:
        """The driver says why the cluster cannot be read, if it knows."""
        sources = [each for each in self.parts.sources() if isinstance(each, StateSource)]
        self.assertEqual({each.why_late() for each in sources}, {"this process has not connected to the store yet"})
        self.read("repair")
        self.assertEqual({each.why_late() for each in sources}, {""})
        driver: Any = self.result(self.shared()).client.metadata
        directlyProvides(driver, IStoreConnection)
        driver.outage = lambda: "refused"
        self.assertEqual({each.why_late() for each in sources}, {"refused"})

    def test_needed_without_answer(self) -> None:
        """A bookie that does not answer speaks against the loss of another one only if a ledger needs it."""
        for needed in (False, True):
            if needed:
                self.ledger(b"x")
                self.clock.advance(SEEN_SECONDS + 1)
            for number in range(4):
                self.cluster.bookies[f"bookie-{number}"].up = False
            said = self.read("cluster")["safe"][0]
            self.assertIs(said["safe"], not needed)
            for number in range(4):
                self.cluster.bookies[f"bookie-{number}"].up = True
        self.assertRegex(said["text"], r"^registered, but does not answer: bookie-\d \(no connection to bookie-\d\), ")

    def test_addresses(self) -> None:
        """The address of a bookie is not read again for each sample, but it is when the state has changed."""
        admin = self.result(self.shared())
        asked: list[str] = []
        read = admin.service_info

        async def service_info(bookie_id: str) -> BookieServiceInfo:
            asked.append(bookie_id)
            found: BookieServiceInfo = await read(bookie_id)
            return found

        self.patch(admin, "service_info", service_info)
        for _ in range(3):
            self.read("cluster")
        self.assertEqual(sorted(asked), [f"bookie-{number}" for number in range(4)])
        asked.clear()
        self.result(self.cluster._registration.register_bookie("bookie-1", True, BookieServiceInfo()))
        self.read("cluster")
        self.assertEqual(asked, ["bookie-1"])

    def test_racks(self) -> None:
        """A bookie has its rack, if the client of the process knows racks and that of the bookie."""

        async def host_of(bookie_id: str) -> str:
            return bookie_id

        resolver = MappingResolver(lambda: "bookie-1 /room/7")
        racks = BookieRacks(self.clock, resolver, host_of)
        placement = RackAwarePlacement(system_chance(), racks)
        admin = self.result(self.shared())
        admin.client.context.watcher.placement = placement
        rows = {row["id"]: row["rack"] for row in self.read("cluster")["bookies"].values()}
        self.assertEqual((rows["bookie-1"], rows["bookie-2"]), ("/room/7", ""))

    def test_enforced_racks(self) -> None:
        """Bookies enough are left, but not on racks enough for a write set, if the only one of a rack is lost."""
        metadata = LedgerMetadata(2, 2, 2, (Segment(0, ("bookie-0", "bookie-1")),))
        self.result(self.client.metadata.ledgers.create(7, metadata))
        admin = self.result(self.shared())

        async def host_of(bookie_id: str) -> str:
            return bookie_id

        def said(rack: str, enforce: bool) -> Any:
            mapping = f"bookie-0 /r1\nbookie-1 {rack}\nbookie-2 /r2\nbookie-3 /r2"
            racks = BookieRacks(self.clock, MappingResolver(lambda: mapping), host_of)
            admin.client.context.watcher.placement = RackAwarePlacement(system_chance(), racks, enforce=enforce)
            return self.read("cluster")["safe"][4]

        fine = "3 writable bookies would be left; a new ledger needs 2, by the newest 20 ledgers"
        self.assertEqual(said("/r2", True), {
            "safe": False, "text": f"{fine}; after the loss of bookie-0, no 2 bookies with 2 racks in each write set, "
            "among 3 on 1 racks",
        })  # fmt: skip
        for rack, enforce in (("/r1", True), ("/r2", False)):
            self.assertEqual(said(rack, enforce), {"safe": True, "text": fine})

    def test_safe(self) -> None:
        """A cluster without an auditor is not safe, for that reason."""
        unsafe = [each["text"] for each in self.read("cluster")["safe"] if not each["safe"]]
        self.assertEqual(unsafe, ["no auditor is elected: a loss would not be noticed"])

    def test_ensembles(self) -> None:
        """The bookies that are left are enough for ledgers like the newest, whose ids need not be close together."""
        admin = self.result(self.shared())
        self.assertEqual(self.result(newest_sizes(admin)), (3, 3))
        for number, size in ((0, 4), (1, 4), (7, 3), (1000, 2), (123_456_789_012, 2)):
            metadata = LedgerMetadata(size, 2, 2, (Segment(0, tuple(f"bookie-{n}" for n in range(size))),))
            self.result(self.client.metadata.ledgers.create(number, metadata))
            self.assertEqual(self.result(newest_sizes(admin)), (4 if number < 20 else 2, 2))
        self.result(self.cluster.stop_bookie("bookie-3"))
        (said,) = [each for each in self.read("cluster")["safe"] if "new ledger" in each["text"]]
        self.assertEqual(said, {
            "safe": True, "text": "2 writable bookies would be left; a new ledger needs 2, by the newest 20 ledgers; "
            "racks, which may be "
            "enforced, are not known to this process",
        })  # fmt: skip
        metadata = LedgerMetadata(3, 2, 2, (Segment(0, ("bookie-0", "bookie-1", "bookie-2")),))
        self.result(self.client.metadata.ledgers.create(123_456_789_013, metadata))
        for seconds, needs in ((14, 2), (14, 2), (2, 3)):
            self.clock.advance(seconds)
            said = self.read("cluster")["safe"][4]["text"]
            self.assertIn(f"a new ledger needs {needs}, by the newest 20 ledgers;", said)

    def delay(self, place: object, name: str) -> None:
        """From now on, each call of a method that reads from the store takes 0.4 s."""
        method = getattr(place, name)

        async def late(*args: Any) -> Any:
            await deferLater(self.clock, 0.4)
            return await method(*args)

        async def late_items(*args: Any) -> Any:
            await deferLater(self.clock, 0.4)
            async for each in method(*args):
                yield each

        self.patch(place, name, late_items if name in ("ledger_ids", "marked_ledgers") else late)

    def test_far_store(self) -> None:
        """Over a slow network to the store, both parts are read in time; what new ledgers need comes later."""
        size = 2
        for number in (0, 3000):
            metadata = LedgerMetadata(size, 2, 2, (Segment(0, tuple(f"bookie-{n}" for n in range(size))),))
            self.result(self.client.metadata.ledgers.create(number, metadata))
        lost = "bookie-3"
        self.result(self.cluster._registration.write_cookie(lost, b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie(lost))
        driver = self.result(self.shared()).client.metadata
        for place, names in (
            (driver.registration, ("writable_bookies", "read_only_bookies", "all_bookies", "service_info")),
            (driver.underreplication, ("is_enabled", "marked_ledgers", "locked_ledgers")),
            (driver.ledgers, ("ledger_ids", "read")), (driver.auditing, ("auditor",)),
        ):  # fmt: skip
            for name in names:
                self.delay(place, name)
        for is_known in (False, True):
            for name in ("repair", "cluster"):
                reading = self.begin(name)
                for _ in range(int(LATE / 0.1) - 1):
                    self.clock.advance(0.1)
                    self.settle()
                found: Any = self.successResultOf(reading)
            said = found["safe"][4]
            self.assertIs(said["safe"], True if is_known else None)
            needs = f"a new ledger needs {size}, by the newest 20 ledgers" if is_known else UNSIZED
            self.assertTrue(said["text"].startswith(f"2 writable bookies would be left; {needs}"), said)
            self.assertEqual(found["bookies"][lost]["state"], "unavailable")
            for _ in range(300):
                self.clock.advance(0.1)
                self.settle()
        self.clock.advance(SIZED_SECONDS)
        self.begin("cluster")
        self.assertFalse(self.parts._is_sized(), "what was read long ago does not count")

    def test_newest_at_once(self) -> None:
        """The newest ledgers are read at once: one after the other, they would make the sample late."""
        for _ in range(3):
            self.ledger(b"x")
        admin, read = self.result(self.shared()), list[int]()

        def begin(ledger_id: int) -> "Deferred[LedgerMetadata]":
            read.append(ledger_id)
            return Deferred()

        self.patch(admin.client, "ledger_metadata", begin)
        reading = Deferred.fromCoroutine(newest_sizes(admin))
        self.settle()
        self.assertEqual(len(read), 3)
        reading.cancel()
        self.failureResultOf(reading, CancelledError)

    def test_unneeded(self) -> None:
        """An unavailable bookie that no ledger needs does not speak against the loss of another one, nor is it listed
        when a needed one is lost.
        """
        ledger_id = self.ledger(b"x")
        needed = self.bookies_of(ledger_id)[0]
        registration = self.cluster._registration
        self.result(registration.write_cookie("old:1", b"4\nbookieHost: \"x\"\n", None))
        admin = self.result(self.shared())
        both = frozenset({"old:1", needed})
        self.assertEqual(self.result(unneeded_bookies(admin, both, UndecodedLedgers())), {"old:1"})
        said = self.read("cluster")["safe"][0]
        self.assertEqual(said, {"safe": True, "text": "all bookies that ledgers need are there"})
        for bookie_id in (needed, "older:1"):
            self.result(registration.write_cookie(bookie_id, b"4\nbookieHost: \"x\"\n", None))
        self.result(self.cluster.stop_bookie(needed))
        for marked in (False, True):
            said = self.read("cluster")["safe"][0]
            self.assertEqual(said, {"safe": False, "text": f"unavailable: {needed}"})
            self.result(self.marks.mark(ledger_id, () if marked else (needed,), None))
        self.patch(cluster_parts, "MOST_LOOKED_AT", 0)
        self.assertEqual(self.result(unneeded_bookies(admin, both, UndecodedLedgers())), frozenset())

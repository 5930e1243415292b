"""Marks and locks on ZooKeeper: Java's nodes, byte for byte."""

from twisted.logger import capturedLogs

from bookkeeper_twisted.autorecovery.replication.lock_reasons import reason_of
from bookkeeper_twisted.client.steps import take
from bookkeeper_twisted.errors import LedgerLockedError, MetadataError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.zookeeper import underreplication
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.model import UnderreplicatedLedger

from .rig import ZooKeeperCase

LAYOUT = bytes.fromhex("747970653a20224241534943220a76657273696f6e3a20310a")
MARK_OF_2 = bytes.fromhex("7265706c6963613a2022626f6f6b69652d666f7572220a6374696d653a20313739353232353130363039320a")
LOCK = bytes.fromhex("626f6f6b696549643a20226c6f63616c686f7374220a")
"""What a Java auditor and a Java worker stored."""


class UnderreplicationTests(ZooKeeperCase):
    """:class:`ZooKeeperUnderreplication`, beyond the contract."""

    def setUp(self) -> None:
        super().setUp()
        self.driver, self.connection = self.opened()
        self.marks = self.driver.underreplication

    def data(self, path: str) -> bytes:
        return self.server.find(f"/ledgers/underreplication/{path}").data

    def listed(self) -> list[int]:
        async def collect() -> list[int]:
            return [ledger_id async for ledger_id in self.marks.marked_ledgers()]

        return self.run_(collect())

    def test_nodes(self) -> None:
        """Marks, locks and the layout have the paths and the bytes of Java's."""
        self.run_(self.marks.mark(2, ["bookie-four"], 1795225106092))
        self.run_(self.marks.lock(14, "localhost"))
        self.assertEqual(self.data("ledgers/0000/0000/0000/0002/urL0000000002"), MARK_OF_2)
        self.assertEqual(self.data("locks/urL0000000014"), LOCK)
        self.assertEqual(self.data("LAYOUT"), LAYOUT)
        self.run_(self.marks.mark(0x123456789ABCDEF, ["a"]))
        self.data("ledgers/0123/4567/89ab/cdef/urL81985529216486895")

    def test_marks_of_java(self) -> None:
        """Nodes that Java made are read, and are not made again."""
        for path, data in (
            ("", b""), ("/LAYOUT", LAYOUT), ("/ledgers", b""), ("/locks", b""), ("/ledgers/0000", b""),
            ("/ledgers/0000/0000", b""), ("/ledgers/0000/0000/0000", b""), ("/ledgers/0000/0000/0000/0002", b""),
            ("/ledgers/0000/0000/0000/0002/urL0000000002", MARK_OF_2),
        ):  # fmt: skip
            self.server.create(NewNode(f"/ledgers/underreplication{path}", data), 0)
        mark = UnderreplicatedLedger(("bookie-four",), 1795225106092)
        self.assertEqual(self.run_(self.marks.read_mark(2)), Versioned(mark, 0))
        self.run_(self.marks.mark(2, ["bookie-four"], 1))
        self.assertEqual((self.listed(), self.run_(self.marks.read_mark(2))), ([2], Versioned(mark, 1)))

    def test_nothing_is_left(self) -> None:
        """A removed mark takes the parents with it that are empty, and no other."""
        self.run_(self.marks.mark(5, ["a"]))
        self.run_(self.marks.mark(1 << 16, ["a"]))
        self.run_(self.marks.remove_mark(5, 0))
        self.assertEqual(self.listed(), [1 << 16])
        self.run_(self.marks.remove_mark(1 << 16, 0))
        self.assertFalse([path for path in self.store.paths() if path.startswith("underreplication/ledgers/")])

    def test_one_sync(self) -> None:
        """A walk waits once for the server to have all earlier marks, not at each node: the store may be far away."""
        for ledger_id in (5, 6, 1 << 16):
            self.run_(self.marks.mark(ledger_id, ["a"]))
        begin = len(self.connection.calls)
        self.assertEqual(self.listed(), [5, 6, 1 << 16])
        calls = self.connection.calls[begin:]
        self.assertEqual((calls[0], calls.count("sync")), ("sync", 1))
        ids, begin = self.marks.marked_ledgers(), len(self.connection.calls)
        self.assertEqual(self.run_(take(ids, 1)), [5])
        self.connection.expire()
        self.connection.resume()
        self.assertEqual(self.run_(take(ids, 2)), [6, 1 << 16])
        calls = self.connection.calls[begin:]
        self.assertEqual(calls[-4:], ["sync", "children"] * 2, "the server of another session may lag behind")

    def test_undecodable(self) -> None:
        """A mark that cannot be decoded names no bookies, and keeps its bytes if the ledger is marked again."""
        self.run_(self.marks.mark(2, ["a"]))
        path = "ledgers/0000/0000/0000/0002/urL0000000002"
        self.server.set(f"/ledgers/underreplication/{path}", b"\xff\xfe", 0)
        self.run_(self.marks.mark(2, ["b"], 1))
        found = self.run_(self.marks.read_mark(2))
        self.assertEqual((found.value.replicas, found.version, self.data(path)), ((), 2, b"\xff\xfe"))
        self.assertIn("codec can't decode", found.value.problem)
        self.run_(self.marks.remove_mark(2, 2))
        self.assertEqual(self.listed(), [])

    def test_other_layout(self) -> None:
        """Marks that are laid out in an unknown way are left alone."""
        self.server.create(NewNode("/ledgers/underreplication"), 0)
        self.server.create(NewNode("/ledgers/underreplication/LAYOUT", LAYOUT.replace(b"1", b"2")), 0)
        self.assertIn("version 2", self.fails(MetadataError, self.marks.mark(5, ["a"])))
        self.assertNotIn("underreplication/ledgers", self.store.paths())

    def test_foreign_node(self) -> None:
        """Nodes that belong to no mark are left out of a listing, logged once, and named as long as they are there."""
        root = "/ledgers/underreplication/ledgers"
        for ledger_id in (5, 1 << 16):
            self.run_(self.marks.mark(ledger_id, ["a"]))
        strays = [f"{root}/{path}" for path in ("backup", "0000/zzzz", "0000/0000/0000/0005/urLxx")]
        self.patch(underreplication, "MOST_STRAYS", 4)
        for path in strays:
            self.server.create(NewNode(path), 0)
        with capturedLogs() as events:
            for _ in range(2):
                self.assertEqual(self.listed(), [5, 1 << 16])
        self.assertEqual(self.marks.strays, frozenset(strays))
        self.assertEqual(sorted(event["path"] for event in events), sorted(strays))
        more = [f"{root}/more", f"{root}/most"]
        for path in more:
            self.server.create(NewNode(path), 0)
        with capturedLogs() as events:
            self.assertEqual((self.listed(), len(self.marks.strays)), ([5, 1 << 16], 4))
        self.assertEqual(len(events), 1)
        for path in (*strays[1:], *more):
            self.server.delete(path, -1)
        self.assertEqual((self.listed(), self.marks.strays), ([5, 1 << 16], {f"{root}/backup"}))
        self.run_(self.marks.mark(5, ["b"]))

    def test_mark_of_no_ledger(self) -> None:
        """A node that has the name of a mark, in the place of another ledger or with no ledger's id, is no mark."""
        self.run_(self.marks.mark(5, ["a"]))
        place = "/ledgers/underreplication/ledgers/0000/0000/0000/0005"
        strays = [f"{place}/{name}" for name in (f"urL{1 << 63}", "urL0000000006", "urL00000000005")]
        for path in strays:
            self.server.create(NewNode(path), 0)
        with capturedLogs():
            self.assertEqual((self.listed(), self.marks.strays), ([5], frozenset(strays)))

    def test_undecodable_lock(self) -> None:
        """A lock that cannot be decoded does not hide the others; what is said of it names its ledger."""
        for ledger_id in (5, 6):
            self.run_(self.marks.lock(ledger_id, "host"))
        self.server.set("/ledgers/underreplication/locks/urL0000000005", b"\xff", 0)
        found = self.run_(self.marks.locked_ledgers())
        self.assertEqual((list(found), found[6]), ([5, 6], "host"))
        self.assertTrue(found[5].startswith("not known: the lock of ledger 5 cannot be decoded, "), found)
        self.assertTrue(reason_of(found[5]).startswith("the lock of ledger 5 cannot be decoded, "), found)

    def test_lost_locks(self) -> None:
        """Listeners are called at the end of a session, before the next can be used, until their watch ends."""
        held: list[bool] = []
        calls: list[str] = []
        self.run_(self.marks.lock(5, "host"))

        def lost() -> None:
            calls.append("lost")
            again = self.start(self.marks.lock(5, "host"))
            held.append(again.called)

        end = self.marks.watch_lost_locks(lost)
        self.marks.watch_lost_locks(lambda: calls.append("other"))
        self.connection.expire()
        self.connection.resume()
        self.clock.advance(1)
        self.assertEqual((calls, held), (["lost", "other"], [False]))
        self.fails(LedgerLockedError, self.marks.lock(5, "host"))
        end()
        self.connection.expire()
        self.connection.resume()
        self.clock.advance(1)
        self.assertEqual(calls, ["lost", "other", "other"])

    def test_lost_session(self) -> None:
        """A lock goes with its session, and the next session can take it again."""
        self.run_(self.marks.lock(5, "host"))
        self.server.end_session(self.connection.session_id)
        self.clock.advance(1)
        self.run_(self.marks.lock(5, "host"))
        self.fails(LedgerLockedError, self.marks.lock(5, "host"))

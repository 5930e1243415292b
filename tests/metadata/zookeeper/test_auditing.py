"""The auditor's office and its stored times on ZooKeeper: Java's nodes, byte for byte, and lost votes."""

from bookkeeper_twisted.errors import MetadataError, MetadataSerializationError
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.model import AuditorCheck
from bookkeeper_twisted.testing.zookeeper import Znode

from ...vectors.dumps import load_dump
from .rig import ZooKeeperCase

_ROOT = "/ledgers/underreplication"
_VOTES = f"{_ROOT}/auditorelection"


class VectorTests(ZooKeeperCase):
    """Trees that Java's auditor left."""

    def _equal(self, name: str) -> None:
        dump = {node.path: node for node in load_dump(name).nodes if node.path.startswith(_ROOT)}
        ours = {path: node for path, node in self.server.dump(_ROOT) if path in dump}
        self.assertEqual(list(ours), sorted(dump))
        for path, node in ours.items():
            self.assertEqual((node.data, bool(node.owner)), (dump[path].data, dump[path].ephemeral), path)

    def test_nodes(self) -> None:
        """An election, the delay, the switch and forced checks leave the nodes that Java's leave."""
        driver, _ = self.opened()
        elected: list[bool] = []
        self.run_(driver.underreplication.mark(1))
        self.run_(driver.underreplication.remove_mark(1, 0))
        driver.auditing.stand("127.0.0.1:3281", elected.append)
        self.run_(driver.auditing.set_lost_bookie_delay(0))
        self._equal("10-autorecovery-started")
        self.assertEqual(elected, [True])
        self.run_(driver.underreplication.set_enabled(False))
        self._equal("11-autorecovery-disabled")
        self.run_(driver.underreplication.set_enabled(True))
        self.run_(driver.auditing.set_lost_bookie_delay(7))
        self._equal("12-delay-7-healthcheck-disabled")
        for check in AuditorCheck:
            self.run_(driver.auditing.set_check_time(check, 1793410644666))
        self._equal("13-forced-audit-checks")

    def test_nodes_of_java(self) -> None:
        """Nodes that Java left are read."""
        for node in load_dump("13-forced-audit-checks").nodes:
            if node.path.startswith(_ROOT):
                self.server.create(NewNode(node.path, node.data), 0)
        auditing = self.opened()[0].auditing
        self.assertEqual(self.run_(auditing.auditor()), "127.0.0.1:3281")
        self.assertEqual(self.run_(auditing.lost_bookie_delay()), 7)
        self.assertEqual(self.run_(auditing.check_time(AuditorCheck.PLACEMENT)), 1793410644666)

    def test_vectors_of_locks(self) -> None:
        """Locks that Java's worker holds are listed with their holders."""
        for node in load_dump("16-two-bookies-lost").nodes:
            if node.path.startswith(_ROOT):
                self.server.create(NewNode(node.path, node.data), 0)
        locked = self.run_(self.opened()[0].underreplication.locked_ledgers())
        self.assertEqual(locked, dict.fromkeys((0, 2, 4, 8, 14), "localhost"))


class ElectionTests(ZooKeeperCase):
    """Votes that go, sessions that end, answers that are lost."""

    def setUp(self) -> None:
        super().setUp()
        self.elected: list[bool] = []
        self.driver, self.connection = self.opened()

    def _stand(self) -> None:
        self.driver.auditing.stand("a:1", self.elected.append)

    def _votes(self) -> dict[str, Znode]:
        return {path.removeprefix(f"{_VOTES}/"): node for path, node in list(self.server.dump(_VOTES))[1:]}

    def _rival(self, number: int, name: bytes = b"b:1") -> None:
        self.server.create(NewNode(f"{_VOTES}/V_{number:010d}", b'bookieId: "%s"\n' % name), 0)

    def test_lost_vote(self) -> None:
        """An auditor whose vote is removed is out of office at once, and votes again."""
        self._stand()
        self.assertEqual(self.elected, [True])
        self.server.delete(f"{_VOTES}/V_0000000000", -1)
        self.assertEqual(self.elected, [True, False, True])
        self.assertEqual(list(self._votes()), ["V_0000000001"])

    def test_lost_vote_with_rival(self) -> None:
        """Once out of office, it comes back after the rival only."""
        self._stand()
        self._rival(1)
        self.server.delete(f"{_VOTES}/V_0000000000", -1)
        self.assertEqual(self.elected, [True, False])
        self.server.delete(f"{_VOTES}/V_0000000001", -1)
        self.assertEqual(self.elected, [True, False, True])

    def test_expiry(self) -> None:
        """The end of the session is the end of the office, before anything is done in the next session."""
        self._stand()
        self.connection.expire()
        self.assertEqual(self.elected, [True, False])
        self._rival(1)
        self.connection.resume()
        self.clock.pump([0.25] * 4)
        self.assertEqual(self.elected, [True, False])
        self.assertEqual(len(self._votes()), 2)
        self.server.delete(f"{_VOTES}/V_0000000001", -1)
        self.assertEqual(self.elected, [True, False, True])

    def test_silence(self) -> None:
        """Without a connection for as long as the session lasts the office is lost; in the same session it is back."""
        self._stand()
        self.connection.suspend()
        self.clock.pump([1.0] * 9)
        self.assertEqual(self.elected, [True])
        self.clock.pump([1.0] * 60)
        self.assertEqual(self.elected, [True, False])
        self.connection.resume()
        self.clock.pump([1.0] * 20)
        self.assertEqual(self.elected, [True, False, True])
        self.assertEqual(list(self._votes()), ["V_0000000000"])

    def test_order_of_numbers(self) -> None:
        """Votes are compared as numbers, however many digits they have."""
        self.server.create(NewNode(_ROOT), 0)
        self.server.create(NewNode(_VOTES), 0)
        self._rival(9)
        self.server.create(NewNode(f"{_VOTES}/V_10000000000", b'bookieId: "c:1"\n'), 0)
        self.assertEqual(self.run_(self.driver.auditing.auditor()), "b:1")

    def test_lost_answer_to_a_vote(self) -> None:
        """A vote whose answer was lost is found again; there is no second one."""
        for calls_before in range(8):
            self.setUp()
            self.connection.lose(True, after=calls_before)
            self._stand()
            self.clock.pump([0.25] * 20)
            self.assertEqual((len(self._votes()), self.elected), (1, [True]), calls_before)

    def test_election_goes(self) -> None:
        """The removal of the whole election, as by a tool, is survived."""
        self._stand()
        self.server.delete(f"{_VOTES}/V_0000000000", -1)
        for name in self._votes():
            self.server.delete(f"{_VOTES}/{name}", -1)
        self.clock.pump([0.25] * 20)
        self.assertTrue(self.elected[-1])

    def test_garbage(self) -> None:
        """What is no vote is left out; a vote that cannot be read is an error."""
        self._stand()
        self.server.create(NewNode(f"{_VOTES}/backup"), 0)
        self.assertEqual(self.run_(self.driver.auditing.auditor()), "a:1")
        self.run_(self.driver.auditing.withdraw())
        self.server.create(NewNode(f"{_VOTES}/V_0000000003", b"\xff"), 0)
        self.assertIn("V_0000000003", self.fails(MetadataSerializationError, self.driver.auditing.auditor()))

    def test_bad_delay(self) -> None:
        """A delay that is no number is an error with the path; a watcher is not called with it."""
        self.run_(self.driver.auditing.set_lost_bookie_delay(5))
        told: list[int | None] = []
        self.driver.auditing.watch_lost_bookie_delay(told.append)
        self.server.set(f"{_ROOT}/lostBookieRecoveryDelay", b"soon", -1)
        self.assertIn("lostBookieRecoveryDelay", self.fails(MetadataError, self.driver.auditing.lost_bookie_delay()))
        self.run_(self.driver.auditing.set_lost_bookie_delay(6))
        self.assertEqual(told, [5, 6])
        self.assertEqual(len(self.flushLoggedErrors(MetadataSerializationError)), 1)

"""The auditor's office where Pulsar's metadata driver keeps it, alone and beside Apache's election."""

from bookkeeper_twisted.errors import MetadataSerializationError
from bookkeeper_twisted.metadata.zookeeper.driver import ZooKeeperDriver
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.testing.zookeeper import MemoryConnection

from ..rig import ZooKeeperCase

_PULSAR = "metadata-store:zk:127.0.0.1:2181"
_ROOT = "/ledgers/underreplication"
_LEADER, _VOTES = f"{_ROOT}/leader", f"{_ROOT}/auditorelection"
_RIVAL = 99


class LeaderNodeTests(ZooKeeperCase):
    """:class:`LeaderCandidacy`."""

    def setUp(self) -> None:
        super().setUp()
        self.elected: list[bool] = []
        self.driver, self.connection = self._standing("10.0.0.1:3181", self.elected)

    def _standing(self, name: str, elected: list[bool], uri: str = _PULSAR) -> tuple[ZooKeeperDriver, MemoryConnection]:
        driver, connection = self.opened(uri)
        driver.auditing.stand(name, elected.append)
        return driver, connection

    def _lead(self) -> None:
        """Create the node as Pulsar's driver does."""
        self.server.create(NewNode(_LEADER, b'"10.0.0.2:3181"', ephemeral=True), _RIVAL)

    def test_node(self) -> None:
        """The winner writes its name in quotes into an ephemeral node, and casts no vote."""
        node = self.server.find(_LEADER)
        self.assertEqual((node.data, node.owner), (b'"10.0.0.1:3181"', self.connection.session_id))
        self.assertEqual(self.elected, [True])
        self.assertNotIn("underreplication/auditorelection", self.store.paths())

    def test_one_of_two(self) -> None:
        """The second candidate is elected when the first goes, and every driver knows who is."""
        second: list[bool] = []
        other, _ = self._standing("10.0.0.2:3181", second)
        self.assertEqual((self.elected, second), ([True], []))
        self.assertEqual(self.run_(other.auditing.auditor()), "10.0.0.1:3181")
        self.run_(self.driver.auditing.withdraw())
        self.assertEqual(second, [True])
        self.assertEqual(self.run_(self.driver.auditing.auditor()), "10.0.0.2:3181")

    def test_withdrawal(self) -> None:
        """A candidate that is not in office leaves the node of the other alone."""
        second: list[bool] = []
        other, _ = self._standing("10.0.0.2:3181", second)
        self.run_(other.auditing.withdraw())
        self.assertEqual((self.elected, second), ([True], []))

    def test_removed(self) -> None:
        """An auditor whose node is removed is out of office at once; a rival that is faster has it then."""
        self.server.delete(_LEADER, -1)
        self.assertEqual(self.elected, [True, False, True])
        self.connection.suspend()
        self.server.delete(_LEADER, -1)
        self._lead()
        self.connection.resume()
        self.clock.pump([0.25] * 4)
        self.assertEqual(self.elected, [True, False, True, False])
        self.server.end_session(_RIVAL)
        self.assertEqual(self.elected, [True, False, True, False, True])

    def test_expiry(self) -> None:
        """The end of the session is the end of the office; the next session stands again."""
        self.connection.expire()
        self.assertEqual(self.elected, [True, False])
        self._lead()
        self.connection.resume()
        self.clock.pump([0.25] * 4)
        self.assertEqual(self.elected, [True, False])
        self.server.end_session(_RIVAL)
        self.assertEqual(self.elected, [True, False, True])

    def test_silence(self) -> None:
        """Without a connection for as long as the session lasts the office is lost; in the same session it is back."""
        self.connection.suspend()
        self.clock.pump([1.0] * 70)
        self.assertEqual(self.elected, [True, False])
        self.connection.resume()
        self.clock.pump([1.0] * 20)
        self.assertEqual(self.elected, [True, False, True])

    def test_lost_answers(self) -> None:
        """A node whose answer was lost is found to be this candidate's."""
        for calls_before in range(8):
            self.setUp()
            self.connection.lose(True, after=calls_before)
            self.server.delete(_LEADER, -1)
            self.clock.pump([0.25] * 20)
            self.assertTrue(self.elected[-1], calls_before)

    def test_votes_go_first(self) -> None:
        """While a vote of Apache's election is there, the office and the node are left to its candidates, with one
        line in the log."""
        self.server.create(NewNode(_VOTES), 0)
        self.server.create(NewNode(f"{_VOTES}/V_0000000000", b'bookieId: "b:1"\n', ephemeral=True), _RIVAL)
        self.assertEqual(self.elected, [True, False])
        self.assertNotIn("underreplication/leader", self.store.paths())
        self.assertEqual(self.run_(self.driver.auditing.auditor()), "b:1")
        self.server.end_session(_RIVAL)
        self.assertEqual(self.elected, [True, False, True])

    def test_both_forms(self) -> None:
        """Of candidates with both forms of the URI one is in office, and the other after it."""
        voter: list[bool] = []
        other, _ = self._standing("10.0.0.2:3181", voter, self.store.uri)
        self.assertEqual((self.elected[-1], voter), (False, [True]))
        self.run_(other.auditing.withdraw())
        self.assertEqual((self.elected[-1], voter), (True, [True]))

    def test_leader_of_pulsar(self) -> None:
        """A candidate that votes leaves the office to the leader that Pulsar's driver made, and has it afterwards."""
        self.run_(self.driver.auditing.withdraw())
        self._lead()
        voter: list[bool] = []
        other, _ = self._standing("10.0.0.3:3181", voter, self.store.uri)
        self.assertEqual(voter, [])
        self.assertEqual(self.run_(other.auditing.auditor()), "10.0.0.2:3181")
        self.server.end_session(_RIVAL)
        self.assertEqual(voter, [True])

    def test_garbage(self) -> None:
        """A leader that cannot be read is an error that names the node."""
        self.server.set(_LEADER, b"10.0.0.1", -1)
        error = self.fails(MetadataSerializationError, self.driver.auditing.auditor())
        self.assertIn(f"{_LEADER}: auditor leader", error)

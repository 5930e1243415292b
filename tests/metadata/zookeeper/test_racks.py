"""The racks of bookies that Pulsar's tools store on ZooKeeper."""

from collections.abc import Mapping

from twisted.logger import LogLevel, capturedLogs, formatEvent

from bookkeeper_twisted.metadata.interfaces import IRackStore
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.metadata.zookeeper.racks import racks_path

from .rig import ZooKeeperCase

_ONE = b'{"default": {"a:1": {"rack": "/r1", "hostname": "a"}}}'
_TWO = b'{"default": {"a:1": {"rack": "/r2"}, "b:1": {"rack": "/r1"}}}'


class RackTests(ZooKeeperCase):
    """What a driver says of the node."""

    def setUp(self) -> None:
        super().setUp()
        self.driver, self.connection = self.opened("metadata-store:zk:127.0.0.1:2181")
        self.told: list[Mapping[str, str]] = []

    def _watch(self) -> None:
        assert IRackStore.providedBy(self.driver)
        self.stop = self.driver.watch_racks(self.told.append)

    def test_path(self) -> None:
        """The node is beside the root, below the chroot that Pulsar sees as the top."""
        self.assertEqual([racks_path(root) for root in ("/ledgers", "/a/b/ledgers")], ["/bookies", "/a/b/bookies"])

    def test_changes(self) -> None:
        """Racks are said soon and after each change, from when they are first stored to when they are removed."""
        self._watch()
        self.server.create(NewNode("/bookies", _ONE), 0)
        self.server.set("/bookies", _TWO, -1)
        self.server.delete("/bookies", -1)
        self.assertEqual(self.told, [{}, {"a:1": "/r1"}, {"a:1": "/r2", "b:1": "/r1"}, {}])

    def test_over_a_lost_connection(self) -> None:
        """A change during a lost connection is seen after it."""
        self.server.create(NewNode("/bookies", _ONE), 0)
        self._watch()
        self.connection.suspend()
        self.server.set("/bookies", _TWO, -1)
        self.connection.resume()
        self.clock.advance(1)
        self.assertEqual(self.told[1:], [{"a:1": "/r2", "b:1": "/r1"}])

    def test_garbage(self) -> None:
        """What cannot be read is worth one warning, and the racks from before remain; the next change counts."""
        self.server.create(NewNode("/bookies", _ONE), 0)
        self._watch()
        with capturedLogs() as events:
            self.server.set("/bookies", b"{", -1)
            self.connection.suspend()
            self.connection.resume()
            self.clock.pump([1.0] * 3)
        warnings = [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn]
        (warning,) = [text for text in warnings if "rack configuration" in text]
        self.assertRegex(warning, r"^/bookies: rack configuration: not JSON: .*; the racks read before remain$")
        self.assertEqual(self.told, [{"a:1": "/r1"}])
        self.server.set("/bookies", _TWO, -1)
        self.assertEqual(len(self.told), 2)

    def test_garbage_first(self) -> None:
        """Where nothing was read before no bookie has a rack, and nobody waits."""
        self.server.create(NewNode("/bookies", b"[]"), 0)
        with capturedLogs() as events:
            self._watch()
        self.assertIn("no bookie has a rack", formatEvent(events[-1]))
        self.assertEqual(self.told, [{}])

    def test_empty(self) -> None:
        """A node without data has no racks."""
        self.server.create(NewNode("/bookies"), 0)
        self._watch()
        self.assertEqual(self.told, [{}])

    def test_end(self) -> None:
        """Nothing is said any more after the end of the watch, or of the driver."""
        self._watch()
        self.stop()
        self.server.create(NewNode("/bookies", _ONE), 0)
        self._watch()
        self.run_(self.driver.close())
        self.server.set("/bookies", _TWO, -1)
        self.clock.advance(1)
        self.assertEqual(self.told, [{}, {"a:1": "/r1"}])

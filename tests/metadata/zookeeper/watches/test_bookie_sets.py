"""The sets of bookies, watched over breaks, expiries and lagging servers."""

import attrs
from twisted.internet.defer import Deferred, succeed

from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode, Stat, Watch
from bookkeeper_twisted.metadata.zookeeper.watches.bookie_sets import BookieSet, BookieSets, bookie_ids

from ..rig import ZooKeeperCase

News = tuple[frozenset[str], frozenset[str]]


class BookieSetsTests(ZooKeeperCase):
    """:class:`BookieSets`."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes, self.connection = self.znodes()
        self.sets = BookieSets(self.nodes)
        self.told: list[News] = []

    def add(self, *paths: str) -> None:
        for path in paths:
            self.server.create(NewNode(f"/ledgers/available/{path}"), 0)

    def watch(self) -> None:
        self.sets.watch(lambda *news: self.told.append(news))

    def pass_time(self) -> None:
        for _ in range(40):
            self.clock.advance(0.125)

    def test_changes(self) -> None:
        """Each change is told once, without any time passing."""
        self.watch()
        self.add("a:1", "readonly/b:1")
        self.server.delete("/ledgers/available/a:1", -1)
        expected = [(set(), set()), ({"a:1"}, set()), ({"a:1"}, {"b:1"}), (set(), {"b:1"})]
        self.assertEqual(self.told, expected)

    def test_read(self) -> None:
        """A read is not answered from before it, by a server that lags behind: it follows a sync."""
        self.add("a:1", "readonly/b:1")
        for read_only, found in ((False, {"a:1"}), (True, {"b:1"})):
            self.connection.calls.clear()
            self.assertEqual(self.run_(BookieSet(self.nodes, read_only).read()), found)
            self.assertEqual(self.connection.calls, ["sync", "children"])

    def test_break(self) -> None:
        """What changes while the connection is broken is told when it is back; what did not is not."""
        self.watch()
        self.connection.suspend()
        self.add("a:1")
        self.connection.resume()
        self.pass_time()
        self.assertEqual(self.told[1:], [({"a:1"}, set())])
        self.connection.suspend()
        self.connection.resume()
        self.pass_time()
        self.add("b:1")
        self.assertEqual(self.told[2:], [({"a:1", "b:1"}, set())])

    def test_expiry(self) -> None:
        """The same where the session ends; the sets are read again after a short pause."""
        self.watch()
        self.connection.expire()
        self.add("a:1")
        self.connection.resume()
        self.assertEqual(len(self.told), 1)
        self.clock.advance(0.2)
        self.assertEqual(self.told[1:], [({"a:1"}, set())])

    def test_failing_server(self) -> None:
        """Errors are tried over until they end, and logged once."""
        self.watch()
        children = self.server.find("/ledgers").children
        hidden = children.pop("available")
        self.connection.suspend()
        self.connection.resume()
        self.pass_time()
        self.assertEqual(len(self.told), 1)
        children["available"] = hidden
        self.add("a:1")
        self.pass_time()
        self.assertEqual(self.told[-1], ({"a:1"}, set()))

    def test_lagging_server(self) -> None:
        """A set that is older than the last is not news."""
        self.watch()
        self.add("a:1")
        children = self.connection.children

        def lagging(path: str, watch: Watch | None = None) -> "Deferred[tuple[list[str], Stat]]":
            if path != "/ledgers/available":
                return children(path, watch)
            self.server.watch("children", path, self.connection, watch)
            return succeed(([], attrs.evolve(self.server.find(path).stat, cversion=1)))

        self.connection.children = lagging  # type: ignore[method-assign]
        self.connection.suspend()
        self.connection.resume()
        self.pass_time()
        self.assertEqual(len(self.told), 2)
        self.connection.children = children  # type: ignore[method-assign]
        self.add("b:1")
        self.assertEqual(self.told[-1], ({"a:1", "b:1"}, set()))

    def test_missing_read_only(self) -> None:
        """Where no bookie was ever read-only the first one is noticed all the same."""
        self.server.delete("/ledgers/available/readonly", -1)
        self.watch()
        self.assertEqual(self.told, [(set(), set())])
        self.add("readonly", "readonly/a:1")
        self.assertEqual(self.told[-1], (set(), {"a:1"}))

    def test_later_listener(self) -> None:
        """Who begins to listen later is told what is known, without reading again."""
        self.watch()
        n_calls, later = len(self.connection.calls), []
        self.sets.watch(lambda *news: later.append(news))
        self.clock.advance(0)
        self.assertEqual(later, [(set(), set())])
        self.assertEqual(len(self.connection.calls), n_calls)

    def test_begin_again(self) -> None:
        """When the last listener has gone and another comes, it is told what is there by then."""
        end = self.sets.watch(lambda *news: self.told.append(news))
        end()
        self.add("a:1")
        self.assertEqual(len(self.told), 1)
        self.watch()
        self.assertEqual(self.told[1:], [({"a:1"}, set())])

    def test_ill_named(self) -> None:
        """What cannot be a bookie is none."""
        self.assertEqual(bookie_ids(["a:1", "readonly", "a b", "ReadOnly", ""]), {"a:1"})

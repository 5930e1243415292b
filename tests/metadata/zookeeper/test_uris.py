"""Metadata service URIs."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import InvalidMetadataUriError
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import FLAT, HIERARCHICAL, LONG_HIERARCHICAL
from bookkeeper_twisted.metadata.zookeeper.uris import ZooKeeperUri, root_of


class ZooKeeperUriTests(SynchronousTestCase):
    """:class:`ZooKeeperUri`."""

    def test_layouts(self) -> None:
        """What follows the plus asks for a layout, or for whatever is stored; case does not matter."""
        for scheme, factory in (
            ("zk", None), ("zk+null", None), ("zk+hierarchical", HIERARCHICAL), ("ZK+Hierarchical", HIERARCHICAL),
            ("zk+longhierarchical", LONG_HIERARCHICAL), ("zk+flat", FLAT),
        ):  # fmt: skip
            self.assertEqual(ZooKeeperUri.parse(f"{scheme}://h:1/ledgers").factory, factory)

    def test_hosts(self) -> None:
        """Hosts are separated by semicolons or commas; a port may be missing."""
        for hosts in ("a:1;b.example:2;[::1]:3", "a:1,b.example:2,[::1]:3"):
            parsed = ZooKeeperUri.parse(f"zk://{hosts}/ledgers")
            self.assertEqual(parsed.hosts, "a:1,b.example:2,[::1]:3")
        self.assertEqual(ZooKeeperUri.parse("zk://localhost/ledgers").hosts, "localhost")

    def test_root(self) -> None:
        """The path is the root, of any depth."""
        self.assertEqual(ZooKeeperUri.parse("zk://h:1/a/b c".replace(" ", "-")).root, "/a/b-c")

    def test_refused(self) -> None:
        """What could only be a mistake is refused, and named."""
        for uri in (
            "zk", "zk:", "zk:h:1/ledgers", "zk://h:1", "zk://h:1/", "zk://h:1/ledgers/", "zk://h:1//ledgers",
            "zk://h:1/a//b", "zk://h:1/./b", "zk://h:1/../b", "zk://h:1/a b", "zk:///ledgers", "zk://h:/ledgers",
            "zk://h:x/ledgers", "zk://h:0/ledgers", "zk://h:65536/ledgers", "zk://a:1;;b:2/ledgers", "etcd://h:1/x",
            "zk+ms://h:1/ledgers", "zk+legacyhierarchical://h:1/ledgers", "zk+other://h:1/ledgers",
            "zk://h:1/ledgers?timeout=3", "zk://h:1?timeout=3",
        ):  # fmt: skip
            with self.subTest(uri):
                self.assertIn(repr(uri), str(self.assertRaises(InvalidMetadataUriError, ZooKeeperUri.parse, uri)))

    def test_pulsar(self) -> None:
        """What follows the hosts of Pulsar's form is a chroot, below which the root is always ``/ledgers``."""
        for uri, hosts, root in (
            ("metadata-store:zk:h:2181", "h:2181", "/ledgers"), ("metadata-store:zk:h:2181/", "h:2181", "/ledgers"),
            ("metadata-store:zk:a:1;b;[::1]:3/x/y", "a:1,b,[::1]:3", "/x/y/ledgers"),
            ("Metadata-Store:ZK:a:1,b:2/ledgers", "a:1,b:2", "/ledgers/ledgers"),
        ):  # fmt: skip
            self.assertEqual(ZooKeeperUri.parse(uri), ZooKeeperUri(hosts, root, HIERARCHICAL, of_pulsar=True))

    def test_pulsar_refused(self) -> None:
        """What Pulsar's driver would not take, or takes for something else, is refused with the reason."""
        for uri, reason in (
            ("metadata-store:", "is not metadata-store:zk:"), ("metadata-store:h:2181", "is not metadata-store:zk:"),
            ("metadata-store:zk", "is not host:port"), ("metadata-store:zk://h:2181/ledgers", "no slashes"),
            ("metadata-store:zk:h:2181?sessionTimeoutMillis=1", "zkTimeout"),
            ("metadata-store:zk:h:x", "'h:x' is not host:port"), ("metadata-store:zk:h:1//a", "path of a chroot"),
            ("metadata-store:zk:h:1/a/", "path of a chroot"), ("metadata-store:zk:h:1/../a", "path of a chroot"),
            ("metadata-store:zk+hierarchical:h:1", "is not metadata-store:zk:"),
        ):  # fmt: skip
            with self.subTest(uri):
                error = str(self.assertRaises(InvalidMetadataUriError, ZooKeeperUri.parse, uri))
                self.assertIn(repr(uri), error)
                self.assertIn(reason, error)

    def test_root_of(self) -> None:
        """The root is found in the URI of any driver."""
        for uri, root in (
            ("zk+null://h:1/a/ledgers", "/a/ledgers"), ("metadata-store:zk:h:1;i:2/a", "/a/ledgers"),
            ("sqlite:////x/metadata.db", "//x/metadata.db"), ("memory:name", "name"),
        ):  # fmt: skip
            self.assertEqual(root_of(uri), root)

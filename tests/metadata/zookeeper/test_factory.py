"""The plugin of the ZooKeeper driver."""

import subprocess
import sys
from unittest import SkipTest

from twisted.internet import reactor  # noqa: TID251
from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import ConfigError, InvalidMetadataUriError, MetadataError
from bookkeeper_twisted.metadata.drivers import create_cluster_admin, create_driver
from bookkeeper_twisted.metadata.interfaces import (
    IClusterAdmin,
    IMetadataDriver,
    IMetadataDriverFactory,
    MetadataOptions,
)
from bookkeeper_twisted.metadata.zookeeper.factory import ZooKeeperDriverFactory
from bookkeeper_twisted.security.contexts import TlsSettings

from .rig import URI


class FactoryTests(SynchronousTestCase):
    """:class:`ZooKeeperDriverFactory`."""

    def test_interface(self) -> None:
        """It is a plugin and provides what it declares."""
        verifyObject(IPlugin, ZooKeeperDriverFactory())
        verifyObject(IMetadataDriverFactory, ZooKeeperDriverFactory())

    def test_found(self) -> None:
        """A URI gives a driver and an admin, which have not connected yet."""
        driver, admin = create_driver(reactor, URI), create_cluster_admin(reactor, URI)
        verifyObject(IMetadataDriver, driver)
        verifyObject(IClusterAdmin, admin)
        self.assertEqual((driver.uri, admin.uri), (URI, URI))

    def test_refused(self) -> None:
        """A bad URI is refused by both."""
        for make in (create_driver, create_cluster_admin):
            self.assertRaises(InvalidMetadataUriError, make, reactor, "zk+hierarchical://h:1")

    def test_tls(self) -> None:
        """Files of TLS are read when a driver is made: a bookie that cannot read them does not start."""
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise SkipTest("needs the extra tls") from None
        options = MetadataOptions(tls=TlsSettings(prefix="zkSsl", trust_store="/none", trust_store_type="PEM"))
        for make in (create_driver, create_cluster_admin):
            error = self.assertRaises(ConfigError, make, reactor, URI, options)
            self.assertIn("zkSslTrustStoreLocation = '/none'", str(error))

    def test_pulsar(self) -> None:
        """Pulsar's form of the URI gives both as well."""
        uri = "metadata-store:zk:127.0.0.1:2181/chroot"
        driver, admin = create_driver(reactor, uri), create_cluster_admin(reactor, uri)
        verifyObject(IMetadataDriver, driver)
        verifyObject(IClusterAdmin, admin)

    def test_pulsar_security(self) -> None:
        """Nodes for one identity alone are refused where Pulsar's driver, which has none, uses the same nodes."""
        options = MetadataOptions(secure=True)
        uri = "metadata-store:zk:127.0.0.1:2181"
        error = self.assertRaises(MetadataError, create_driver, reactor, uri, options)
        self.assertIn("zkEnableSecurity has to be false", str(error))
        create_driver(reactor, URI, options)

    def test_without_kazoo(self) -> None:
        """Where kazoo is missing the error says what to install; other drivers do without."""
        code = (
            "import sys; sys.modules['kazoo'] = None\n"
            "from bookkeeper_twisted.metadata.drivers import create_driver\n"
            "from bookkeeper_twisted.errors import MetadataError\n"
            "from twisted.internet import reactor\n"
            "create_driver(reactor, 'memory:')\n"
            "try: create_driver(reactor, 'zk://h:1/ledgers')\n"
            "except MetadataError as error: print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        )  # fmt: skip
        self.assertIn("bookkeeper-twisted[zookeeper]", done.stdout)

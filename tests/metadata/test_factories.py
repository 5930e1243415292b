"""The plugins of the embedded drivers."""

import os
import subprocess
import sys
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import InvalidMetadataUriError
from bookkeeper_twisted.metadata.factories import MemoryDriverFactory, PulsarStoreFactory, SqliteDriverFactory
from bookkeeper_twisted.metadata.interfaces import IMetadataDriver, IMetadataDriverFactory
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN


class FactoryTests(SynchronousTestCase):
    """Factories."""

    def _result(self, coroutine):
        return self.successResultOf(Deferred.fromCoroutine(coroutine))

    def test_interface(self) -> None:
        """They are plugins and provide what they declare."""
        for factory in (MemoryDriverFactory(), SqliteDriverFactory(), PulsarStoreFactory({})):
            verifyObject(IPlugin, factory)
            verifyObject(IMetadataDriverFactory, factory)

    def test_named_memory(self) -> None:
        """Drivers of one name share a store; another name, and none, is another store."""
        factory = MemoryDriverFactory()
        drivers: list[Any] = [
            factory.create(Clock(), uri) for uri in ("memory:a", "memory:a", "memory:b", "memory:", "memory:")
        ]
        for driver in drivers:
            self._result(driver.open())
        self._result(drivers[0].ledgers.create(1, OPEN))
        self.assertEqual(self._result(drivers[1].ledgers.read(1)).value, OPEN)
        for driver in drivers[2:]:
            self._result(driver.ledgers.create(1, OPEN))

    def test_sqlite(self) -> None:
        """A driver is made without touching the file; a URI without a path is refused."""
        path = os.path.abspath(self.mktemp())
        driver = SqliteDriverFactory().create(Clock(), f"sqlite:///{path}")
        verifyObject(IMetadataDriver, driver)
        self.assertEqual(driver.uri, f"sqlite:///{path}")
        self.assertFalse(os.path.exists(path))
        self.assertRaises(InvalidMetadataUriError, SqliteDriverFactory().create, Clock(), "sqlite:")

    def test_stores_of_pulsar(self) -> None:
        """The factory for the named store gets the whole URI; a store without one is refused by its name."""
        factory = PulsarStoreFactory({"memory": MemoryDriverFactory()})
        for make in (factory.create, factory.create_admin):
            self.assertEqual(make(Clock(), "metadata-store:Memory:name").uri, "metadata-store:Memory:name")
            for store in ("rocksdb", "etcd", "oxia", "zookeeper", ""):
                uri = f"metadata-store:{store}:host:2181"
                error = str(self.assertRaises(InvalidMetadataUriError, make, Clock(), uri))
                self.assertIn(f"store {store!r}", error)
                self.assertIn("known: metadata-store:memory:", error)

    def test_light(self) -> None:
        """Looking at the plugins imports no driver."""
        code = (
            "import sys, twisted.plugins.bookkeeper_twisted_metadata\n"
            "print([m for m in sys.modules if m in ('sqlite3', 'kazoo', 'google.protobuf', 'twisted.internet.reactor')"
            " or m.startswith('bookkeeper_twisted.metadata.embedded.sqlite')])"
        )
        output = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )  # fmt: skip
        self.assertEqual(output.stdout.strip(), "[]")

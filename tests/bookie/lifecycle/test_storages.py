"""Ledger storages by name, and a bookie over another one than ours."""

from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.bookie.engine import Engine
from bookkeeper_twisted.bookie.lifecycle.storages import (
    EntryLogStorageFactory,
    ILedgerStorageFactory,
    ledger_storage_factory,
)
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError, Status
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings
from bookkeeper_twisted.testing.ledger_storage import MemoryStorageFactory

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..rig import Rig, add_replies, adds, reads, run
from .test_service import StepTestCase


class FactoryTests(SynchronousTestCase):
    """:func:`ledger_storage_factory`, with the plugins of this package."""

    def test_names(self) -> None:
        """The default, our name and Apache's three mean entry logs."""
        names = [BookieConfig().ledger_storage_class, "entry-log", "org.apache.bookkeeper.bookie.SortedLedgerStorage"]
        names += ["org.apache.bookkeeper.bookie.InterleavedLedgerStorage"]
        names += ["org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"]
        for name in names:
            config = BookieConfig(ledger_storage_class=name)
            self.assertIsInstance(ledger_storage_factory(config), EntryLogStorageFactory)

    def test_unknown(self) -> None:
        """A name that no plugin answers to is refused with its origin and the known names."""
        config = BookieConfig(ledger_storage_class="tape", origins={"ledger_storage_class": "file x"})
        error = self.assertRaises(ConfigError, ledger_storage_factory, config)
        self.assertRegex(str(error), "ledgerStorageClass = 'tape', file x: .*entry-log")
        self.assertEqual(str(error).count("entry-log"), 1)

    def test_interfaces(self) -> None:
        """Both factories have every name of the interface; ours is a plugin, that of tests is none."""
        for factory, is_plugin in ((EntryLogStorageFactory(), True), (MemoryStorageFactory(), False)):
            verifyObject(ILedgerStorageFactory, factory)
            self.assertEqual(IPlugin.providedBy(factory), is_plugin)


class RefusedStartTests(StepTestCase):
    """A bookie whose storage does not exist."""

    def test_refused(self) -> None:
        """It is not even made, so it leaves nothing behind."""
        self.assertRaises(ConfigError, self.world.service, ledger_storage_class="tape")
        self.assertEqual(self.world.disk.list("/"), [])


class OtherStorageTests(SynchronousTestCase):
    """A bookie over a storage of dictionaries."""

    def test_bookie(self) -> None:
        """It stores, checkpoints, and after a restart serves what was checkpointed and what its journal has."""
        disk, factory = SimDisk(), MemoryStorageFactory()
        rig = self.rig(disk, factory)
        peer = rig.connect()
        peer.send(adds(run(1, 0, 3)))
        rig.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0, 3), Status.EOK))
        rig.engine.checkpointer.checkpoint()
        rig.drain()
        peer.send(adds(run(1, 3, 2)))
        rig.drain()
        rig.store.close()
        self.assertEqual(sorted(factory.stored.entries[1]), [0, 1, 2])

        rig = self.rig(disk, factory)
        peer = rig.connect()
        peer.send(reads(1, range(5)))
        rig.drain()
        replies = peer.replies()
        for entry_id in range(5):
            self.assertIn(run(1, entry_id).entry(entry_id), replies)
        self.assertEqual(len(factory.opened), 2)
        self.assertNotIsInstance(rig.store.storage, LedgerStorage)

    def rig(self, disk: SimDisk, factory: MemoryStorageFactory) -> Rig:
        """A bookie over what is stored."""
        rig = Rig()
        paths = StorePaths(("/j",), ("/l",), ("/l",))
        paths.make(disk)
        journal, settings = JournalSettings(max_size=1 << 20, preallocate=1 << 18), StorageSettings()
        rig.store = Store.open(disk, paths, SimIndex.open, 1, b"salt", journal, settings, factory)
        rig.store.recover()
        rig.engine = Engine(
            rig.store.storage, rig.store.journals, rig.executor, rig.clock, rig._usage, rig.failures.append
        )
        return rig

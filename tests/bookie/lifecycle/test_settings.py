"""From the configuration to the options of the parts."""

from pathlib import Path
from typing import Any
from unittest import SkipTest

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle import settings
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import NoSuchLedgerMetadataError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metrics import new_registry, render
from bookkeeper_twisted.model import LedgerMetadata, Segment

MIB = 1 << 20


class SettingsTests(SynchronousTestCase):
    """Units and shares."""

    def setUp(self) -> None:
        self.config = BookieConfig(
            journal_directories=("/j1", "/j2"), ledger_directories=("/a",), journal_max_size_mb=7,
            journal_pre_alloc_size_mb=3, journal_max_group_wait_msec=2, journal_max_memory_size_mb=10,
            journal_sync_data=False, journal_write_data=False, max_adds_in_progress_limit=5,
            db_storage_write_cache_max_size_mb=9, rebuild_index=True, max_connections=11,
        )  # fmt: skip

    def test_paths(self) -> None:
        """Indexes lie beside the entry logs unless they are told otherwise."""
        paths = settings.store_paths(self.config)
        self.assertEqual((paths.all(), paths.indexes), (["/j1", "/j2", "/a"], ("/a",)))

    def test_journal(self) -> None:
        """Mebibytes become bytes."""
        journal = settings.journal_settings(self.config)
        self.assertEqual((journal.max_size, journal.preallocate, journal.reuse), (7 * MIB, 3 * MIB, True))

    def test_storage(self) -> None:
        """Caches and rebuild."""
        storage = settings.storage_settings(self.config)
        self.assertEqual((storage.write_cache_bytes, storage.rebuild_index), (9 * MIB, True))
        self.assertEqual(storage.reserve_bytes, 256 * MIB)
        self.assertEqual(settings.storage_settings(BookieConfig(log_size_limit=4 * MIB)).reserve_bytes, 4 * MIB)

    def test_custom_metadata(self) -> None:
        """Custom metadata are read again behind the newest write if the store does not know the ledger."""
        store = MemoryStore()
        driver: Any = store.driver(Clock())
        self.successResultOf(Deferred.fromCoroutine(driver.open()))
        synced: list[str] = []
        sync = driver.ledgers.sync

        async def create() -> None:
            synced.append("sync")
            metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("b:1",)),), custom_metadata={"application": b"pulsar"})
            await driver.ledgers.create(7, metadata)
            await sync()

        driver.ledgers.sync = create
        for _ in range(2):
            found = self.successResultOf(Deferred.fromCoroutine(settings.custom_metadata(driver, 7)))
            self.assertEqual((found, synced), ({"application": b"pulsar"}, ["sync"]))
        self.failureResultOf(Deferred.fromCoroutine(settings.custom_metadata(driver, -1)), NoSuchLedgerMetadataError)
        self.assertEqual(synced, ["sync"])

    def test_access(self) -> None:
        """Without an authorizer and an audit log nothing decides; with either of them something does."""
        recorded: dict[str, Any] = {"audit_log_file": self.mktemp()}
        named: dict[str, Any] = {"authorizer_class": "everybody"}
        for keys, expected in (({}, False), (named, False), (recorded, True)):
            config = BookieConfig(**keys)
            options = settings.engine_options(config, Clock(), MemoryStore().driver(Clock()), Instruments())
            self.assertEqual(options.access is not None, expected)

    def test_certificate(self) -> None:
        """With TLS, when the certificate of the bookie expires is exported."""
        try:
            from ...security.certificates import AFTER, Folder, authority, bookie
        except ImportError:
            raise SkipTest("needs the extra tls") from None
        folder = Folder(Path(self.mktemp()))
        folder.put_pair(bookie(), authority())
        config = BookieConfig(
            tls_provider_factory_class="org.apache.bookkeeper.tls.TLSContextFactory", tls_key_store_type="PEM",
            tls_key_store=str(folder.path / "key.pem"), tls_certificate_path=str(folder.path / "chain.pem"),
        )  # fmt: skip
        instruments = Instruments()
        settings.engine_options(config, Clock(), MemoryStore().driver(Clock()), instruments)
        text = render(new_registry(instruments)).decode()
        self.assertIn(f'tls_certificate_expires_at_seconds{{server="bookie"}} {AFTER.timestamp()}\n', text)

    def test_engine(self) -> None:
        """Milliseconds become seconds, and the journals share their memory."""
        options = settings.engine_options(self.config, Clock(), MemoryStore().driver(Clock()), Instruments())
        commit = options.commit
        self.assertEqual((commit.max_wait, commit.max_queued_bytes, commit.sync_data), (0.002, 5 * MIB, False))
        self.assertEqual((options.bookie.write_data, options.requests.max_adds_in_progress), (False, 5))
        self.assertEqual((options.server.max_connections, options.tcp_no_delay), (11, True))

    def test_maintenance(self) -> None:
        """Milliseconds become seconds, -1 no limit, and compactions write so many entries or so many bytes."""
        config = BookieConfig(
            gc_wait_time=60_000, minor_compaction_max_time_millis=-1, major_compaction_max_time_millis=5000,
            use_target_entry_log_size_for_gc=True, compaction_rate=7, scan_rate_by_bytes=9,
        )  # fmt: skip
        options = settings.maintenance_options(config)
        collector = options.collector
        self.assertEqual((collector.wait_time, collector.target_size), (60, 1 << 30))
        self.assertEqual((collector.minor.max_time, collector.major.max_time), (None, 5))
        self.assertEqual(options.rates["compaction-write"], Rate(7))
        self.assertEqual(options.rates["scan"], Rate(bytes=9))
        by_bytes = BookieConfig(is_throttle_by_bytes=True, gc_metadata_op_rate_limit=-1)
        rates = settings.throttle_rates(by_bytes)
        self.assertEqual(rates["compaction-write"], Rate(bytes=1_000_000))
        self.assertEqual(rates["gc-metadata"], Rate())

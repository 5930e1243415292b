"""Keys of Apache's bookie that have no effect here."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of, from_environment, from_file
from bookkeeper_twisted.config.java_keys import PROTECTION_KEYS, UNUSED_KEYS, is_unused
from bookkeeper_twisted.errors import ConfigError

from .shipped_files import BOOKKEEPER, PULSAR, as_file


class UnusedKeysTests(SynchronousTestCase):
    """The two lists of keys, used and unused, are apart."""

    def test_known_and_unused(self) -> None:
        """A thread pool of Java and any RocksDB option are known and unused."""
        for key in ("numAddWorkerThreads", "dbStorage_rocksDB_blockSize", "prometheusStatsLatencyRolloverSeconds"):
            self.assertTrue(is_unused(key), key)

    def test_unknown(self) -> None:
        """A misspelt key is not among them."""
        self.assertFalse(is_unused("bookiePrt"))

    def test_no_used_key_is_listed(self) -> None:
        """A key that has an effect is not said to have none."""
        for field in fields_of(BookieConfig).values():
            self.assertFalse(is_unused(field.key) and field.key not in PROTECTION_KEYS, field.key)
            self.assertNotIn(field.alias, UNUSED_KEYS)

    def test_metrics_of_shipped_files(self) -> None:
        """Both shipped files ask for a port of metrics, as they do not ask for an HTTP server."""
        for keys in (BOOKKEEPER, PULSAR):
            config = BookieConfig.load(from_file(as_file(keys), "conf"))
            self.assertTrue(config.serves_metrics_alone)
            self.assertEqual(config.prometheus_stats_http_port, 8000)


class ProtectionTests(SynchronousTestCase):
    """A key that demands TLS or authentication is never ignored."""

    def test_refused(self) -> None:
        """Each is refused by bookies and clients alike; the text names key, value, origin and the way out."""
        for key in PROTECTION_KEYS:
            for config in (BookieConfig, ClientConfig):
                if key in {field.key for field in fields_of(config).values()}:
                    continue  # a plugin that does not exist is refused by what looks for it
                with self.subTest(key, config=config):
                    error = self.assertRaises(ConfigError, config.load, from_file(f"{key}=true", "f"))
                    self.assertEqual(
                        str(error),
                        f"{key} = 'true', f:1: demands a protection that is not in force here; "
                        "allowInsecureConnections=true starts without it",
                    )

    def test_off(self) -> None:
        """Values that mean "off" pass, and parameters of what is off."""
        for key, off in PROTECTION_KEYS.items():
            for value in off:
                self.assertEqual(BookieConfig.load(from_file(f"{key}={value}", "f")).warnings, ())
        disabled = "org.apache.bookkeeper.auth.AuthProviderFactoryFactory$AuthenticationDisabledAuthProviderFactory"
        text = f"bookieAuthProviderFactoryClass={disabled}\ntlsCertFilesRefreshDurationSeconds=300\ntlsKeyStoreType=JKS"
        self.assertEqual(BookieConfig.load(from_file(text, "f")).warnings, ())

    def test_allowed(self) -> None:
        """With allowInsecureConnections it starts, and each key is warned about."""
        text = "allowInsecureConnections=true\nbookieTLSEnabled=true\ncertificatePath=bk"
        warnings = BookieConfig.load(from_file(text, "f")).warnings
        settings = [warning.split(",")[0] for warning in warnings]
        self.assertEqual(settings, ["bookieTLSEnabled = 'true'", "certificatePath = 'bk'"])

    def test_taken_back(self) -> None:
        """A later source can switch off what an earlier one demands."""
        later = from_environment({"BK_authorizedRoles": ""})
        self.assertEqual(BookieConfig.load(from_file("authorizedRoles=admin", "f"), later).warnings, ())


class ShippedFilesTests(SynchronousTestCase):
    """The files of Apache's distributions, as they are."""

    def test_bookkeeper(self) -> None:
        """BookKeeper's is taken without a warning."""
        config = BookieConfig.load(from_file(as_file(BOOKKEEPER), "bk_server.conf"))
        self.assertEqual(config.warnings, ())
        self.assertEqual(config.metadata_service_uri, "zk+hierarchical://localhost:2181/ledgers")

    def test_pulsar(self) -> None:
        """Pulsar's is taken without a warning: empty values are defaults, directories are relative."""
        config = BookieConfig.load(from_file(as_file(PULSAR), "bookkeeper.conf"))
        self.assertEqual(config.warnings, ())
        self.assertEqual(config.ledger_directories, ("data/bookkeeper/ledgers",))
        self.assertEqual(config.metadata_service_uri, "zk+null://localhost:2181/ledgers")
        self.assertEqual(config.db_storage_write_cache_max_size_mb, 64)
        self.assertEqual(config.num_read_worker_threads, 8)


class JavasValuesTests(SynchronousTestCase):
    """Values that Apache's bookie accepts."""

    def test_each_alone(self) -> None:
        """Each is accepted, with nothing else set."""
        for text in (
            "numReadWorkerThreads=0", "numReadWorkerThreads=128", "numAddWorkerThreads=0",
            "maxPendingReadRequestsPerThread=0", "maxPendingAddRequestsPerThread=0", "dbStorage_writeCacheMaxSizeMb=4",
            "journalMaxMemorySizeMb=1", "logSizeLimit=4096", "journalMaxSizeMB=8192", "diskUsageThreshold=0.9999",
            "diskUsageWarnThreshold=0.00001", "nettyMaxFrameSizeBytes=73400320", "journalAlignmentSize=131072",
            "bookiePort=0x0C6D", "journalSyncData=y", "ledgerDirectories=data/ledgers",
        ):  # fmt: skip
            with self.subTest(text):
                self.assertEqual(BookieConfig.load(from_file(text, "f")).warnings, ())

    def test_empty(self) -> None:
        """An empty value is the default, whatever its kind."""
        text = "".join(f"{field.key}=\n" for field in fields_of(BookieConfig).values())
        self.assertEqual(BookieConfig.load(from_file(text, "f")), BookieConfig())

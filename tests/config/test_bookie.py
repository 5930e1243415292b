"""The two configurations: defaults, sources, and the rules between fields."""

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Field, fields_of, from_file, from_options
from bookkeeper_twisted.errors import ConfigError

_TABLES: tuple[type[BookieConfig] | type[ClientConfig], ...] = (BookieConfig, ClientConfig)


class TableTests(SynchronousTestCase):
    """What holds for every field of both tables."""

    def _fields(self) -> list[tuple[type[BookieConfig] | type[ClientConfig], str, Field]]:
        return [(c, name, f) for c in _TABLES for name, f in fields_of(c).items()]

    def test_attribute_is_the_key_in_snake_case(self) -> None:
        """Who knows the key knows the attribute."""
        for _, name, field in self._fields():
            self.assertEqual(name.replace("_", ""), field.key.replace("_", "").lower())
            self.assertEqual(name, name.lower())

    def test_every_field_is_in_the_table(self) -> None:
        """No value can be set that help and documentation do not show."""
        for config in _TABLES:
            plain = {a.name for a in attrs.fields(config)} - set(fields_of(config))
            self.assertEqual(plain, {"origins", "warnings", "notes"})

    def test_default_text_means_the_default(self) -> None:
        """A default that is shown as a value reads back as the default."""
        for config, name, field in self._fields():
            if field.default.startswith(("as ", "zk+")):
                continue
            with self.subTest(name):
                read = config.load(from_options({field.key: field.default})) if field.default else config()
                self.assertEqual(getattr(read, name), getattr(config(), name))

    def test_help_is_one_line(self) -> None:
        """Help is one line without a full stop."""
        for _, name, field in self._fields():
            with self.subTest(name):
                self.assertRegex(field.help, r"^[^\n]{10,110}[^.\n]$")


class DerivedDefaultsTests(SynchronousTestCase):
    """Defaults that follow another field."""

    def test_index_directories(self) -> None:
        """Indexes lie in the ledger directories."""
        config = BookieConfig(ledger_directories=("/a", "/b"))
        self.assertEqual(config.index_directories, ("/a", "/b"))

    def test_low_water_mark(self) -> None:
        """A full directory is used again below the threshold at which it became full; it is warned of no later."""
        low = BookieConfig(disk_usage_threshold=0.5)
        self.assertEqual((low.disk_usage_lwm_threshold, low.disk_usage_warn_threshold), (0.5, 0.5))
        self.assertEqual(BookieConfig().disk_usage_warn_threshold, 0.9)

    def test_free_space_for_an_entry_log(self) -> None:
        """A new entry log needs its whole size."""
        config = BookieConfig(log_size_limit=5 << 20)
        self.assertEqual(config.min_usable_size_for_entry_log_creation, 5 << 20)

    def test_metadata_service_uri(self) -> None:
        """ZooKeeper if servers are named, else one file beside the entries; a URI wins over both."""
        self.assertEqual(BookieConfig(ledger_directories=("/a",)).metadata_service_uri, "sqlite:////a/metadata.db")
        zookeeper = BookieConfig(zk_servers="a:1,b:2", zk_ledgers_root_path="/l")
        self.assertEqual(zookeeper.metadata_service_uri, "zk+null://a:1;b:2/l")
        given = BookieConfig(zk_servers="a:1", metadata_service_uri="memory:x")
        self.assertEqual(given.metadata_service_uri, "memory:x")


class RulesTests(SynchronousTestCase):
    """What one field demands of another."""

    def _refuses(self, text: str, message: str) -> None:
        error = self.assertRaises(ConfigError, BookieConfig.load, from_file(text, "f"))
        self.assertEqual(str(error), message)

    def test_alignment(self) -> None:
        """Journal groups are aligned to sectors."""
        self._refuses("journalAlignmentSize=1000", "journalAlignmentSize = '1000', f:1: must be a multiple of 512")

    def test_index_directories(self) -> None:
        """Each ledger directory has one index directory."""
        self._refuses(
            "ledgerDirectories=/a,/b\nindexDirectories=/c",
            "indexDirectories = '/c', f:2: 1 directories for 2 ledger directories",
        )

    def test_disk_usage(self) -> None:
        """Neither the low-water mark nor the usage that is warned of is above that of a full disk."""
        for key in ("diskUsageLwmThreshold", "diskUsageWarnThreshold"):
            self._refuses(
                f"diskUsageThreshold=0.8\n{key}=0.9",
                f"{key} = '0.9', f:2: must not be above diskUsageThreshold = 0.8, f:1",
            )
        self._refuses(
            "diskUsageWarnThreshold=0.97",
            "diskUsageWarnThreshold = '0.97', f:1: must not be above diskUsageThreshold = 0.95, default",
        )

    def test_derived_after_change(self) -> None:
        """A default that follows from a changed value follows it; a mark of its own stays, and a refusal names both."""
        config = BookieConfig().changed({"diskUsageThreshold": "0.8"}, ["disk_usage_threshold"], "by hand")
        self.assertEqual((config.disk_usage_lwm_threshold, config.disk_usage_warn_threshold), (0.8, 0.8))
        back = config.changed({"diskUsageThreshold": "0.96"}, ["disk_usage_threshold"], "by hand")
        self.assertEqual((back.disk_usage_lwm_threshold, back.disk_usage_warn_threshold), (0.96, 0.9))
        marked = back.changed({"diskUsageLwmThreshold": "0.7"}, ["disk_usage_lwm_threshold"], "by hand")
        self.assertEqual(marked.changed({"gcWaitTime": "1"}, ["gc_wait_time"], "").disk_usage_lwm_threshold, 0.7)
        same = BookieConfig().changed({"diskUsageLwmThreshold": "0.95"}, ["disk_usage_lwm_threshold"], "by hand")
        self.assertEqual(
            same.changed({"diskUsageThreshold": "0.96"}, ["disk_usage_threshold"], "").disk_usage_lwm_threshold, 0.95
        )
        with self.assertRaisesRegex(
            ConfigError, "diskUsageLwmThreshold = '0.7', by hand: must not be above diskUsageThreshold = 0.6, by hand"
        ):
            marked.changed({"diskUsageThreshold": "0.6"}, ["disk_usage_threshold"], "by hand")

    def test_bookie_id(self) -> None:
        """A bookie id keeps to the characters of Apache's and is not the reserved word."""
        self._refuses("bookieId=a/b", "bookieId = 'a/b', f:1: not a bookie id: 'a/b'")
        self._refuses("bookieId=ReadOnly", "bookieId = 'ReadOnly', f:1: not a bookie id: 'ReadOnly'")
        self.assertEqual(BookieConfig(bookie_id="b-1.example:3181_[x]").bookie_id, "b-1.example:3181_[x]")

    def test_compactions(self) -> None:
        """Minor compactions are more frequent and less thorough than major ones; none is more frequent than runs."""
        self._refuses(
            "minorCompactionThreshold=0.8",
            "minorCompactionThreshold = '0.8', f:1: must be below that of major compactions, 0.8",
        )
        self._refuses(
            "minorCompactionInterval=86400",
            "minorCompactionInterval = '86400', f:1: must be below that of major compactions, 86400",
        )
        self._refuses(
            "minorCompactionInterval=60", "minorCompactionInterval = '60', f:1: is shorter than gcWaitTime = 600000 ms"
        )
        for disabled in ("majorCompactionThreshold=0", "majorCompactionInterval=0"):
            BookieConfig.load(from_file(f"{disabled}\nminorCompactionThreshold=0.9", "f"))

    def test_made_in_code(self) -> None:
        """A configuration made in code is held to the same rules."""
        error = self.assertRaises(ConfigError, BookieConfig, bookie_port=70000)
        self.assertEqual(str(error), "bookiePort = '70000', argument bookie_port: must be from 0 to 65535")
        error = self.assertRaises(ConfigError, BookieConfig, ledger_directories=())
        self.assertIn("at least one directory is needed", str(error))

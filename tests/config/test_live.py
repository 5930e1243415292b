"""Which values can change while a process runs."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import BACKGROUND, DISKS, LOG, REPLICATION, REQUESTS
from bookkeeper_twisted.config.live import changed_parts, changes, live_attributes, with_live
from bookkeeper_twisted.errors import ConfigError


class LiveTests(SynchronousTestCase):
    """Two configurations, one in force and one that was read later."""

    def test_attributes(self) -> None:
        """Each live attribute belongs to one part, and directories and ports to none."""
        parts = [live_attributes(BookieConfig, part) for part in (BACKGROUND, DISKS, LOG, REPLICATION, REQUESTS)]
        self.assertEqual(live_attributes(BookieConfig), frozenset().union(*parts))
        self.assertEqual(sum(map(len, parts)), len(live_attributes(BookieConfig)))
        self.assertIn("log_levels", live_attributes(BookieConfig, LOG))
        self.assertFalse({"bookie_port", "journal_directories", "log_format"} & live_attributes(BookieConfig))

    def test_with_live(self) -> None:
        """Live values are those of the later one, all others stay, and so do their origins."""
        present = BookieConfig(bookie_port=1, gc_wait_time=5, origins={"bookie_port": "a", "gc_wait_time": "a"})
        wanted = BookieConfig(bookie_port=2, gc_wait_time=6, origins={"bookie_port": "b", "gc_wait_time": "b"})
        both = with_live(present, wanted)
        self.assertEqual((both.bookie_port, both.gc_wait_time), (1, 6))
        self.assertEqual((both.origin("bookie_port"), both.origin("gc_wait_time")), ("a", "b"))
        self.assertEqual(with_live(present, BookieConfig(compaction_rate=9)).compaction_rate_by_entries, 9)

    def test_does_not_fit(self) -> None:
        """Values that do not fit together are refused."""
        full = BookieConfig(disk_usage_threshold=0.5)
        self.assertEqual(with_live(BookieConfig(), full).disk_usage_lwm_threshold, 0.5)
        live = live_attributes(BookieConfig)
        self.assertRaises(ConfigError, full.changed, {"diskUsageLwmThreshold": "0.6"}, live, "")

    def test_changes(self) -> None:
        """Changes have the key, both values as anyone may see them, and the part that takes them."""
        before = BookieConfig(token_key_file="k", http_server_key_store_password="one", allow_insecure_connections=True)
        after = BookieConfig(
            token_key_file="k", http_server_key_store_password="two", allow_insecure_connections=True, gc_wait_time=5
        )
        found = [(each.key, each.before, each.after, each.live) for each in changes(before, after)]
        self.assertEqual(
            found,
            [
                ("httpServerKeyStorePassword", "******", "******", ""),
                ("gcWaitTime", "600000", "5", "background work"),
            ],
        )
        self.assertEqual(changed_parts(before, after), {BACKGROUND})
        self.assertEqual(changed_parts(after, after), frozenset())

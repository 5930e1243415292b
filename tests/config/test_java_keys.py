"""Keys of Apache's bookie that have no effect here."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.config.java_keys import UNUSED_KEYS, is_unused


class UnusedKeysTests(SynchronousTestCase):
    """The two lists of keys, used and unused, are apart."""

    def test_known_and_unused(self) -> None:
        """A thread pool of Java and any RocksDB option are known and unused."""
        for key in ("numAddWorkerThreads", "dbStorage_rocksDB_blockSize", "prometheusStatsHttpPort"):
            self.assertTrue(is_unused(key), key)

    def test_unknown(self) -> None:
        """A misspelt key is not among them."""
        self.assertFalse(is_unused("bookiePrt"))

    def test_no_used_key_is_listed(self) -> None:
        """A key that has an effect is not said to have none."""
        for field in fields_of(BookieConfig).values():
            self.assertFalse(is_unused(field.key), field.key)
            self.assertNotIn(field.alias, UNUSED_KEYS)

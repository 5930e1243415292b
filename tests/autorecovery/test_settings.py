"""Keys of the configuration arrive at the parts."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.limits import LIMITERS
from bookkeeper_twisted.autorecovery.settings import checker_settings, copy_settings, throttle_rates, worker_settings
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.throttle import UNLIMITED, Rate


class SettingsTests(SynchronousTestCase):
    """Java's keys and those beside them."""

    def _config(self, **values: str) -> BookieConfig:
        return BookieConfig.load(from_options(values))

    def test_no_limits(self) -> None:
        """Nothing is limited unless it is asked for; 0 and below is no limit."""
        self.assertEqual(throttle_rates(self._config()), dict.fromkeys(LIMITERS, UNLIMITED))
        off = self._config(replicationRateByBytes="-1", checkerRateByEntries="-1", checkerMetadataOpRateLimit="-1")
        self.assertEqual(throttle_rates(off), dict.fromkeys(LIMITERS, UNLIMITED))

    def test_limits(self) -> None:
        """Each limiter has its keys."""
        config = self._config(
            replicationRateByBytes="1", replicationRateByEntries="2", replicationWriteRateByBytes="3",
            replicationWriteRateByEntries="4", zkReplicationTaskRateLimit="0.5", checkerRateByBytes="6",
            checkerRateByEntries="7", checkerMetadataOpRateLimit="8",
        )  # fmt: skip
        self.assertEqual(throttle_rates(config), {
            "replication-read": Rate(2, 1), "replication-write": Rate(4, 3), "replication-metadata": Rate(0.5),
            "checker-read": Rate(7, 6), "checker-metadata": Rate(8),
        })  # fmt: skip

    def test_windows(self) -> None:
        """The size of windows; Java's way to say that a fragment is not divided leaves bytes as the limit."""
        settings = copy_settings(self._config(rereplicationEntryBatchSize="10", replicationWindowBytes="4096"))
        self.assertEqual((settings.window_entries, settings.window_bytes), (10, 4096))
        self.assertGreaterEqual(copy_settings(self._config(rereplicationEntryBatchSize="0")).window_entries, 1 << 20)

    def test_worker(self) -> None:
        """Times come in ms and are kept in seconds."""
        settings = worker_settings(self._config(
            rwRereplicateBackoffMs="2000", openLedgerRereplicationGracePeriod="3000",
            lockReleaseOfFailedLedgerGracePeriod="4000", replicationConcurrentLedgers="5",
        ), "host")  # fmt: skip
        found = (settings.backoff, settings.grace, settings.longest_hold, settings.ledgers, settings.holder)
        self.assertEqual(found, (2, 3, 4, 5, "host"))

    def test_checker(self) -> None:
        """Share of entries and reads under way."""
        settings = checker_settings(
            self._config(auditorLedgerVerificationPercentage="30", inFlightReadEntryNumInLedgerChecker="9")
        )
        self.assertEqual((settings.percentage, settings.max_in_flight), (30, 9))

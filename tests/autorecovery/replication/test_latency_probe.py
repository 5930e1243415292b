"""What tells a worker how long clients of the bookies wait."""

from bookkeeper_twisted.autorecovery.replication.copying import LatencyProbe

from ..recovery_case import RecoveryCase


class LatencyProbeTests(RecoveryCase):
    """Windows of one entry."""

    def setUp(self) -> None:
        """One ledger that lacks a replica, on bookies that answer after 20 ms."""
        super().setUp()
        self.is_wanted = True
        self.probe = LatencyProbe(self.clock, lambda: self.is_wanted)
        self.bookie_ids = sorted(self.do(self.cluster.registration.writable_bookies()))

    def _copy(self, *sizes: int) -> tuple[list[int], float]:
        """The entries of each add of a copy in windows of ten entries, and how many seconds it took."""
        ledger_id = self.write(self.payloads(1000), sizes or (3, 3, 2))  # type: ignore[arg-type]
        ensemble = self.metadata(ledger_id).segments[0].bookies
        lost = ensemble[0]
        self.kill(lost)
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        others = [self.bookies[bookie_id] for bookie_id in self.bookie_ids if bookie_id != lost]
        for bookie in others:
            bookie.delay = 0.02
            bookie.requests.clear()
        began = self.clock.seconds()
        work = self.start(self.replicator(probe=self.probe, window_entries=10).repair(stored, report.damaged[0]))
        while not work.called:
            self.clock.advance(0.01)
            self.settle()
        self.assertFalse(self.replication_metrics.write_latency.failure.count)
        asked = [count for bookie in others for kind, _, _, count in bookie.requests if kind == "add"]
        self.assertEqual(sum(asked), self.replication_metrics.entries_written.value)
        return asked, self.clock.seconds() - began

    def test_ten_a_second(self) -> None:
        """While the latency is watched, ten windows in a second are one entry, and their latency is kept by itself."""
        asked, seconds = self._copy()
        self.assertEqual(sum(asked), 1000)
        singles = asked.count(1)
        self.assertTrue(0.8 * seconds <= singles / 10 <= seconds + 0.1, (singles, seconds))
        self.assertGreater(len(asked) - singles, singles)
        for summary in (self.replication_metrics.entry_read_latency, self.replication_metrics.entry_write_latency):
            self.assertEqual(summary.success.count, singles)
            self.assertTrue(all(15 <= value <= 40 for value, _ in summary.success.newest(singles)))

    def test_striped(self) -> None:
        """A striped ledger has such windows, too."""
        asked, seconds = self._copy(3, 2, 2)
        singles = self.replication_metrics.entry_read_latency.success.count
        self.assertTrue(0.8 * seconds <= singles / 10 <= seconds + 0.1, (singles, seconds))
        self.assertEqual(self.replication_metrics.entries_written.value, sum(asked))

    def test_not_watched(self) -> None:
        """While nothing watches it, all windows are whole."""
        self.is_wanted = False
        asked, _ = self._copy()
        self.assertEqual(set(asked), {10})
        self.assertEqual(self.replication_metrics.entry_write_latency.success.count, 0)
        self.assertEqual(self.replication_metrics.write_latency.success.count, 100)

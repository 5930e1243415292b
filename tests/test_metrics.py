"""Names, types and labels are those of Apache's bookie, and of its auditor and worker."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.auditing.auditor_metrics import AuditorMetrics
from bookkeeper_twisted.autorecovery.metrics import ReplicationMetrics, WorkerMetrics
from bookkeeper_twisted.errors import EntriesLostError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.adaptive import AdaptiveStatus
from bookkeeper_twisted.metrics import (
    AdaptiveMetrics,
    BookieMetrics,
    ConnectionMetrics,
    DiskMetrics,
    JournalMetrics,
    MaintenanceMetrics,
    RequestMetrics,
    StorageMetrics,
    ThrottleMetrics,
    directory_labels,
    new_registry,
    render,
)

_CAPTURED = Path(__file__).parent / "vectors" / "metrics"
CAPTURED = _CAPTURED / "bookie.txt"
CAPTURED_AUTORECOVERY = _CAPTURED / "autorecovery.txt"
OF_COPIES = re.compile(r"auditor_(NUM_(BYTES|ENTRIES)_(READ|WRITTEN)|(READ|WRITE)_DATA_LATENCY)")
"""Apache's auditor has the replicator that its worker has, and never copies."""
OURS_ALONE = re.compile(
    r".*_ms$|bookie_connection|bookie_journal_groups|bookkeeper_server_BATCH_READ_ENTRY|bookie_(ledger|journal)_dir_usage|bookie_ledger_dir_usable|throttle_|"
    r"bookie_compacted_bytes|bookie_flush_without_space|bookie_undeleted_ledgers"
)
SHOWN_ONCE_USED = {"bookie_rejected_write_requests"}
OF_OTHER_VERSIONS = {
    "bookie_journal_JOURNAL_CB_QUEUE_SIZE", "bookie_DELETED_LEDGER_COUNT", "bookie_MINOR_COMPACTION_COUNT",
    "bookie_storage_ledgers_count", "bookie_storage_entries_count", "bookie_storage_write_cache_size",
    "bookie_storage_read_cache_size", "bookie_read_cache_hits_count", "bookie_read_cache_misses_count",
    "bookkeeper_server_BookieReadThreadPool_queue_0",
}  # fmt: skip
"""Dashboards know them; the version that was captured has them no more."""

THREADS = {"threadPool", "thread"}
"""Labels that say which of its threads counted something in Apache's bookie."""


def families(text: str) -> dict[str, tuple[str, set[frozenset[str]]]]:
    """Name to type and the sets of label names."""
    found: dict[str, tuple[str, set[frozenset[str]]]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            found[name] = (kind, set())
        elif line:
            found[name][1].add(frozenset(re.findall(r"(\w+)=\"", line)) - THREADS)
    return found


class _Counts:
    """A storage that has done nothing."""

    write_cache_hits = read_cache_hits = resident_hits = cache_misses = 0

    def pending_bytes(self) -> int:
        return 0

    pending_entries = read_cache_bytes = read_cache_entries = ledger_count = undeleted = entry_count = pending_bytes


class NameTests(SynchronousTestCase):
    """Everything a bookie exports."""

    def setUp(self) -> None:
        instruments = Instruments()
        for index in (0, 1):
            JournalMetrics(instruments, index).watch_queue(lambda: 0, lambda: 0, 1, lambda: 0)
        labels = directory_labels(["/a", "/b"], ["/i", "/j"])
        StorageMetrics(instruments, _Counts(), labels, 512)
        MaintenanceMetrics(instruments, labels).measured(0, [(100, 4), (100, 100), (1000, 555)], 1200)
        metrics = BookieMetrics(instruments, labels)
        metrics.watch(lambda: 1, 2)
        metrics.reads.watch(lambda: 3, 4, 50)
        requests = RequestMetrics(instruments, labels)
        DiskMetrics(instruments, ["/bk/b1/ledgers"], ["/bk/j"], lambda path: 0.25, lambda: 1)
        for name in ("ADD_ENTRY", "READ_ENTRY"):
            requests.watch_permits(name, lambda: 0, lambda: 0)
        ConnectionMetrics(instruments)
        AdaptiveMetrics(instruments, lambda: AdaptiveStatus(20, 0.5, None))
        ThrottleMetrics(instruments, "scrub").watch(lambda: 0, lambda: 0, lambda: 0)
        self.text = render(new_registry(instruments)).decode()
        self.ours = families(self.text)
        self.captured = families(CAPTURED.read_text())

    def histograms(self) -> dict[str, list[Sample]]:
        """The samples of each histogram, as Prometheus reads them."""
        found = text_string_to_metric_families(self.text)
        return {family.name: family.samples for family in found if family.type == "histogram"}

    def test_same_as_captured(self) -> None:
        """What Apache's bookie exports too has its type and labels there."""
        others = SHOWN_ONCE_USED | OF_OTHER_VERSIONS
        shared = [name for name in self.ours if not OURS_ALONE.match(name) and name not in others]
        self.assertGreater(len(shared), 25)
        self.assertEqual([name for name in shared if name not in self.captured], [])
        for name in shared:
            with self.subTest(name):
                (kind, labels), (their_kind, their_labels) = self.ours[name], self.captured[name]
                self.assertEqual(kind, their_kind)
                self.assertLessEqual(labels, their_labels)

    def test_second_names(self) -> None:
        """What Apache's bookie measures a second time, without its queues, has the same numbers here."""
        instruments = Instruments()
        requests = RequestMetrics(instruments)
        requests.read_lac.success.record(3.0)
        text = render(new_registry(instruments)).decode()
        for name in ("bookkeeper_server_READ_LAC", "bookkeeper_server_READ_LAC_REQUEST"):
            self.assertIn(f'{name}_count{{success="true"}} 1', text)
        for name in ("WRITE_LAC", "FORCE_LEDGER", "GET_BOOKIE_INFO", "GET_LIST_OF_ENTRIES_OF_LEDGER",
                     "READ_ENTRY_FENCE_READ"):  # fmt: skip
            self.assertIn(f'bookkeeper_server_{name}_count{{success="true"}} 0', text)

    def test_names_of_dashboards(self) -> None:
        """Names that dashboards of Apache's bookie show are exported."""
        for name in (
            "bookkeeper_server_ADD_ENTRY", "bookkeeper_server_READ_ENTRY", "bookie_read_entry",
            "bookie_journal_JOURNAL_FORCE_WRITE_QUEUE_SIZE", "bookie_journal_JOURNAL_CB_QUEUE_SIZE",
            "bookie_readahead_batch_count", "bookie_readahead_batch_size", "bookie_ledger_writable_dirs",
            "bookkeeper_server_thread_executor_queue", "bookie_ACTIVE_LEDGER_TOTAL", "bookie_flush_size",
        ):  # fmt: skip
            self.assertIn(name, self.ours)
        self.assertIn("bookie_ledger_num_dirs 1\n", self.text)
        self.assertIn("bookie_write_cache_max_size 512\n", self.text)
        self.assertIn("bookie_ledger_dir__bk_b1_ledgers_usage 25.0\n", self.text)
        self.assertIn('bookie_ledger_dir_usage{ledgerDir="/bk/b1/ledgers"} 25.0\n', self.text)
        self.assertIn('bookie_journal_dir_usage{journalIndex="0",journalDir="/bk/j"} 25.0\n', self.text)

    def test_gone_directory(self) -> None:
        """A directory that cannot be measured has no usage, and is not usable; the others are."""
        instruments = Instruments()
        DiskMetrics(instruments, ["/a", "/b"], [], lambda path: None if path == "/a" else 0.5, lambda: 1)
        text = render(new_registry(instruments)).decode()
        found = sorted(line for line in text.splitlines() if not line.startswith("#"))
        usable = [f'bookie_ledger_dir_usable{{ledgerDir="/{name}"}} {value}' for name, value in (("a", 0), ("b", 1))]
        usage = ["bookie_ledger_dir__b_usage 50.0", 'bookie_ledger_dir_usage{ledgerDir="/b"} 50.0']
        counts = ["bookie_ledger_num_dirs 2", "bookie_ledger_writable_dirs 1"]
        self.assertEqual(found, sorted([*usable, *usage, *counts]))

    def test_usage_of_entry_logs(self) -> None:
        """Entry logs are counted by the tenth of their bytes that is live, each once."""
        found = re.findall(r"bookie_entry_log_usage_buckets_le_(\d+)\{.*\} (\d+)", self.text)
        self.assertEqual({int(le): int(n) for le, n in found if int(n)}, {10: 1, 60: 1, 100: 1})
        self.assertEqual(len(found), 10)

    def test_directories(self) -> None:
        """What a storage counts is labelled with its directories, as Apache's are with their one."""
        self.assertIn('bookie_write_cache_size{indexDir="/i,/j",ledgerDir="/a,/b"} 0\n', self.text)

    def test_batch_reads(self) -> None:
        """Those of batch reads are histograms with the bounds of BP-62, beside one of our own."""
        prefix = "bookkeeper_server_BATCH_READ_ENTRY_"
        bounds = {
            name.removeprefix(prefix): [sample.labels["le"] for sample in samples if "le" in sample.labels]
            for name, samples in self.histograms().items()
            if name.startswith(prefix)
        }
        latencies = ["5", "10", "20", "50", "100", "200", "500", "1000", "3000", "+Inf"]
        self.assertEqual(bounds["REQUEST"], latencies * 2)  # of failures and of successes
        self.assertEqual(
            bounds["RESPONSE_SIZE"], ["128", "512", "1024", "2048", "4096", "16384", "131072", "1048576", "+Inf"]
        )
        self.assertEqual(set(bounds), {"REQUEST", "RESPONSE_SIZE", "RESPONSE_ENTRIES"})

    def test_ours_alone(self) -> None:
        """What is ours alone collides with nothing of theirs."""
        for name in self.ours:
            if OURS_ALONE.match(name):
                self.assertNotIn(name, self.captured)


class AutorecoveryNameTests(SynchronousTestCase):
    """Everything that an auditor and a worker export."""

    def test_same_as_captured(self) -> None:
        """What Apache's auditor and worker export is exported, with the same types and labels."""
        instruments = Instruments()
        AuditorMetrics(instruments)
        ReplicationMetrics(instruments)
        WorkerMetrics(instruments).failed(EntriesLostError(1, (2,), "gone"))
        ours = families(render(new_registry(instruments)).decode())
        captured = families(CAPTURED_AUTORECOVERY.read_text())
        theirs = [name for name in captured if name.startswith(("auditor_", "replication_worker_"))]
        theirs = [name for name in theirs if not OF_COPIES.match(name)]
        self.assertEqual(len(theirs), 32)
        for name in theirs:
            with self.subTest(name):
                self.assertIn(name, ours)
                (kind, labels), (their_kind, their_labels) = ours[name], captured[name]
                self.assertEqual((kind, labels), (their_kind, their_labels))

"""Reading a partition, over bookies in memory."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads import Fragment
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.model import DigestType, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.spark.options import SourceOptions
from bookkeeper_twisted.spark.task import partition as tasks
from bookkeeper_twisted.spark.task.partition import FragmentPart

from ...blocking_reads.made_up import LEDGER, Cluster, stored_entries

COUNT = 30
METADATA = LedgerMetadata(
    3, 3, 2, (Segment(0, ("b0", "b1", "b2")),), LedgerState.CLOSED, last_entry_id=COUNT - 1,
    digest_type=DigestType.CRC32C,
)  # fmt: skip


class LostEntryTests(SynchronousTestCase):
    """Entries that no replica has."""

    def test_passed_over(self) -> None:
        """Where losses are accepted, exactly the entries that no replica has are passed over, the last one too."""
        cluster = Cluster.of(3)
        cluster.store(stored_entries([b"%d" % n for n in range(COUNT)], Digester(DigestType.CRC32C, b"")), 3)
        lost = {0, 12, 14, COUNT - 1}
        for bookie in cluster.bookies:
            for entry_id in lost:
                del bookie.entries[entry_id]
        self.patch(tasks, "connections", lambda *_: cluster.pool)
        options = SourceOptions.parse({"metadataserviceuri": "memory:", "ledger": "7", "failondataloss": "false"})
        piece = FragmentPart(Fragment(LEDGER, 0, COUNT - 1, tuple(cluster.addresses), 3), 0, 0.0)
        partition = tasks.Partition.of([piece], {LEDGER: METADATA})
        batches = list(tasks.read_partition(partition, tasks.settings_of(options)))
        found = [entry_id for batch in batches for entry_id in batch["entry_id"].to_pylist()]
        self.assertEqual(found, [n for n in range(COUNT) if n not in lost])
        self.assertEqual(len(self.flushWarnings()), len(lost))

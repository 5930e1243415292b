"""What a group commit counts."""

from collections.abc import Sequence

from bookkeeper_twisted.storage.interfaces import JournalPosition

from .group_commit_case import GroupCommitTestCase


class MetricsTests(GroupCommitTestCase):
    """What is counted of groups, on a journal that takes 2 s to write and 5 s to sync."""

    def setUp(self) -> None:
        super().setUp()
        write, sync = self.journal.write_group, self.journal.sync

        def slow_write(records: Sequence[bytes], sync: bool = True) -> JournalPosition:
            self.clock.advance(7 if sync else 2)
            return write(records, sync)

        def slow_sync() -> JournalPosition:
            self.clock.advance(5)
            return sync()

        self.journal.write_group = slow_write  # type: ignore[method-assign]
        self.journal.sync = slow_sync  # type: ignore[method-assign]

    def sums(self) -> list[float]:
        """Milliseconds in all: in the queue, of writing, of syncing, from the queueing to the end."""
        metrics = self.metrics
        return [part.success.sum for part in (metrics.queue_latency, metrics.write, metrics.sync, metrics.add_entry)]

    def test_latencies(self) -> None:
        """The time in the queue is that of each item; write and sync by one call count as a sync."""
        self.append(b"a")
        self.clock.advance(1)
        self.append(b"b")
        self.clock.advance(1)
        self.executor.drain()
        self.assertEqual(self.sums(), [2000 + 1000, 0, 7000, 9000 + 8000])
        self.assertEqual((self.metrics.queue_latency.success.count, self.metrics.sync.success.count), (2, 1))

    def test_mixed(self) -> None:
        """Where some wait for the write alone, writing and syncing are measured apart."""
        self.append(b"a", sync=False)
        self.append(b"b")
        self.executor.drain()
        self.assertEqual(self.sums(), [0, 2000, 5000, 2000 + 7000])

    def test_unsynced(self) -> None:
        """A group without adds to be synced has no time of a sync."""
        self.append(b"a", sync=False)
        self.executor.drain()
        self.assertEqual(self.sums(), [0, 2000, 0, 2000])
        self.assertEqual(self.metrics.sync.success.count, 0)

    def test_groups(self) -> None:
        """Each group is recorded one time, with its size and how long it waited, was written and was synced."""
        self.append(b"ab")
        self.append(b"c")
        self.clock.advance(1)
        self.executor.drain()
        self.append(b"d", sync=False)
        self.append(b"e")
        self.executor.drain()
        groups = self.metrics.groups.after(0)
        self.assertEqual(groups[0], (8.0, 2, 3, 1.0, 0.0, 7.0))
        self.assertEqual([(g.n_bytes, g.written, g.synced) for g in groups[1:]], [(1, 2.0, None), (1, 2.0, 5.0)])

    def test_sizes(self) -> None:
        """Groups, and their entries and bytes, are counted."""
        for records in (b"a", b"bc"):
            self.append(records)
        self.executor.drain()
        self.append(b"def")
        self.executor.drain()
        groups, n_bytes = self.metrics.group_entries.success, self.metrics.group_bytes.success
        self.assertEqual((groups.count, groups.sum, n_bytes.count, n_bytes.sum), (2, 3, 2, 6))

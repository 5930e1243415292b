"""Replicas of a ledger, and a reader."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.replica_reads import ReplicaReader
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import DigestType, LedgerMetadata, Segment
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.sealing import sealed

from .reading_case import Known, make_context

LEDGER = 2
FRAME = 1 << 20


class ReplicaCase(SynchronousTestCase):
    """Bookies with entries of a ledger."""

    segments: tuple[Segment, ...] = (Segment(0, ("b0", "b1", "b2")),)
    quorums = (3, 3, 2)
    count = 20
    batch_enabled = True
    sticky = False

    def setUp(self) -> None:
        """Stores the entries where they belong."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        self.digester = Digester(DigestType.CRC32C, b"")
        self.metadata = LedgerMetadata(*self.quorums, self.segments)
        self.run_stored = sealed(self.digester, LEDGER, 0, -1, 0, [b"payload %03d" % n for n in range(self.count)])
        schedule = Schedule(*self.quorums)
        for entry_id in range(self.count):
            ensemble = self.metadata.ensemble_at(entry_id)
            for position in schedule.write_set(entry_id):
                entries = self.bookies[ensemble[position]].entries.setdefault(LEDGER, {})
                entries[entry_id] = self.run_stored.entry(entry_id)
        self.known = Known()
        context = make_context(
            self.clock, self.bookies, known=self.known, batch_read_enabled=self.batch_enabled,
            netty_max_frame_size_bytes=FRAME, sticky_reads_enabled=self.sticky,
        )  # fmt: skip
        self.support = context.batch_support
        self.heard: list[int] = []
        self.replicas = ReplicaReader(context, self.digester, LEDGER, self.metadata, self.heard.append)

    def fetch(self, first: int, max_count: int = 1000, max_size: int = 0) -> "Deferred[EntryRun]":
        """A read, with all answers there."""
        fetched = Deferred.fromCoroutine(self.replicas.fetch(first, max_count, max_size))
        self.settle()
        return fetched

    def settle(self) -> None:
        """Lets answers come."""
        for _ in range(6):
            self.clock.advance(0)

    def good(self, first: int, max_count: int = 1000, max_size: int = 0) -> range:
        """The ids of what a read gives, whose bytes are the ones stored."""
        run = self.successResultOf(self.fetch(first, max_count, max_size))
        self.assertEqual(run.data, self.run_stored.slice(run.first, run.count).data)
        return range(run.first, run.last + 1)

    def asked(self, operation: str = "read_batch") -> list[str]:
        """Which bookies were asked, by name."""
        return [b for b in ("b0", "b1", "b2", "b3") for op, *_ in self.bookies[b].requests if op == operation]

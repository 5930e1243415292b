"""A ledger that is being written."""

from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import WriteFlag

from .writer_case import WriterTestCase


class OpenLedgerTests(WriterTestCase):
    """What is derived from it."""

    quorums = (4, 3, 2)

    def test_schedule(self) -> None:
        """Entries are distributed as the metadata says."""
        self.assertEqual(self.open(self.config, 9).schedule, Schedule(4, 3, 2))

    def test_flags(self) -> None:
        """Deferred sync is one of the write flags."""
        self.assertFalse(self.open(self.config, 9).deferred_sync)
        self.write_flags = WriteFlag.DEFERRED_SYNC
        self.assertTrue(self.open(self.config, 10).deferred_sync)

"""Copies to several bookies."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads import CopyTargets
from bookkeeper_twisted.codec.adds import scattered_adds, stored_adds
from bookkeeper_twisted.codec.operations import RECOVERY_ADD
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    RequestTimeoutError,
    Status,
    WriteOnReadOnlyBookieError,
)

from .made_up import DIGESTER, LEDGER, Cluster, stored_entries

ENTRIES = stored_entries([b"%d" % n * 30 for n in range(100)])


class CopyTargetTests(SynchronousTestCase):
    """Three bookies."""

    def setUp(self) -> None:
        self.cluster = Cluster.of(3)
        self.targets = CopyTargets(self.cluster.pool)
        run = EntryRun.of_entries(LEDGER, 0, list(ENTRIES.values()))
        self.adds = stored_adds(DIGESTER.master_key, run, RECOVERY_ADD)

    def write(self) -> None:
        """All entries to all bookies."""
        self.targets.write([(self.adds, self.cluster.addresses)])

    def complete(self) -> list[bool]:
        """Which bookies have everything as it was."""
        return [bookie.entries == ENTRIES for bookie in self.cluster.bookies]

    def test_all(self) -> None:
        """Entries come as they are stored; connections are kept."""
        self.write()
        self.write()
        self.assertEqual((self.complete(), self.targets.failed), ([True] * 3, {}))
        self.assertEqual([bookie.dialled for bookie in self.cluster.bookies], [1, 1, 1])

    def test_scattered(self) -> None:
        """Each bookie gets its own entries, with gaps between them."""
        wanted = {0: [1, 2, 7], 2: [99]}
        self.targets.write(
            (scattered_adds(DIGESTER.master_key, LEDGER, ids, [ENTRIES[n] for n in ids], RECOVERY_ADD),
             [self.cluster.addresses[position]])
            for position, ids in wanted.items()
        )  # fmt: skip
        self.assertEqual([sorted(bookie.entries) for bookie in self.cluster.bookies], [[1, 2, 7], [], [99]])

    def test_failures(self) -> None:
        """A bookie that is down, silent or refuses is left out from then on; the other one gets everything."""
        down, silent, _ = self.cluster.bookies
        down.down, silent.silent = True, True
        self.write()
        self.assertEqual(self.complete()[2], True)
        kinds = [type(self.targets.failed[one]) for one in self.cluster.addresses[:2]]
        self.assertEqual(kinds, [BookieHandleNotAvailableError, RequestTimeoutError])
        asked = len(silent.requests)
        self.write()
        self.assertEqual(len(silent.requests), asked)

    def test_refusal(self) -> None:
        """An error of the bookie is kept as it is, and its replies do not stay on the connection."""
        self.cluster.bookies[1].refuses = Status.EREADONLY
        self.write()
        self.assertIsInstance(self.targets.failed[self.cluster.addresses[1]], WriteOnReadOnlyBookieError)
        self.assertEqual(self.complete(), [True, False, True])

    def test_idle_connection(self) -> None:
        """Adds are repeated over a new connection where the bookie has closed an idle one."""
        self.write()
        self.cluster.lose_idle_connections()
        self.cluster.bookies[0].entries.clear()
        self.write()
        self.assertEqual((self.complete(), self.targets.failed), ([True] * 3, {}))

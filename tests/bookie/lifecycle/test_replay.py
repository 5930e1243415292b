"""Replay of journals."""

from collections.abc import Iterator
from typing import cast

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.replay import ReplayProgress, checkpoint_now, replay
from bookkeeper_twisted.bookie.records import explicit_lac_record, fence_record, key_record
from bookkeeper_twisted.errors import JournalDamageError
from bookkeeper_twisted.storage.interfaces import JournalPosition, LedgerRow
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings

from ..group_commit_case import ListJournal
from ..rig import KEY, Rig, entry, run


class _Recorded(ListJournal):
    """A journal that holds these records."""

    def __init__(self, *bodies: bytes) -> None:
        super().__init__()
        self.bodies = bodies
        self.log_mark: JournalPosition | None = None

    def replay(self, log_mark: JournalPosition) -> Iterator[bytes]:
        self.log_mark = log_mark
        return iter(self.bodies)


def packet(ledger_id: int, lac: int) -> bytes:
    return ledger_id.to_bytes(8, "big") + lac.to_bytes(8, "big", signed=True)


class ReplayTests(SynchronousTestCase):
    """Records go back into storage."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.storage = self.rig.storage

    def replay(self, *bodies: bytes) -> int:
        return replay([_Recorded(*bodies)], self.storage, [JournalPosition()])

    def key(self, ledger_id: int = 1, key: bytes = KEY) -> bytes:
        return key_record(ledger_id, key)[4:]

    def test_entries(self) -> None:
        """Entries that follow each other become one run."""
        self.assertEqual(self.replay(self.key(), *(entry(1, i) for i in (0, 1, 2, 5, 6))), 5)
        held = self.storage.cached(1, 1)
        assert held is not None
        self.assertEqual((held.first, held.count, held.entry(2)), (0, 3, entry(1, 2)))
        self.assertIsNone(self.storage.cached(1, 4))
        self.assertIsNotNone(self.storage.cached(1, 6))

    def test_progress(self) -> None:
        """Its progress tells the journal, the stored entries, and the bytes of all entries; then that it has ended."""
        progress, seen = ReplayProgress(), []

        class Watched(_Recorded):
            def replay(self, log_mark: JournalPosition) -> Iterator[bytes]:
                seen.append(str(progress))
                return super().replay(log_mark)

        bodies = (entry(1, 0), entry(1, 1), entry(9, 0))
        self.assertEqual(str(progress), "starting")
        replay([Watched(self.key(), *bodies), Watched()], self.storage, [JournalPosition()] * 2, progress)
        self.assertEqual(
            seen, ["replaying journal 1 of 2: 0 entries, 0 MiB", "replaying journal 2 of 2: 2 entries, 0 MiB"]
        )
        self.assertEqual(str(progress), "storing what was replayed: 2 entries, 0 MiB")
        self.assertEqual((progress.n_entries, progress.n_bytes), (2, sum(map(len, bodies))))

    def test_interleaved_ledgers(self) -> None:
        """Ledgers that were written in turn are told apart."""
        self.replay(self.key(1), self.key(2), entry(1, 0), entry(2, 0), entry(1, 1))
        for ledger_id, entry_id in ((1, 0), (2, 0), (1, 1)):
            self.assertIsNotNone(self.storage.cached(ledger_id, entry_id))

    def test_newest_copy(self) -> None:
        """The last copy in the journal wins."""
        self.replay(self.key(), entry(1, 0, b"old"), entry(1, 0, b"new"))
        held = self.storage.cached(1, 0)
        assert held is not None
        self.assertEqual(held.entry(0), entry(1, 0, b"new"))

    def test_states(self) -> None:
        """Keys, fences and explicit LACs are states of their ledgers."""
        lac = explicit_lac_record(1, packet(1, 5))[4:]
        self.replay(self.key(), fence_record(1)[4:], lac, explicit_lac_record(1, packet(1, 2))[4:])
        self.assertEqual(self.storage.ledger(1), LedgerRow(1, KEY, True, packet(1, 5)))

    def test_fence_without_key(self) -> None:
        """S2: a fence is applied even if the journal does not hold the ledger's key."""
        self.replay(fence_record(1)[4:])
        self.assertEqual(self.storage.ledger(1), LedgerRow(1, b"", True))
        self.replay(self.key())
        self.assertEqual(self.storage.ledger(1), LedgerRow(1, KEY, True))

    def test_unknown_ledger(self) -> None:
        """Entries and LACs without any key are of a ledger that was deleted: skipped."""
        self.assertEqual(self.replay(entry(1, 0), entry(1, 1), explicit_lac_record(1, packet(1, 5))[4:]), 0)
        self.assertIsNone(self.storage.ledger(1))

    def test_deleted_when_fenced(self) -> None:
        """S3: neither a key nor a fence nor a LAC brings a ledger back that was deleted when it was fenced."""
        self.replay(self.key(), fence_record(1)[4:], entry(1, 0))
        self.storage.forget([1], 100)
        checkpoint_now(self.storage, [JournalPosition()])
        lac = explicit_lac_record(1, packet(1, 5))[4:]
        self.assertEqual(self.replay(self.key(), entry(1, 0), fence_record(1)[4:], lac, entry(1, 1)), 0)
        self.assertIsNone(self.storage.ledger(1))
        self.assertTrue(self.storage.was_fenced(1))

    def test_another_key(self) -> None:
        """A stored key stays."""
        self.replay(self.key(), self.key(key=b"x" * 20))
        row = self.storage.ledger(1)
        assert row is not None
        self.assertEqual(row.master_key, KEY)

    def test_unknown_record(self) -> None:
        """Records of a kind we do not know are skipped."""
        self.assertEqual(self.replay(self.key(), packet(1, -0x4000), entry(1, 0)), 1)

    def test_damage(self) -> None:
        """Records too short for what they say stop the start."""
        for body in (b"short", self.key()[:-1], explicit_lac_record(1, packet(1, 5))[4:-1]):
            self.assertRaises(JournalDamageError, self.replay, body)

    def test_log_marks(self) -> None:
        """Each journal is replayed from its log mark."""
        journals = [_Recorded(), _Recorded()]
        log_marks = [JournalPosition(1, 2), JournalPosition(3, 4)]
        replay(journals, self.storage, log_marks)
        self.assertEqual([journal.log_mark for journal in journals], log_marks)

    def test_bounded_memory(self) -> None:
        """S7, S11: a full cache is checkpointed in between, under the old log mark."""
        rig = Rig(storage=StorageSettings(write_cache_bytes=20_000))
        bodies = [key_record(1, KEY)[4:], *(entry(1, i * 2, bytes(2000)) for i in range(50))]
        replay([_Recorded(*bodies)], rig.storage, [JournalPosition()])
        self.assertLess(rig.storage.pending_bytes(), 20_000)
        self.assertGreater(cast(LedgerStorage, rig.storage).checkpoints, 2)
        self.assertEqual(rig.store.log_marks[0].position, JournalPosition())
        for entry_id in (0, 98):
            held = rig.storage.cached(1, entry_id) or rig.storage.load(1, entry_id, 0)
            assert held is not None
            self.assertEqual(held.entry(entry_id), entry(1, entry_id, bytes(2000)))

    def test_twice(self) -> None:
        """Safety 3.8: what was replayed may be replayed again."""
        self.rig.add(run(1, 0, 5))
        self.rig.drain()
        again = Rig(Rig(self.rig.disk.crash()).disk.crash())
        loaded = again.storage.load(1, 0, 10_000)
        assert loaded is not None
        self.assertEqual(loaded.count, 5)

    def test_checkpoint_now(self) -> None:
        """A checkpoint in one call leaves nothing behind in memory."""
        self.storage.add(run(1, 0))
        checkpoint_now(self.storage, [JournalPosition(0, 0)])
        self.assertEqual(self.storage.pending_bytes(), 0)
        self.assertIsNotNone(self.storage.load(1, 0, 0))

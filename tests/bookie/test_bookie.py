"""The semantics of a bookie, on the real storage over a simulated disk."""

from zope.interface.verify import verifyObject

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.interfaces import IBookie
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieIOError,
    LedgerFencedError,
    UnauthorizedAccessError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.model import EntryRun
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from .bookie_case import BookieTestCase
from .rig import KEY, Rig, entry, run


class AddTests(BookieTestCase):
    """Adds."""

    def test_interface(self) -> None:
        """It provides what it says."""
        verifyObject(IBookie, self.bookie)

    def test_durable_when_done(self) -> None:
        """S1: the completion comes with the sync; a power cut after it loses nothing."""
        done = self.rig.add(run(1, 0, 3))
        self.assertEqual(done, [])
        self.rig.drain()
        self.assertEqual(done, [None])
        after = self.rig.restart()
        held = after.bookie.cached(1, 2)
        loading = None if held is not None else after.bookie.load([(1, 2, 0)])
        if loading is not None:
            after.drain()
            held = self.successResultOf(loading)[0]  # type: ignore[assignment]
        assert held is not None
        self.assertEqual(held.entry(2), entry(1, 2))

    def test_readable_at_once(self) -> None:
        """An entry can be read before it is durable."""
        self.rig.add(run(1, 0, 3))
        held = self.bookie.cached(1, 1)
        assert held is not None
        self.assertEqual(held.entry(1), entry(1, 1))

    def test_wrong_key(self) -> None:
        """The first key is the ledger's; another one is refused and stores nothing."""
        self.stored(run(1, 0))
        self.refused(self.rig.add(run(1, 1), key=b"x" * 20), UnauthorizedAccessError)
        self.assertIsNone(self.bookie.cached(1, 1))

    def test_wrong_key_after_a_restart(self) -> None:
        """The key is durable with the first entry."""
        self.stored(run(1, 0))
        self.refused(self.rig.restart().add(run(1, 1), key=b"x" * 20), UnauthorizedAccessError)

    def test_empty_stored_key_is_adopted(self) -> None:
        """A ledger whose key is not known takes the first one that is sent, durably."""
        self.rig.storage.put_ledger(LedgerRow(1))
        self.stored(run(1, 0))
        self.refused(self.rig.add(run(1, 1), key=b"x" * 20), UnauthorizedAccessError)
        self.refused(self.rig.restart().add(run(1, 1), key=b"x" * 20), UnauthorizedAccessError)

    def test_empty_key_sent(self) -> None:
        """Who made the ledger with an empty key keeps it."""
        done = self.rig.add(run(1, 0), key=b"")
        self.refused(self.rig.add(run(1, 1), key=b"x"), UnauthorizedAccessError)
        self.rig.drain()
        self.assertEqual(done, [None])
        after = self.rig.restart()
        loading = after.bookie.load([(1, 0, 0)])
        after.drain()
        (found,) = self.successResultOf(loading)
        self.assertIsInstance(found, EntryRun)

    def test_key_is_journaled_once(self) -> None:
        """The key record stands in front of the first entry only."""
        journal = self.rig.store.journals[0]
        self.stored(run(1, 0))
        first = journal.record_bytes  # type: ignore[attr-defined]
        self.stored(run(1, 1))
        self.assertEqual(first - run(1, 0).size, 24 + len(KEY))
        self.assertEqual(journal.record_bytes - first, run(1, 1).size)  # type: ignore[attr-defined]

    def test_reserved_ids(self) -> None:
        """Negative entry ids are the journal's own: refused, and nothing is journaled."""
        for kind in (-0x1000, -0x2000, -1):
            fake = EntryRun(1, kind, 1, run(1, 0).data, run(1, 0).stride)
            self.refused(self.rig.add(fake), BadRequestError)
        self.assertEqual(self.rig.executor.lanes(), [])

    def test_read_only(self) -> None:
        """A read-only bookie takes adds of high priority only, as long as it may take those."""
        self.bookie.mode.read_only = True
        self.refused(self.rig.add(run(1, 0)), WriteOnReadOnlyBookieError)
        done: list[Exception | None] = []
        self.bookie.add(run(1, 0), KEY, True, False, True, done.append)
        self.rig.drain()
        self.assertEqual(done, [None])
        self.bookie.mode.high_priority = False
        self.bookie.add(run(1, 1), KEY, True, False, True, done.append)
        self.assertIsInstance(done[1], WriteOnReadOnlyBookieError)

    def test_newest_copy_wins(self) -> None:
        """An entry that is added again replaces the old copy, on disk too."""
        self.stored(run(1, 0, 3))
        self.checkpoint()
        self.stored(run(1, 1, 1, b"newer"))
        self.checkpoint()
        (loaded,) = self.result(self.bookie.load([(1, 1, 0)]))  # type: ignore[misc]
        self.assertEqual(loaded.entry(1), entry(1, 1, b"newer"))

    def test_deferred_sync(self) -> None:
        """A deferred-sync add is complete with the write; a force makes it durable."""
        done = self.rig.add(run(1, 0), deferred=True)
        self.rig.drain()
        self.assertEqual((done, self.rig.store.journals[0].syncs), ([None], 0))  # type: ignore[attr-defined]
        self.result(self.bookie.force(1))
        self.assertEqual(self.rig.store.journals[0].syncs, 1)  # type: ignore[attr-defined]

    def test_journals(self) -> None:
        """A ledger belongs to journal ``id mod n``."""
        rig = Rig(journals=2)
        rig.add(run(4, 0))
        self.assertEqual(rig.executor.lanes(), ["journal-0"])
        rig.add(run(5, 0))
        self.assertEqual(rig.executor.lanes(), ["journal-0", "journal-1"])

    def test_entries_not_journaled(self) -> None:
        """With ``journalWriteData`` false adds are complete at once; keys are journaled all the same."""
        rig = Rig(options=EngineOptions(bookie=BookieOptions(write_data=False)))
        done = rig.add(run(1, 0))
        self.assertEqual(done, [None])
        rig.drain()
        self.assertEqual(rig.store.journals[0].record_bytes, 24 + len(KEY))  # type: ignore[attr-defined]


class FenceTests(BookieTestCase):
    """Fences."""

    def test_no_add_after_it(self) -> None:
        """S3: ordinary adds are refused from the moment of the fence; recovery adds are not."""
        self.stored(run(1, 0))
        fencing = self.bookie.fence(1, KEY)
        self.refused(self.rig.add(run(1, 1)), LedgerFencedError)
        self.result(fencing)
        self.refused(self.rig.add(run(1, 1)), LedgerFencedError)
        done = self.rig.add(run(1, 1), recovery=True)
        self.rig.drain()
        self.assertEqual(done, [None])

    def test_durable(self) -> None:
        """S2, S3: it fires when the fence is durable, and holds after a power cut, also of an unknown ledger."""
        self.stored(run(1, 0))
        for ledger_id in (1, 2):
            with self.subTest(ledger_id):
                fencing = self.bookie.fence(ledger_id, KEY)
                self.assertNoResult(fencing)
                self.result(fencing)
                self.refused(self.rig.restart().add(run(ledger_id, 1)), LedgerFencedError)

    def test_survives_checkpoints(self) -> None:
        """S3: a fence outlives the journal file its record was in."""
        self.result(self.bookie.fence(2, KEY))
        self.checkpoint()
        after = self.rig.restart()
        self.refused(after.add(run(2, 0)), LedgerFencedError)

    def test_adds_before_it(self) -> None:
        """An add that was taken before the fence is complete, and readable behind the fence (S4)."""
        done = self.rig.add(run(1, 0))
        fencing = self.bookie.fence(1, KEY)
        self.assertIsNotNone(self.bookie.cached(1, 0))
        self.result(fencing)
        self.assertEqual(done, [None])

    def test_second_fence(self) -> None:
        """S2: a fence that is under way makes others wait for it; a durable one does not."""
        first, second = self.bookie.fence(1, KEY), self.bookie.fence(1, KEY)
        self.assertNoResult(second)
        self.result(first)
        self.successResultOf(second)
        self.successResultOf(self.bookie.fence(1, KEY))

    def test_after_a_restart(self) -> None:
        """A fence found on disk needs no second record."""
        self.result(self.bookie.fence(1, KEY))
        after = self.rig.restart()
        self.successResultOf(after.bookie.fence(1, KEY))
        self.assertEqual(after.executor.lanes(), [])

    def test_wrong_key(self) -> None:
        """Nobody fences with a wrong key."""
        self.stored(run(1, 0))
        self.failureResultOf(self.bookie.fence(1, b"x" * 20), UnauthorizedAccessError)
        self.stored(run(1, 1))

    def test_failed(self) -> None:
        """S2: a fence whose record failed fails, for all who wait, and the flag stays."""
        self.rig.fail("pwrite", "/journal0/")
        first, second = self.bookie.fence(1, KEY), self.bookie.fence(1, KEY)
        self.rig.drain()
        self.failureResultOf(first, BookieIOError)
        self.failureResultOf(second, BookieIOError)
        self.failureResultOf(self.bookie.fence(1, KEY).addCallback(lambda _: None), BookieIOError)
        self.refused(self.rig.add(run(1, 0)), LedgerFencedError)
        self.flushLoggedErrors(OSError)

    def test_waiting_adds(self) -> None:
        """S3, S4: an add that waits for room when the fence comes is refused when there is room."""
        rig = Rig(storage=StorageSettings(write_cache_bytes=2000))
        rig.add(run(1, 0, 30))
        rig.add(run(1, 30, 30))
        waiting = rig.add(run(1, 60))
        self.assertEqual(waiting, [])
        fencing = rig.bookie.fence(1, KEY)
        rig.drain()
        self.successResultOf(fencing)
        self.refused(waiting, LedgerFencedError)

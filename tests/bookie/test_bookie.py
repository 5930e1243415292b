"""The semantics of a bookie, on the real storage over a simulated disk."""

from collections.abc import Callable

from zope.interface.verify import verifyObject

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.group_commit import CommitOptions
from bookkeeper_twisted.bookie.interfaces import IBookie
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.interfaces import Entries
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieIOError,
    LedgerFencedError,
    StorageFailedError,
    UnauthorizedAccessError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from .bookie_case import BookieTestCase
from .rig import KEY, Rig, entry, in_runs, mixed, run


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
        self.assertEqual(self.rig.executor.busy_threads(), [])

    def test_read_only(self) -> None:
        """A read-only bookie takes adds of high priority only, as long as it may take those."""
        self.bookie.mode.read_only = True
        self.refused(self.rig.add(run(1, 0)), WriteOnReadOnlyBookieError)
        done = self.rig.add(run(1, 0), high_priority=True)
        self.rig.drain()
        self.assertEqual(done, [None])
        self.bookie.mode.high_priority = False
        self.refused(self.rig.add(run(1, 1), high_priority=True), WriteOnReadOnlyBookieError)

    def test_journal_without_writes(self) -> None:
        """A journal that takes no writes is asked for none: fences and syncs of its ledgers are refused, those of other
        journals go on, and what is fenced durably stays so."""
        self.rig = Rig(journals=2)
        self.bookie = self.rig.bookie
        self.result(self.bookie.fence(3, KEY))
        self.stored(run(1, 0))
        self.bookie.mode.refusing = [1]
        written = self.rig.store.journals[1].record_bytes  # type: ignore[attr-defined]
        self.failureResultOf(self.bookie.fence(1, KEY), WriteOnReadOnlyBookieError)
        self.failureResultOf(self.bookie.force(1), WriteOnReadOnlyBookieError)
        self.assertIsNone(self.result(self.bookie.fence(3, KEY)))
        self.assertIsNone(self.result(self.bookie.fence(2, KEY)))
        self.assertIsNone(self.result(self.bookie.force(2)))
        self.assertEqual(self.rig.store.journals[1].record_bytes, written)  # type: ignore[attr-defined]
        self.bookie.mode.refusing = ()
        self.stored(run(1, 1))  # a refused fence has not fenced

    def test_newest_copy_wins(self) -> None:
        """An entry that is added again replaces the old copy, on disk too."""
        self.stored(run(1, 0, 3))
        self.checkpoint()
        self.stored(run(1, 1, 1, b"newer"))
        self.checkpoint()
        (loaded,) = self.result(self.bookie.load([(1, 1, 0)]))
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
        self.assertEqual(rig.executor.busy_threads(), ["journal-0"])
        rig.add(run(5, 0))
        self.assertEqual(rig.executor.busy_threads(), ["journal-0", "journal-1"])

    def test_room_in_its_journal(self) -> None:
        """S11: an add waits for the journal of its ledger only, one of several ledgers for all journals."""
        full = CommitOptions(max_queued_items=2)
        for entries, waits in ((run(5, 2), True), (run(6, 0), False), (in_runs(entry(6, 0), entry(8, 0)), True)):
            with self.subTest(repr(entries)):
                rig = Rig(journals=2, options=EngineOptions(commit=full))
                rig.add(run(5, 0))
                rig.add(run(5, 1))
                rig.add(entries)
                self.assertIs(rig.bookie.cached(entries.ledger_ids[0], entries.entry_ids[0]) is None, waits)
                rig.drain()
                self.assertIsNotNone(rig.bookie.cached(entries.ledger_ids[0], entries.entry_ids[0]))

    def test_entries_not_journaled(self) -> None:
        """With ``journalWriteData`` false adds are complete at once; keys are journaled all the same."""
        rig = Rig(options=EngineOptions(bookie=BookieOptions(write_data=False)))
        done = rig.add(run(1, 0))
        self.assertEqual(done, [None])
        rig.drain()
        self.assertEqual(rig.store.journals[0].record_bytes, 24 + len(KEY))  # type: ignore[attr-defined]


class MixedTests(BookieTestCase):
    """Adds of ledgers that take turns.

    :cvar together: makes one item of entries.
    :cvar parts: into which the two entries of three ledgers are divided where each is decided alone.
    """

    together: Callable[..., Entries] = staticmethod(mixed)
    parts = 6

    def setUp(self) -> None:
        super().setUp()
        for ledger_id in (1, 2, 3):
            self.stored(run(ledger_id, 0))

    def turns(self, first: int = 1) -> Entries:
        """Two entries of each of the three ledgers."""
        return self.together(*[
            entry(ledger_id, first + i, lac=first + i - 1) for i in range(2) for ledger_id in (1, 2, 3)
        ])  # fmt: skip

    def assert_held(self, bookie: Rig, *wanted: tuple[int, int]) -> None:
        for ledger_id, entry_id in wanted:
            run = bookie.bookie.cached(ledger_id, entry_id)
            assert run is not None
            self.assertEqual(run.entry(entry_id)[32:], b"payload")
            self.assertTrue(run.slice(entry_id, 1).ids_match())

    def test_one_item(self) -> None:
        """They are one record list for the journal and one completion, with the sync (S1)."""
        journal = self.rig.store.journals[0]
        before = journal.record_bytes, journal.groups  # type: ignore[attr-defined]
        done = self.rig.add(self.turns())
        self.assertEqual(done, [])
        self.assert_held(self.rig, (1, 1), (2, 1), (3, 2))
        self.rig.drain()
        self.assertEqual(done, [None])
        after = (before[0] + self.turns().size, before[1] + 1)
        self.assertEqual((journal.record_bytes, journal.groups), after)  # type: ignore[attr-defined]

    def test_replayed(self) -> None:
        """A power cut after the completion loses none of them."""
        self.rig.add(self.turns())
        self.rig.drain()
        after = self.rig.restart()
        for ledger_id in (1, 2, 3):
            loading = after.bookie.load([(ledger_id, entry_id, 0) for entry_id in range(3)])
            after.drain()
            found = self.successResultOf(loading)
            self.assertEqual([type(each) for each in found], [EntryRun] * 3)

    def test_heard(self) -> None:
        """The last entry and the LAC of each ledger are known at once; who waits for a LAC is told."""
        waiting = self.bookie.wait_lac(2, -1, 10)
        self.rig.add(self.turns())
        self.assertEqual([self.bookie.last_add_confirmed(i) for i in (1, 2, 3)], [1, 1, 1])
        self.assertIsNotNone(self.successResultOf(waiting))
        self.assertEqual([self.result(self.bookie.last_entry(i)) for i in (1, 2, 3)], [2, 2, 2])

    def test_refusals(self) -> None:
        """Entries of a fenced ledger, or one with another key, are refused; the others are done, in their order."""
        fencing = self.bookie.fence(2, KEY)
        self.rig.add(run(4, 0), key=b"other key".ljust(20))
        self.rig.drain()
        self.successResultOf(fencing)
        entries = self.together(*[entry(i, 1 if i < 4 else 0) for i in (1, 2, 3, 4, 5)])
        heard: list[tuple[int, type]] = []

        def done(part: Entries, error: Exception | None) -> None:
            assert isinstance(part, EntryRun)
            heard.append((part.ledger_id, type(error)))

        self.bookie.add(entries, KEY, False, False, False, done)
        self.rig.drain()
        refused = [(2, LedgerFencedError), (4, UnauthorizedAccessError)]
        self.assertEqual(heard, [*refused, (1, type(None)), (3, type(None)), (5, type(None))])
        self.assertIsNone(self.bookie.cached(2, 1))
        self.assert_held(self.rig, (1, 1), (3, 1), (5, 0))

    def test_recovery(self) -> None:
        """Recovery adds are done whether a ledger is fenced or not."""
        self.result(self.bookie.fence(2, KEY))
        done = self.rig.add(self.turns(), recovery=True)
        self.rig.drain()
        self.assertEqual(done, [None] * self.parts)

    def test_keys_first(self) -> None:
        """Ledgers that are new get their key records, in front of their entries (S2)."""
        done = self.rig.add(self.together(*[entry(ledger_id, 0) for ledger_id in (7, 8, 9)]))
        self.rig.drain()
        self.assertEqual(done, [None] * 3)
        after = self.rig.restart()
        for ledger_id in (7, 8, 9):
            self.refused(after.add(run(ledger_id, 1), key=b"x" * 20), UnauthorizedAccessError)

    def test_fence_between(self) -> None:
        """S3: from the moment of a fence no entry of the ledger gets in with others."""
        self.rig.add(self.turns())
        self.bookie.fence(3, KEY)
        done = self.rig.add(self.turns(3))
        self.rig.drain()
        refused = [type(error) for error in done if error is not None]
        self.assertEqual((len(done), refused), (self.parts, [LedgerFencedError] * (self.parts // 3)))
        self.assertIsNone(self.bookie.cached(3, 3))

    def test_adopted_key(self) -> None:
        """A ledger whose key was not known takes the one a mixed run brings, and no other one later."""
        self.rig.storage.put_ledger(LedgerRow(6))
        self.rig.add(self.together(entry(6, 0), entry(1, 1)))
        self.refused(self.rig.add(run(6, 1), key=b"x" * 20), UnauthorizedAccessError)

    def test_read_only(self) -> None:
        """A read-only bookie refuses each of them, unless they have high priority."""
        self.bookie.mode.read_only = True
        done = self.rig.add(self.turns())
        self.assertEqual([type(error) for error in done], [WriteOnReadOnlyBookieError] * self.parts)
        done = self.rig.add(self.turns(), high_priority=True)
        self.rig.drain()
        self.assertEqual(done, [None] * self.parts)

    def test_journals(self) -> None:
        """Each entry goes to the journal of its ledger, with one completion a journal."""
        rig = Rig(journals=2, ledger_dirs=2)
        for ledger_id in (1, 2, 3):
            rig.add(run(ledger_id, 0))
        rig.drain()
        before = [journal.record_bytes for journal in rig.store.journals]  # type: ignore[attr-defined]
        done = rig.add(self.turns())
        rig.drain()
        self.assertEqual(done, [None, None])
        sizes = [journal.record_bytes for journal in rig.store.journals]  # type: ignore[attr-defined]
        one = run(1, 0).size
        self.assertEqual([size - old for size, old in zip(sizes, before, strict=True)], [2 * one, 4 * one])
        self.assert_held(rig, (1, 1), (2, 2), (3, 2))

    def test_deferred_sync(self) -> None:
        """They are complete with the write."""
        syncs = self.rig.store.journals[0].syncs  # type: ignore[attr-defined]
        done = self.rig.add(self.turns(), deferred=True)
        self.rig.drain()
        self.assertEqual((done, self.rig.store.journals[0].syncs), ([None], syncs))  # type: ignore[attr-defined]

    def test_not_journaled(self) -> None:
        """With ``journalWriteData`` false they are complete at once."""
        rig = Rig(options=EngineOptions(bookie=BookieOptions(write_data=False)))
        for ledger_id in (1, 2, 3):
            rig.add(run(ledger_id, 0))
        self.assertEqual(rig.add(self.turns()), [None])

    def test_newest_copy(self) -> None:
        """Entries that are sent again replace the old copies, on disk too."""
        self.rig.add(self.turns())
        self.rig.drain()
        self.checkpoint()
        self.rig.add(self.together(entry(1, 1, b"newer"), entry(2, 1, b"newer")))
        self.checkpoint()
        found = self.result(self.bookie.load([(1, 1, 0), (2, 1, 0), (3, 1, 0)]))
        self.assertEqual([each.entry(1)[32:] for each in found], [b"newer", b"newer", b"payload"])

    def test_waiting(self) -> None:
        """Without room they wait, and go on as they are."""
        rig = Rig(storage=StorageSettings(write_cache_bytes=4000))
        for ledger_id in (1, 2, 3):
            rig.add(run(ledger_id, 0))
        rig.drain()
        rig.add(run(4, 0, 100))
        done = rig.add(self.turns())
        rig.drain()
        self.assertEqual(done, [None])

    def test_failed_journal(self) -> None:
        """S10: when the journal fails none of them is acknowledged, nor any later ones."""
        self.rig.fail("sync", "/journal0")
        done = self.rig.add(self.turns())
        self.rig.drain()
        self.assertEqual([type(error) for error in done], [StorageFailedError])
        self.assertEqual([type(error) for error in self.rig.add(self.turns(3))], [StorageFailedError])


class RunSequenceTests(MixedTests):
    """Adds of ledgers each of which gets a run in its turn: they are one item, as single entries are."""

    together = staticmethod(in_runs)
    parts = 3


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
        self.assertEqual(after.executor.busy_threads(), [])

    def test_wrong_key(self) -> None:
        """A wrong key does not fence."""
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

"""Ledgers through the whole client while bookies fail, and while another client opens them."""

from collections.abc import Callable

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import (
    BookieIOError,
    DuplicateEntryIdError,
    IncorrectParameterError,
    LedgerExistsError,
    LedgerFencedError,
    NotEnoughBookiesError,
)
from bookkeeper_twisted.model import LedgerState, WriteFlag

from .cluster_case import BOOKIES, ClusterCase, RealClusterCase


class CallersIdsTests(ClusterCase):
    """``create_ledger_adv``."""

    def test_ids(self) -> None:
        """Ledger and entries have the ids that the caller chose."""
        writer = self.do(self.bk.create_ledger_adv(77, 3, 3, 2, b"pw"))
        self.assertEqual(writer.ledger_id, 77)
        second, first = writer.write(1, b"b"), writer.write(0, b"a")
        self.assertEqual((self.do(first), self.do(second)), (0, 1))
        self.error(writer.write(1, b"c"), DuplicateEntryIdError)
        self.do(writer.close())
        reader = self.do(self.bk.open_ledger(77, b"pw"))
        self.assertEqual([entry.data for entry in self.do(reader.read(0, 1))], [b"a", b"b"])

    def test_ledger_ids(self) -> None:
        """A taken id and one that is none are refused; without one it is generated."""
        self.do(self.bk.create_ledger_adv(7))
        self.error(self.bk.create_ledger_adv(7), LedgerExistsError)
        self.error(self.bk.create_ledger_adv(-7), IncorrectParameterError)
        self.assertNotEqual(self.do(self.bk.create_ledger_adv()).ledger_id, 7)


class OptionTests(ClusterCase):
    """What the configuration and the flags change."""

    def test_deferred_sync(self) -> None:
        """The last add confirmed moves with force; the closed ledger has everything."""
        writer = self.do(self.bk.create_ledger(3, 3, 2, write_flags=WriteFlag.DEFERRED_SYNC))
        self.assertEqual(self.do(writer.append(b"a")), 0)
        self.assertEqual(writer.last_add_confirmed, -1)
        self.do(writer.force())
        self.assertEqual(writer.last_add_confirmed, 0)
        self.do(writer.append(b"b"))
        self.do(writer.close())
        self.assertEqual(self.do(self.bk.open_ledger(writer.ledger_id)).last_add_confirmed, 1)

    def test_opportunistic_striping(self) -> None:
        """With too few bookies the ensemble is smaller, if the client may do that."""
        self.error(self.bk.create_ledger(6, 2, 2), NotEnoughBookiesError)
        writer = self.do(self.client(opportunistic_striping=True).create_ledger(6, 2, 2))
        self.assertEqual((writer.metadata.ensemble_size, len(writer.metadata.segments[0].bookies)), (4, 4))


class FailureTests(ClusterCase):
    """Bookies fail while a ledger is written."""

    def test_one_after_the_other(self) -> None:
        """Any bookie may fail at any time, as long as there is one to spare; everything acknowledged is read."""
        writer = self.do(self.bk.create_ledger(3, 2, 2))
        for number in range(12):
            failing = BOOKIES[number % len(BOOKIES)]
            fault = self.bookies[failing].fail("add", BookieIOError)
            self.assertEqual(self.do(writer.append(b"entry %d" % number)), number)
            self.bookies[failing].faults.remove(fault)
        self.do(writer.close())
        segments = self.do(self.bk.ledger_metadata(writer.ledger_id)).segments
        self.assertGreater(len(segments), 2)
        reader = self.do(self.bk.open_ledger(writer.ledger_id))
        self.assertEqual([e.data for e in self.do(reader.read(0, 11))], [b"entry %d" % n for n in range(12)])

    def test_recovered_meanwhile(self) -> None:
        """A ledger that another client opens takes no more entries, and keeps all acknowledged ones (S12, S14)."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many([b"a", b"b"]))
        reader = self.do(self.client().open_ledger(writer.ledger_id))
        self.assertEqual(reader.last_add_confirmed, 1)
        self.error(writer.append(b"c"), LedgerFencedError)
        self.error(writer.close(), LedgerFencedError)
        value = self.do(self.bk.ledger_metadata(writer.ledger_id))
        self.assertEqual((value.state, value.last_entry_id, value.length), (LedgerState.CLOSED, 1, 2))

    def test_recovered_before_a_change(self) -> None:
        """A writer that would change bookies finds out too."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append(b"a"))
        self.do(self.client().open_ledger(writer.ledger_id))
        for name in BOOKIES:
            self.bookies[name].fail("add", BookieIOError)
        failure = writer.append(b"b")
        self.settle()
        self.assertEqual(self.failureResultOf(failure).value.code, -11)


class SentAgainTests(ClusterCase):
    """An entry that one bookie failed goes to another one, when the LAC has moved since it was first sent (S14)."""

    def setUp(self) -> None:
        """Two ledgers with one entry each."""
        super().setUp()
        self.writers = [self.do(self.bk.create_ledger(3, 3, 2)) for _ in range(2)]
        for writer in self.writers:
            self.do(writer.append(b"0"))
        self.writer = self.writers[0]

    def _ensemble(self) -> tuple[str, ...]:
        metadata = self.do(self.bk.ledger_metadata(self.writer.ledger_id))
        return tuple(metadata.segments[-1].bookies)

    def _assert_same_bytes(self, append: Callable[[bytes], object]) -> None:
        """All bookies of the ensemble hold entry 2 as it was sealed, while entry 0 was the last one confirmed."""
        before = self._ensemble()
        _, slow, failing = (self.bookies[name] for name in before)
        for name in BOOKIES:
            self.bookies[name].delay = 1.0
        append(b"1")
        self.settle()
        failing.delay, slow.delay = 2.0, 3.0
        failing.fail("add", BookieIOError, first=2)
        append(b"2")
        self.settle()
        self.clock.advance(1.5)
        self.assertEqual(self.writer.last_add_confirmed, 1)  # entry 2 has one bookie of two
        self.clock.pump([0.5] * 10)
        self.assertEqual(self.writer.last_add_confirmed, 2)
        after = self._ensemble()
        self.assertEqual([new != old for new, old in zip(after, before, strict=True)], [False, False, True])
        stored = [self.bookies[name].entries[self.writer.ledger_id][2] for name in after]
        self.assertEqual(stored, stored[:1] * 3)
        self.assertEqual(EntryRun.of_entries(self.writer.ledger_id, 2, stored[:1]).last_add_confirmed(), 0)

    def test_append(self) -> None:
        """Single entries."""
        self._assert_same_bytes(self.writer.append)

    def test_many(self) -> None:
        """Runs of one entry."""
        self._assert_same_bytes(lambda payload: self.writer.append_many([payload]))

    def test_many_ledgers(self) -> None:
        """Entries that are sent with those of another ledger."""
        self._assert_same_bytes(lambda payload: [writer.append(payload) for writer in self.writers])


class RealBookieTests(RealClusterCase):
    """Real bookies, over V2."""

    def test_each_dies_in_turn(self) -> None:
        """One bookie after the other loses its connections while entries are written; all are read (S12, S16)."""
        writer = self.do(self.bk.create_ledger(3, 2, 2, b"secret"))
        payloads = [b"entry %d" % n for n in range(400)]
        for turn in range(8):
            address = (BOOKIES[turn % 4].split(":")[0], 1)
            listener = self.network.listeners.pop(address)
            self.network.break_connections(address)
            appended = writer.append_many(payloads[50 * turn : 50 * turn + 50])
            self.settle()
            self.assertEqual(self.do(appended), (50 * turn, 50 * turn + 49))
            self.network.listeners[address] = listener
            self.clock.advance(10)
        self.do(writer.close())
        self.assertGreater(len(writer.metadata.segments), 3)
        reader = self.do(self.bk.open_ledger(writer.ledger_id, b"secret"))
        self.assertEqual([entry.data for entry in self.do(reader.read(0, 399))], payloads)

    def test_deferred_sync(self) -> None:
        """Force moves the LAC; V3 carries what V2 cannot say."""
        writer = self.do(self.bk.create_ledger(3, 3, 2, write_flags=WriteFlag.DEFERRED_SYNC))
        self.do(writer.append_many([b"a"] * 100))
        self.assertEqual(writer.last_add_confirmed, -1)
        self.do(writer.force())
        self.assertEqual(writer.last_add_confirmed, 99)
        self.do(writer.append(b"b"))
        self.do(writer.close())
        self.assertEqual(self.do(self.bk.open_ledger(writer.ledger_id)).last_add_confirmed, 100)


class RealBookieV3Tests(RealBookieTests):
    """The same over V3."""

    wire_protocol = "v3"

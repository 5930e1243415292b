"""Batches: where their entries go.  How they complete is in :mod:`.test_batch_completion`, what fails in
:mod:`.test_batch_failures`, several entries of a ledger in flight in :mod:`.test_batch_overlap`."""

from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.errors import ClientClosedError, LedgerFencedError

from .batch_case import BatchCase, RealBatchCase


class EnsembleTests(BatchCase):
    """What each bookie gets."""

    writers_count = 0

    def _kept(self, name: str) -> set[tuple[int, int]]:
        """What a bookie keeps."""
        entries = self.bookies[name].entries
        return {(ledger_id, entry_id) for ledger_id in entries for entry_id in entries[ledger_id]}

    def _check(self, batchers: int = 1) -> None:
        """Ten turns: every bookie gets what its write sets say, in one request of each batcher, and nothing else."""
        expected: dict[str, set[tuple[int, int]]] = {}
        for turn in range(10):
            waiters, before = self.append(b"%d" % turn), len(self.bookies.sent)
            self.settle()
            self.assertEqual(self.results(waiters), [turn] * len(waiters))
            sent = self.bookies.sent[before:]
            for name in {each.bookie_id for each in sent}:
                self.assertLessEqual(len([each for each in sent if each.bookie_id == name]), batchers)
            for writer in self.writers:
                metadata = self.metadata(writer.ledger_id)
                for i in range(metadata.write_quorum_size):
                    name = metadata.segments[0].bookies[(turn + i) % metadata.ensemble_size]
                    expected.setdefault(name, set()).add((writer.ledger_id, turn))
        for name, keys in expected.items():
            self.assertEqual(self._kept(name), keys)
            for ledger_id, entry_id in keys:
                self.assertEqual(self.header(name, ledger_id, entry_id), (entry_id - 1, entry_id + 1, b"%d" % entry_id))
        self.assert_quiet()

    def test_different(self) -> None:
        """Ensembles that have some bookies in common."""
        for n, names in enumerate(("b0 b1 b2", "b2 b0 b1", "b1 b2 b3", "b0 b1 b2"), 1):
            self.writers.append(self.open(n, names.split()))
        self._check()

    def test_striped(self) -> None:
        """Write sets that are smaller than the ensemble, at different entries."""
        for n in range(1, 7):
            self.writers.append(self.open(n, [f"b{i}" for i in range(5)], (5, 3, 2)))
        self._check()

    def test_striped_apart(self) -> None:
        """Write sets of entries of which each is the first of another bookie."""
        for n in range(5):
            self.writers.append(self.open(n, [f"b{i}" for i in range(5)], (5, 3, 2)))
            if n:
                self.writers[n].append_many([b"x"] * n)
        self.settle()
        self.bookies.sent.clear()
        self.append()
        self.turn()
        for position in range(5):
            keys = [(n, n) for n in range(5) if (position - n) % 5 < 3]
            self.assertEqual(self.asked(f"b{position}"), [keys])

    def test_quorums(self) -> None:
        """Ledgers with different quorums of the same bookies, which have batchers of their own."""
        for n, quorums in enumerate(((3, 3, 3), (3, 3, 1), (3, 2, 2), (3, 3, 2), (3, 1, 1)), 1):
            self.writers.append(self.open(n, quorums=quorums))
        self._check(5)

    def test_ack_quorums(self) -> None:
        """An entry completes with its own ack quorum, whatever the others need."""
        for n, quorums in enumerate(((3, 3, 3), (3, 3, 1), (3, 3, 2)), 1):
            self.writers.append(self.open(n, quorums=quorums))
        self.hold()
        waiters = self.append()
        self.turn()
        for name, fired in (("b2", [False, True, False]), ("b0", [False, True, True]), ("b1", [True, True, True])):
            self.bookies.answer(name)
            self.assertEqual([waiter.called for waiter in waiters], fired)

    def test_one_bookie(self) -> None:
        """Ledgers that share no bookie are sent all the same."""
        for n in range(1, 4):
            self.writers.append(self.open(n, [f"b{n}"], (1, 1, 1)))
        self._check()


class WireTests(RealBatchCase):
    """Real bookies."""

    def test_striped(self) -> None:
        """Every entry is read back, from ledgers of different quorums whose entries were mixed."""
        quorums = ((4, 3, 2), (4, 2, 2), (3, 3, 2), (3, 2, 1))
        writers = [self.do(self.bk.create_ledger(*quorums[n % 4])) for n in range(12)]
        for turn in range(9):
            waiters = [writer.append(b"%d %d" % (turn, writer.ledger_id)) for writer in writers]
            self.settle()
            self.assertEqual([self.successResultOf(waiter) for waiter in waiters], [turn] * 12)
        for writer in writers:
            self.do(writer.close())
            reader = self.do(self.bk.open_ledger(writer.ledger_id))
            found = [entry.data for entry in self.do(reader.read(0, 8))]
            self.assertEqual(found, [b"%d %d" % (turn, writer.ledger_id) for turn in range(9)])
        self.assertGreater(len(self.bookies.sent), 24)

    def _writers(self) -> list[LedgerWriter]:
        """Writers that are connected and wait for nothing."""
        writers = [self.do(self.bk.create_ledger(3, 3, 2)) for _ in range(6)]
        for number in range(2):
            waiters = [writer.append(b"%d" % number) for writer in writers]
            self.settle()
            self.assertEqual([self.successResultOf(waiter) for waiter in waiters], [number] * 6)
        return writers

    def test_loss(self) -> None:
        """A connection that is lost with a mixed run on its way costs no entry, with or without a bookie to spare."""
        writers = self._writers()
        self.bookies.sent.clear()
        waiters = [writer.append(b"2") for writer in writers]
        self.clock.advance(0)
        self.assertIn("b1:1", [bookie_id for bookie_id, _ in self.bookies.sent])
        self.network.break_connections(("b1", 1))
        self.settle()
        self.assertEqual([self.successResultOf(waiter) for waiter in waiters], [2] * 6)
        waiters = [writer.append(b"3") for writer in writers]
        self.settle()
        self.assertEqual([self.successResultOf(waiter) for waiter in waiters], [3] * 6)
        for writer in writers:
            self.do(writer.close())
            (*_, last) = self.do(self.bk.ledger_metadata(writer.ledger_id)).segments
            self.assertNotIn("b1:1", last.bookies)
            reader = self.do(self.bk.open_ledger(writer.ledger_id))
            self.assertEqual([entry.data for entry in self.do(reader.read(0, 3))], [b"0", b"1", b"2", b"3"])

    def test_recovered_meanwhile(self) -> None:
        """Opening one of the ledgers ends its writer, and no other (S12)."""
        first, *others = self._writers()
        reader = self.do(self.client().open_ledger(first.ledger_id))
        self.assertEqual(reader.last_add_confirmed, 1)
        waiters = [writer.append(b"2") for writer in (*others, first)]
        self.settle()
        self.failureResultOf(waiters.pop(), LedgerFencedError)
        self.assertEqual([self.successResultOf(waiter) for waiter in waiters], [2] * 5)
        self.assertEqual([entry.data for entry in self.do(reader.read(0, 1))], [b"0", b"1"])

    def test_close(self) -> None:
        """A client that is closed fails what is on its way, and what was not sent."""
        writers = self._writers()
        waiters = [writer.append(b"2") for writer in writers[:3]]
        self.clock.advance(0)
        waiters += [writer.append(b"2") for writer in writers[3:]]
        closed = self.bk.close()
        self.settle()
        self.successResultOf(closed)
        for waiter in waiters:
            self.failureResultOf(waiter, ClientClosedError)

    def test_flow_ends(self) -> None:
        """The flow that the runs are sent over ends when the last writer is closed."""
        *others, last = self._writers()
        flow_ids = self.bookies.pool.settings.flow_ids
        flows = len(flow_ids)
        for writer in others:
            self.do(writer.close())
        self.assertEqual(len(flow_ids), flows - 5)
        self.do(last.close())
        self.assertEqual(len(flow_ids), flows - 7)

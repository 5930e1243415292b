"""A batch gives ids, payloads and entries, and makes no object before it is asked for."""

import pickle
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.ledger import entry_batch
from bookkeeper_twisted.ledger.entry_batch import EntryBatch
from bookkeeper_twisted.model import DigestType, Entry
from bookkeeper_twisted.testing.sealing import sealed


class _CountingDigester(Digester):
    """Counts how often payloads are taken out."""

    calls = 0

    def payloads(self, run: EntryRun) -> Sequence[bytes]:
        type(self).calls += 1
        return super().payloads(run)


class EntryBatchTests(SynchronousTestCase):
    """Batches of uniform and of mixed sizes."""

    digester = _CountingDigester(DigestType.CRC32C, b"")

    def _batch(self, payloads: Sequence[bytes]) -> EntryBatch:
        return EntryBatch(sealed(self.digester, 9, 100, 50, 1000, payloads), self.digester)

    def test_content(self) -> None:
        """Ids, payloads and entries agree."""
        for payloads in ([b"ab", b"cd", b"ef"], [b"", b"a", b"bcd"], [b"one"]):
            batch = self._batch(payloads)
            self.assertEqual((batch.ledger_id, batch.first, batch.last), (9, 100, 99 + len(payloads)))
            self.assertEqual(list(batch.ids), list(range(100, 100 + len(payloads))))
            self.assertEqual(len(batch), len(payloads))
            self.assertEqual(list(batch.payloads), payloads)
            lengths = [1000 + sum(map(len, payloads[: n + 1])) for n in range(len(payloads))]
            entries = [Entry(9, 100 + n, p, lengths[n], 50) for n, p in enumerate(payloads)]
            self.assertEqual(list(batch), entries)
            self.assertEqual(batch.entry(100), entries[0])
            self.assertEqual(batch.entry(batch.last), entries[-1])

    def test_entries(self) -> None:
        """Entries are as their constructor makes them, and cannot be changed."""
        for count in (1, 300):
            found = list(self._batch([b"%07d" % i for i in range(count)]))
            made = [Entry(9, 100 + i, b"%07d" % i, 1000 + 7 * i + 7, 50) for i in range(count)]
            self.assertEqual(found, made)
            for each, same in ((found[0], made[0]), (found[-1], made[-1])):
                self.assertEqual((type(each), hash(each), repr(each)), (Entry, hash(same), repr(same)))
                self.assertEqual(pickle.loads(pickle.dumps(each)), same)
                with self.assertRaises(AttributeError):
                    each.length = 5  # type: ignore[misc]

    def test_early_end(self) -> None:
        """A caller that wants the first entry makes no others."""
        made = list[int]()

        def new(values: tuple[int, int, bytes, int, int]) -> Entry:
            made.append(values[1])
            return Entry(*values)

        self.patch(entry_batch, "_new_entry", new)
        next(iter(self._batch([b"data"] * 300)))
        self.assertEqual(made, [100])

    def test_lazy(self) -> None:
        """Payloads are taken out when first asked for, and once."""
        before = _CountingDigester.calls
        batch = self._batch([b"ab"] * 3)
        self.assertEqual((len(batch), batch.size), (3, 3 * 42))
        self.assertEqual(_CountingDigester.calls, before)
        self.assertIs(batch.payloads, batch.payloads)
        self.assertEqual(_CountingDigester.calls, before + 1)

    def test_buffer(self) -> None:
        """The data of every entry lie in the one buffer where starts and sizes say."""
        for payloads in ([b"ab", b"cd", b"ef"], [b"", b"a", b"bcd"], [b"one"], [b""], [b""] * 3):
            batch = self._batch(payloads)
            cut = [batch.buffer[a : a + n] for a, n in zip(batch.starts, batch.sizes, strict=True)]
            self.assertEqual(cut, payloads)
            self.assertEqual(len(batch.buffer), batch.size)

    def test_other_entries(self) -> None:
        """An entry that is not in the batch is refused."""
        batch = self._batch([b"ab"] * 3)
        for entry_id in (99, 103, -1):
            self.assertRaises(IncorrectParameterError, batch.entry, entry_id)

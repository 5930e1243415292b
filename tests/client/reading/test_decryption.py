"""The digester of encrypted ledgers: runs are decrypted by columns, and a bad entry is named."""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.decryption import DecryptingDigester
from bookkeeper_twisted.codec.digest import Digester, pack_headers
from bookkeeper_twisted.entries.entry_run import ENTRY_HEADER_SIZE, EntryRun
from bookkeeper_twisted.errors import DigestMatchError
from bookkeeper_twisted.ledger.entry_batch import EntryBatch, verified_prefix
from bookkeeper_twisted.model import DigestType

try:
    from bookkeeper_twisted.security.entry_cipher import OVERHEAD, EntryCipher
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None

if TYPE_CHECKING:
    from bookkeeper_twisted.security.entry_cipher import EntryCipher

KEY, LEDGER, FIRST, LAC, BEFORE = bytes(range(32)), 7, 1 << 33, 5, 1000

sizes = st.lists(st.integers(0, 60), min_size=1, max_size=80)
equal = st.tuples(st.integers(0, 60), st.integers(1, 1100)).map(lambda drawn: [drawn[0]] * drawn[1])


def payloads_of(sizes: Sequence[int]) -> list[bytes]:
    """Return a payload of each size; no two of the same size in a row are equal."""
    return [bytes([at % 251]) * size for at, size in enumerate(sizes)]


class DecryptingDigesterTests(SynchronousTestCase):
    """Runs as a bookie might send them that lies: all digests are right."""

    skip = SKIP

    def setUp(self) -> None:
        self.digester = Digester(DigestType.CRC32C, b"")
        self.reader = DecryptingDigester(DigestType.CRC32C, b"", LEDGER, EntryCipher(LEDGER, KEY))

    def encrypted(self, payloads: Sequence[bytes]) -> list[bytes]:
        """Return the payloads as a writer has encrypted them."""
        return EntryCipher(LEDGER, KEY, b"abcd").encrypt_many(FIRST, payloads, BEFORE)

    def run_of(self, stored: Sequence[bytes], lengths: Sequence[int]) -> EntryRun:
        """Return the run of encrypted payloads.

        :param lengths: those of the encrypted payloads that the headers count.
        """
        packed = pack_headers(LEDGER, FIRST, LAC, BEFORE, lengths)
        heads = [packed[at : at + ENTRY_HEADER_SIZE] for at in range(0, len(packed), ENTRY_HEADER_SIZE)]
        entries = [
            head + self.digester.digest(head + each) + each for head, each in zip(heads, stored, strict=True)
        ]
        return EntryRun.of_entries(LEDGER, FIRST, entries)

    def batch(self, run: EntryRun) -> EntryBatch:
        """Return the batch of a run that is verified first."""
        return EntryBatch(verified_prefix(run, self.reader), self.reader)

    @given(sizes | equal)
    def test_columns(self, sizes: list[int]) -> None:
        """All columns and the buffer of a batch are those of the decrypted entries, and so is a part of it."""
        payloads = payloads_of(sizes)
        stored = self.encrypted(payloads)
        ends = list(accumulate(map(len, stored), initial=BEFORE))[1:]
        batch = self.batch(self.run_of(stored, list(map(len, stored))))
        self.assertEqual(list(batch.payloads), payloads)
        self.assertEqual([(each.data, each.length, each.last_add_confirmed) for each in batch],
                         [(payload, end, LAC) for payload, end in zip(payloads, ends, strict=True)])  # fmt: skip
        parts = [batch.buffer[at : at + size] for at, size in zip(batch.starts, batch.sizes, strict=True)]
        self.assertEqual(parts, payloads)
        self.assertEqual(batch.entry(batch.last).data, payloads[-1])

    @given(equal | sizes, st.data())
    def test_bad(self, sizes: list[int], data: st.DataObject) -> None:
        """An entry that was changed, cut, swapped or taken from elsewhere is named; those before it are given."""
        payloads = payloads_of(sizes)
        stored = self.encrypted(payloads)
        lengths = list(map(len, stored))
        bad = data.draw(st.integers(0, len(stored) - 1))
        other = EntryCipher(LEDGER, bytes(32), b"abcd").encrypt(FIRST + bad, payloads[bad], 0)
        elsewhere = EntryCipher(8, KEY, b"abcd").encrypt(FIRST + bad, payloads[bad], 0)
        at = data.draw(st.integers(0, lengths[bad] - 1))
        changed = stored[bad][:at] + bytes([stored[bad][at] ^ 0x40]) + stored[bad][at + 1 :]
        cut = stored[bad][: data.draw(st.integers(0, lengths[bad] - 1))]
        neighbour = stored[bad - 1] if len(stored) > 1 else b""
        for each in (changed, cut, neighbour, other, elsewhere, payloads[bad], b""):
            run = self.run_of([*stored[:bad], each, *stored[bad + 1 :]], lengths)
            error = self.assertRaises(DigestMatchError, self.reader.verify, run)
            self.assertEqual((error.ledger_id, error.entry_id), (LEDGER, FIRST + bad))
            self.assertIn("cannot be decrypted", str(error))
            if bad:
                self.assertEqual(list(self.batch(run).payloads), payloads[:bad])
            else:
                self.assertRaises(DigestMatchError, self.batch, run)

    def test_all_short(self) -> None:
        """Entries that are all too short to be encrypted are refused, and the first one is named."""
        for size in range(OVERHEAD):
            run = self.run_of([bytes(size)] * 3, [size] * 3)
            error = self.assertRaises(DigestMatchError, self.reader.verify, run)
            self.assertEqual(error.entry_id, FIRST)

    def test_other_length(self) -> None:
        """An entry with another length of the ledger in its header is refused."""
        stored = self.encrypted([b"one", b"two", b"six"])
        run = self.run_of(stored, [3 + OVERHEAD, 3 + OVERHEAD, 2 + OVERHEAD])
        error = self.assertRaises(DigestMatchError, self.reader.verify, run)
        self.assertEqual(error.entry_id, FIRST + 2)

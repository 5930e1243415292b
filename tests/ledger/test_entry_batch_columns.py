"""Batches as Arrow columns."""

import sys
from collections.abc import Sequence
from unittest.mock import patch

import pyarrow
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import MissingLibraryError
from bookkeeper_twisted.ledger.entry_batch import LAC_AT, LENGTH_AT, EntryBatch, integers
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

_DIGESTER = Digester(DigestType.CRC32C, b"")


def _batch(payloads: Sequence[bytes], digest_type: DigestType = DigestType.CRC32C) -> EntryBatch:
    digester = Digester(digest_type, b"")
    return EntryBatch(sealed(digester, 9, 1 << 40, 50, 1 << 33, payloads), digester)


class _NoObjects(EntryRun):
    """A run whose entries must not be taken out."""

    def entries(self) -> Sequence[bytes]:
        raise AssertionError("an object was made for each entry")


class RecordBatchTests(SynchronousTestCase):
    """Uniform and mixed sizes, under every digest."""

    def test_content(self) -> None:
        """The columns say what the entries say."""
        for digest_type in DigestType:
            for payloads in ([b"ab", b"cd", b"ef"], [b"", b"a" * 300, b"bcd"], [b"one"], [b""], [b"x" * 100] * 3000):
                batch = _batch(payloads, digest_type)
                expected = [
                    {"ledger_id": 9, "entry_id": e.entry_id, "length": e.length, "payload": e.data} for e in batch
                ]
                self.assertEqual(batch.to_arrow().to_pylist(), expected)

    def test_integers(self) -> None:
        """The numbers of the headers, of any size and sign, in uniform and mixed runs."""
        for payloads in ([b"ab"] * 3, [b"x" * n for n in range(3)]):
            run = sealed(Digester(DigestType.CRC32C, b""), 9, 5, -2, 1 << 40, payloads)
            self.assertEqual(list(integers(run, LAC_AT)), [-2] * 3)
            self.assertEqual(list(integers(run, LENGTH_AT)), [e.length for e in EntryBatch(run, _DIGESTER)])
            self.assertEqual(integers(run, LENGTH_AT)[2], (1 << 40) + sum(map(len, payloads)))

    def test_part(self) -> None:
        """A batch that was cut out of a reply has its own entries only."""
        digester = Digester(DigestType.CRC32C, b"")
        for payloads in ([b"ab"] * 5, [b"x" * n for n in range(5)]):
            run = sealed(digester, 1, 0, -1, 0, payloads).slice(2, 2)
            arrow = EntryBatch(run, digester).to_arrow()
            self.assertEqual(arrow.column("payload").to_pylist(), payloads[2:4])
            self.assertEqual(arrow.column("entry_id").to_pylist(), [2, 3])

    def test_types(self) -> None:
        """Numbers are int64, payloads binary, and nothing is null; the batch is valid by Arrow's own check."""
        arrow = _batch([b"ab", b"c"]).to_arrow()
        arrow.validate(full=True)
        types = {field.name: (field.type, field.nullable) for field in arrow.schema}
        number, binary = (pyarrow.int64(), False), (pyarrow.binary(), False)
        self.assertEqual(types, {"ledger_id": number, "entry_id": number, "length": number, "payload": binary})

    def test_no_objects(self) -> None:
        """No object is made for an entry."""
        run = _batch([b"ab"] * 3)._run
        batch = EntryBatch(_NoObjects(9, 0, 3, run.data, run.stride), Digester(DigestType.CRC32C, b""))
        self.assertEqual(batch.to_arrow().num_rows, 3)
        self.assertIsNone(batch._payloads)

    def test_without_the_library(self) -> None:
        """Where pyarrow is not installed the error says what to install."""
        with patch.dict(sys.modules, {"pyarrow": None}):
            error = self.assertRaises(MissingLibraryError, _batch([b"ab"]).to_arrow)
        self.assertIn("bookkeeper-twisted[arrow]", str(error))

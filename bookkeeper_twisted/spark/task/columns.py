"""Converts entries into Arrow record batches with the columns that a query reads.

Columns are copied from the bytes that a bookie sent, without a Python object for each entry.  Small batches are joined,
because for Spark a batch costs about as much as a thousand rows.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import pyarrow

from ...entries.entry_run import EntryRun
from ...ledger.entry_batch import LAC_AT, integers, record_batch
from ...model import LedgerMetadata
from ..options import SourceOptions

BATCH_BYTES = 512 << 10
"""Record batches are joined until they have this many bytes; a batch that is at least so large is not copied."""

BATCH_ROWS = 16_384

IDS_AT_ONCE = 1 << 16

_BASE = "ledger_id BIGINT NOT NULL, entry_id BIGINT NOT NULL"
_PAYLOAD = ", length BIGINT NOT NULL, payload BINARY NOT NULL"
_LAC = ", last_add_confirmed BIGINT NOT NULL"
_LEDGER = ", ctime TIMESTAMP, custom_metadata MAP<STRING,BINARY>"

_CTIME = pyarrow.timestamp("us", "UTC")
_CUSTOM = pyarrow.map_(pyarrow.string(), pyarrow.field("value", pyarrow.binary()))


@attrs.frozen
class Columns:
    """The columns that a query reads in addition to ``ledger_id`` and ``entry_id``.

    :ivar payload: whether to include ``length`` and ``payload``; if not, no entries are read from bookies.
    :ivar metadata: whether to include ``last_add_confirmed`` (only with the payload), ``ctime`` and
        ``custom_metadata``.
    """

    payload: bool = True
    metadata: bool = False

    def ddl(self) -> str:
        """Return the columns in Spark's notation (DDL)."""
        text = _BASE + (_PAYLOAD if self.payload else "")
        if self.metadata:
            text += (_LAC if self.payload else "") + _LEDGER
        return text

    def of_run(self, run: EntryRun, payload_at: int, ledger: LedgerMetadata | None) -> Any:
        """Make an Arrow record batch from a verified run (consecutive entries); payloads are copied once.

        :param payload_at: offset of the payload in a stored entry (:attr:`.Digester.payload_at`).
        :param ledger: metadata of the ledger, None if the columns do not need them.
        """
        batch = record_batch(run, payload_at)
        if not self.metadata:
            return batch
        arrays, fields = list(batch.columns), list(batch.schema)
        lacs = integers(run, LAC_AT)
        arrays.append(_numbers(lacs))
        fields.append(pyarrow.field("last_add_confirmed", pyarrow.int64(), nullable=False))
        return self._with_ledger(arrays, fields, ledger, run.count)

    def of_ids(self, ledger_id: int, first: int, last: int, ledger: LedgerMetadata | None) -> Iterator[Any]:
        """Make record batches for the entry ids from ``first`` to ``last`` (inclusive), without reading entries.

        :param ledger: metadata of ``ledger_id``, None if the columns do not need them.
        """
        for start in range(first, last + 1, IDS_AT_ONCE):
            end = min(start + IDS_AT_ONCE, last + 1)
            arrays = [_numbers(array("q", (ledger_id,)) * (end - start)), _numbers(array("q", range(start, end)))]
            fields = [pyarrow.field(name, pyarrow.int64(), nullable=False) for name in ("ledger_id", "entry_id")]
            if self.metadata:
                yield self._with_ledger(arrays, fields, ledger, end - start)
            else:
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(fields))

    @staticmethod
    def _with_ledger(arrays: list[Any], fields: list[Any], ledger: LedgerMetadata | None, count: int) -> Any:
        ctime = None if ledger is None or ledger.ctime is None else ledger.ctime * 1000
        custom = None if ledger is None else sorted(ledger.custom_metadata.items())
        zeros = _numbers(array("q", bytes(8 * count)))
        arrays += [pyarrow.array([ctime], _CTIME).take(zeros), pyarrow.array([custom], _CUSTOM).take(zeros)]
        fields += [pyarrow.field("ctime", _CTIME), pyarrow.field("custom_metadata", _CUSTOM)]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(fields))


def _numbers(values: "array[int]") -> Any:
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(values), [None, pyarrow.py_buffer(values)])


def columns_of(options: SourceOptions) -> Columns:
    """Return the columns of entries that the ``options`` select."""
    return Columns(options.reading.include_payload, options.reading.include_metadata)


def joined(batches: Iterable[Any]) -> Iterator[Any]:
    """Join small record batches to larger ones, because Spark needs some time for each batch.

    :param batches: record batches with the same columns.
    """
    waiting: list[Any] = []
    n_bytes = rows = 0
    for batch in batches:
        waiting.append(batch)
        n_bytes += batch.nbytes
        rows += batch.num_rows
        if n_bytes >= BATCH_BYTES or rows >= BATCH_ROWS:
            yield _one(waiting)
            waiting, n_bytes, rows = [], 0, 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[Any]) -> Any:
    return batches[0] if len(batches) == 1 else pyarrow.concat_batches(batches)

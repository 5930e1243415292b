"""Entries as columns of Apache Arrow, over the buffer they came in; there is no object for an entry."""

import sys
from array import array
from typing import Any

from ..errors import MissingLibraryError
from ..model import EntryRun

LAC_AT, LENGTH_AT = 4 + 16, 4 + 24
"""Where a record has the LAC its writer knew, and the length of the ledger up to its entry."""


def record_batch(run: EntryRun, payload_at: int) -> Any:
    """See :meth:`.entry_batch.EntryBatch.to_arrow`.

    :param payload_at: where a record has its payload.
    """
    try:
        import pyarrow
        from pyarrow import compute
    except ImportError:
        raise MissingLibraryError("Arrow batches need pyarrow: install bookkeeper-twisted[arrow]") from None

    count, offsets = run.count, run.record_offsets()
    longest = run.stride or max(map(int.__sub__, offsets[1:], offsets[:-1]))

    def numbers(values: "array[int]") -> Any:
        return pyarrow.Array.from_buffers(pyarrow.int64(), count, [None, pyarrow.py_buffer(values)])

    ends = pyarrow.py_buffer(array("i", offsets))
    records = pyarrow.Array.from_buffers(pyarrow.binary(), count, [None, ends, pyarrow.py_buffer(run.data)])
    columns = {
        "ledger_id": numbers(array("q", (run.ledger_id,)) * count),
        "entry_id": numbers(array("q", range(run.first, run.last + 1))),
        "length": numbers(integers(run, LENGTH_AT)),
        "payload": compute.binary_slice(records, payload_at, longest),
    }
    fields = [pyarrow.field(name, column.type, nullable=False) for name, column in columns.items()]
    return pyarrow.RecordBatch.from_arrays(list(columns.values()), schema=pyarrow.schema(fields))


def integers(run: EntryRun, at: int) -> "array[int]":
    """The i64 at an offset of each record."""
    data = run.data
    if run.offsets is None:
        packed = bytearray(8 * run.count)
        for i in range(8):
            packed[i::8] = data[at + i :: run.stride]
    else:
        packed = bytearray().join([data[a + at : a + at + 8] for a in run.offsets[:-1]])
    values = array("q", bytes(packed))
    if sys.byteorder == "little":
        values.byteswap()
    return values

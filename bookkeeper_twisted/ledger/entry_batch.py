"""Batches of verified entries: they stay in the received buffer; Entry objects are made only on request.

The columns of a batch (ids, lengths, LACs, payloads) are cut from the received buffer.  Apache Arrow can use them
without an object for each entry.
"""

import sys
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise, repeat
from typing import Any

from ..arguments import check_integer
from ..codec.digest import Digester
from ..entries.entry_run import EntryRun
from ..errors import DigestMatchError, MissingLibraryError
from ..model import Entry

LAC_AT, LENGTH_AT = 4 + 16, 4 + 24
"""Offsets of the LAC and of the ledger length in a record.  A record is the size of an entry (4 bytes), then the entry.
"""

_new_entry = partial(tuple.__new__, Entry)
"""Does the same as the constructor of Entry, but is faster, because it calls no Python function."""


class EntryBatch:
    """One or more verified entries of a ledger, with the ids ``first .. last``.

    An iteration creates an :class:`~bookkeeper_twisted.model.Entry` for each entry; :attr:`payloads` costs less.  To
    avoid an object for each entry, use :meth:`to_arrow`, or cut :attr:`buffer` by :attr:`starts` and :attr:`sizes`.
    """

    __slots__ = ("_run", "_digester", "_payloads")

    def __init__(self, run: EntryRun, digester: Digester) -> None:
        """:param run: entries whose ids and digests were verified."""
        self._run, self._digester = digester.opened(run)
        self._payloads: Sequence[bytes] | None = None

    @property
    def ledger_id(self) -> int:
        """The id of the ledger of all entries."""
        return self._run.ledger_id

    @property
    def first(self) -> int:
        """The id of the first entry."""
        return self._run.first

    @property
    def last(self) -> int:
        """The id of the last entry."""
        return self._run.last

    @property
    def ids(self) -> range:
        """The ids of all entries."""
        return range(self._run.first, self._run.last + 1)

    @property
    def size(self) -> int:
        """The size of :attr:`buffer` in bytes, including the length field, header and digest of each entry."""
        return self._run.size

    @property
    def buffer(self) -> bytes:
        """All entries as they were received; each is a 4-byte length field, the header, the digest and the data."""
        return self._run.data

    @property
    def starts(self) -> Sequence[int]:
        """The offset of each entry's data in :attr:`buffer`."""
        start = self._digester.payload_at
        if self._run.offsets is None:
            return range(start, self._run.size + start, self._run.stride)
        return [a + start for a in self._run.offsets[:-1]]

    @property
    def sizes(self) -> Sequence[int]:
        """The number of bytes of each entry's data, without header and digest."""
        start = self._digester.payload_at
        if self._run.offsets is None:
            return [self._run.stride - start] * self._run.count
        return [b - a - start for a, b in pairwise(self._run.offsets)]

    @property
    def payloads(self) -> Sequence[bytes]:
        """The data of all entries."""
        if self._payloads is None:
            self._payloads = self._digester.payloads(self._run)
        return self._payloads

    def entry(self, entry_id: int) -> Entry:
        """Return one entry of the batch.

        :raises bookkeeper_twisted.errors.IncorrectParameterError: ``entry_id`` is not in the batch.
        """
        check_integer("entry_id", entry_id, self.first, self.last)
        (entry,) = EntryBatch(self._run.slice(entry_id, 1), self._digester)
        return entry

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.RecordBatch`` of the columns ``ledger_id``, ``entry_id``, ``length`` and ``payload``.

        ``payload`` is binary, the other columns are int64.  ``length`` is the number of bytes of all payloads of the
        ledger, up to and including this entry.

        :raises bookkeeper_twisted.errors.MissingLibraryError: pyarrow (extra ``arrow``) is not installed.
        """
        return record_batch(self._run, self._digester.payload_at)

    def __len__(self) -> int:
        return self._run.count

    def __iter__(self) -> Iterator[Entry]:
        run = self._run
        lengths = integers(run, LENGTH_AT)
        lacs = integers(run, LAC_AT)
        columns = (repeat(run.ledger_id), self.ids, self.payloads, lengths, lacs)
        return map(_new_entry, zip(*columns, strict=False))

    def __repr__(self) -> str:
        return f"<EntryBatch ledger {self.ledger_id} entries {self.first}..{self.last}>"


def verified_prefix(run: EntryRun, digester: Digester) -> EntryRun:
    """Verify a ``run``; return the entries before the first one with wrong ids or a wrong digest.

    :raises bookkeeper_twisted.errors.DigestMatchError: the first entry of the run has wrong ids or a wrong digest.
    """
    try:
        digester.verify(run)
    except DigestMatchError as error:
        if error.entry_id <= run.first:
            raise
        return run.slice(run.first, error.entry_id - run.first)
    return run


def record_batch(run: EntryRun, payload_at: int) -> Any:
    """Return a ``pyarrow.RecordBatch`` with the columns of :meth:`EntryBatch.to_arrow` for the entries of ``run``.

    :param payload_at: offset of the payload in an entry's record (4 bytes for its length, then the entry).
    """
    try:
        import pyarrow
        from pyarrow import compute
    except ImportError:
        raise MissingLibraryError("Arrow batches need pyarrow: install bookkeeper-twisted[arrow]") from None

    count = run.count

    def numbers(values: "array[int]") -> Any:
        return pyarrow.Array.from_buffers(pyarrow.int64(), count, [None, pyarrow.py_buffer(values)])

    columns = {
        "ledger_id": numbers(array("q", (run.ledger_id,)) * count),
        # Pass a typed scalar: for a plain number, pyarrow imports pandas, and the first call takes ten times as long.
        "entry_id": compute.add(_counted(count), pyarrow.scalar(run.first, pyarrow.int64())),
        "length": numbers(integers(run, LENGTH_AT)),
        "payload": _payloads(run, payload_at),
    }
    fields = [pyarrow.field(name, column.type, nullable=False) for name, column in columns.items()]
    return pyarrow.RecordBatch.from_arrays(list(columns.values()), schema=pyarrow.schema(fields))


@lru_cache(maxsize=8)
def _counted(count: int) -> Any:
    """Return an Arrow array of the ``count`` numbers 0, 1, 2, ..."""
    import pyarrow

    return pyarrow.array(range(count), pyarrow.int64())


@lru_cache(maxsize=8)
def _offsets(size: int, count: int) -> Any:
    """Return the Arrow offsets of ``count`` values, each of ``size`` bytes."""
    import pyarrow

    return pyarrow.py_buffer(array("i", range(0, count * size + 1, size)))


def _payloads(run: EntryRun, payload_at: int) -> Any:
    """Return the payloads as an Arrow array, which is built by one copy in C."""
    import pyarrow
    from pyarrow import compute

    count, stride, data = run.count, run.stride, pyarrow.py_buffer(run.data)
    size = stride - payload_at
    if stride and size:  # if all records have one size, this way is five times as fast as the general code below
        records = pyarrow.Array.from_buffers(pyarrow.binary(stride), count, [None, data])
        cut = compute.binary_slice(records, payload_at, stride).buffers()[1]
        return pyarrow.Array.from_buffers(pyarrow.binary(), count, [None, _offsets(size, count), cut])
    offsets = run.record_offsets()
    longest = stride or max(map(int.__sub__, offsets[1:], offsets[:-1]))
    ends = pyarrow.py_buffer(array("i", offsets))
    records = pyarrow.Array.from_buffers(pyarrow.binary(), count, [None, ends, data])
    return compute.binary_slice(records, payload_at, longest)


def integers(run: EntryRun, at: int) -> "array[int]":
    """Return the 64-bit integer at offset ``at`` of each record of a ``run`` (consecutive entries).

    :param at: offset of the field in the record: :data:`LAC_AT` or :data:`LENGTH_AT`.
    """
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

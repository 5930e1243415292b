"""Decodes series of V3 adds, plain reads or their replies: many frames of one layout together, column by column.

Consecutive requests of one kind differ only in four parts, the columns: txnId, ledger id, entry id and body.
:class:`_FrameReader` finds the offsets of these parts in the first frame.  It accepts only frames in the form that all
known encoders write, the *usual form* (``flag`` is the first field, as in Java).  If all other bytes of a later frame
equal those of the first frame, its parts have the same offsets.  The protobuf library decodes all other frames.  So the
values are always those that the library would return.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import attrs

from ...entries.columns import VIEWED, column, slices
from ...masking import masked
from ...model import INVALID_ENTRY_ID
from ..framing import LENGTH_SIZE
from ..operations import HIGH_PRIORITY, RECOVERY_ADD
from ..strides import is_series, same_columns
from ..varints import MINUS_ONE, decode_column, decode_varint, fill_column, width
from .layout import ADD_KEY, FLAG_KEY, READ_KEY, TXN_AT
from .request_context import NO_CONTEXTS, TRACE_HEAD, TRACE_SIZE, lift_traceparents

MIN_SERIES = 8
"""Least number of frames for which decoding by columns is faster than decoding one by one."""

SINGLES = 32
"""Number of frames that are decoded one by one after a series of fewer than MIN_SERIES frames.

A series is consecutive frames of one layout.  Where the varints of the ids change their size, series are so short that
it does not pay to look for the next one at once.
"""

OPERATION_AT = 9
"""Offset of the operation number in a frame of the form that all known encoders write."""

_MAX_ID_SIZE = 9
_ADD_HEADER = b"\x08\x03\x10\x02\x18"
_READ_HEADER = b"\x08\x03\x10\x01\x18"
_LAC_KEY = b"\x28"
_VARYING, _FIXED, _BODY = (1, 3, 5), (0, 2, 4, 6, 8), 7


T = TypeVar("T")


def after_series(
    data: bytes, at: int, stride: int, singles: int, decode: Callable[[bytes, int, int, T], tuple[int, int]], found: T
) -> tuple[int, int]:
    """Decode a series of frames (consecutive frames of one layout) at offset ``at``, if there is one.

    After a very short series, the next :data:`SINGLES` calls do not look for a series, because the search costs time.

    :param stride: size in bytes of the first frame with its length word.
    :param singles: the number of calls, from this one on, that do not look for a series: the second value that the
        previous call returned, or 0 for the first call.
    :param decode: called with ``data``, ``at``, ``stride`` and ``found``; it adds the decoded frames to ``found``, and
        returns their number and their total size in bytes.
    :returns: the offset after the series (``at`` if none was decoded), and ``singles`` for the next call.
    """
    if singles:
        return at, singles - 1
    if not is_series(data, at, stride, LENGTH_SIZE):
        return at, 0
    count, size = decode(data, at, stride, found)
    return at + size, SINGLES if count < MIN_SERIES else 0


class UnusualError(Exception):
    """A frame does not have the form that all known encoders write, so the protobuf library must decode it.

    This error is caught inside the codec.
    """


@attrs.define
class FrameColumns:
    """The decoded columns of a series: one or more frames of one layout.

    :ivar ledger_ids: the ledger id of each frame.
    :ivar txn_ids, entry_ids: the txnId and the entry id of each frame.
    :ivar bodies: the bodies of adds, empty byte strings for other operations.  Those of ``VIEWED`` bytes or more may be
        memory views of the decoded bytes; :func:`~...entries.columns.owned` copies them.
    :ivar contexts: the ``requestContext`` (values by name) of each frame that has one, by the index of the frame.
    :ivar context_size: total size in bytes of these fields.
    """

    flags: int
    master_key: bytes = attrs.field(repr=masked)
    ledger_ids: Sequence[int]
    txn_ids: Sequence[int]
    entry_ids: Sequence[int]
    bodies: Sequence[bytes | memoryview]
    contexts: Mapping[int, Mapping[str, str]] = NO_CONTEXTS
    context_size: int = 0


class _FrameReader:
    """A reader of one V3 frame without its length word; it accepts only the form that Java's encoder writes."""

    __slots__ = ("data", "at", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data = data
        self.at = at
        self.end = end

    def skip(self, literal: bytes) -> bool:
        """Skip the bytes ``literal`` if they come next; return True if they did."""
        found = self.data.startswith(literal, self.at, self.end)
        if found:
            self.at += len(literal)
        return found

    def expect(self, literal: bytes) -> None:
        """Skip the bytes ``literal``, which must come next.

        :raises UnusualError: other bytes come next.
        """
        if not self.skip(literal):
            raise UnusualError

    def number(self) -> int:
        """Read a varint and return its value.

        :raises UnusualError: it has more than nine bytes (so that its value is negative), or is incomplete.
        """
        start = self.at
        while self.at < self.end and self.data[self.at] > 127:
            self.at += 1
        self.at += 1
        if self.at > self.end or self.at - start > _MAX_ID_SIZE:
            raise UnusualError
        return decode_varint(self.data, start, self.at)

    def span(self) -> tuple[int, int]:
        """Skip a varint, and return its start and end offsets.

        :raises UnusualError: it has more than nine bytes, or is incomplete.
        """
        start = self.at
        self.number()
        return start, self.at

    def message(self) -> None:
        """Read the length of a sub-message, which must end where the frame ends.

        :raises UnusualError: it ends elsewhere.
        """
        if self.number() != self.end - self.at:
            raise UnusualError


def _header(cursor: _FrameReader, operation: bytes) -> tuple[int, int]:
    """Read the header of a request or response: version 3, the operation, a txnId, and perhaps a priority.

    :returns: offset of the end of the txnId; and the flag for high priority, or 0.
    :raises UnusualError: the header has another form.
    """
    frame = cursor.at - 4
    cursor.expect(b"\x0a")
    end = cursor.number() + cursor.at
    cursor.expect(operation)
    if cursor.at != frame + TXN_AT:
        raise UnusualError
    cursor.number()
    txn_end = cursor.at
    priority = cursor.number() if cursor.at < end and cursor.skip(b"\x20") else 0
    if cursor.at != end or priority >= 1 << 31:
        raise UnusualError
    return txn_end, HIGH_PRIORITY if priority else 0


def add_columns(data: bytes, at: int, stride: int) -> FrameColumns | None:
    """Decode a series of add requests (consecutive frames of one layout) from offset ``at`` on.

    :param at: offset of the length word of the first frame.
    :param stride: size in bytes of each frame with the length word.
    :returns: None if the first frame has an unusual form, so that the protobuf library must decode it.
    """
    cursor = _FrameReader(data, at + 4, at + stride)
    try:
        txn_end, flags = _header(cursor, _ADD_HEADER)
        cursor.expect(ADD_KEY)
        cursor.message()
        flags |= RECOVERY_ADD if cursor.skip(FLAG_KEY + b"\x01") else 0
        cursor.expect(b"\x08")
        ledger = cursor.span()
        cursor.expect(b"\x10")
        entry = cursor.span()
        cursor.expect(b"\x1a")
        key_size = cursor.number()
        master_key = data[cursor.at : cursor.at + key_size]
        cursor.at += key_size
        cursor.expect(b"\x22")
        cursor.message()
    except UnusualError:
        return None
    return _columns(data, at, stride, (txn_end, *ledger, *entry, cursor.at), flags, master_key)


def traced_add_columns(data: bytes, at: int, stride: int) -> FrameColumns | None:
    """Decode a series of add requests whose first frame has a ``traceparent``.

    See :func:`add_columns` for the parameters.  The other frames may have a ``traceparent``, too, for example
    if a client traces each of its appends.
    """
    plain = stride - TRACE_SIZE
    lifted = lift_traceparents(data, at, plain) if data.startswith(TRACE_HEAD, at + plain) else None
    found = None if lifted is None else add_columns(lifted.frames, 0, plain)
    if lifted is None or found is None:
        return None
    count = len(found.txn_ids)
    found.contexts = {index: pairs for index, pairs in lifted.contexts.items() if index < count}
    found.context_size = len(found.contexts) * TRACE_SIZE
    return found


def read_columns(data: bytes, at: int, stride: int) -> FrameColumns | None:
    """Decode a series of plain reads (consecutive frames of one layout) from offset ``at`` on.

    :param at: offset of the length word of the first frame.
    :param stride: size in bytes of each frame with the length word.
    :returns: None if the first frame has an unusual form, so that the protobuf library must decode it.
    """
    cursor = _FrameReader(data, at + 4, at + stride)
    try:
        txn_end, flags = _header(cursor, _READ_HEADER)
        cursor.expect(READ_KEY)
        spans = _ids_to_the_end(cursor, b"\x08", b"\x10")
    except UnusualError:
        return None
    return _columns(data, at, stride, (txn_end, *spans, cursor.end), flags)


def add_reply_columns(data: bytes, at: int, stride: int) -> FrameColumns | None:
    """Decode a series of successful add replies (consecutive frames of one layout) from offset ``at`` on.

    :param at: offset of the length word of the first frame.
    :param stride: size in bytes of each frame with the length word.
    :returns: None if the first frame has an unusual form, so that the protobuf library must decode it.
    """
    cursor = _FrameReader(data, at + 4, at + stride)
    try:
        txn_end, _ = _header(cursor, _ADD_HEADER)
        cursor.expect(b"\x10\x00" + ADD_KEY)
        spans = _ids_to_the_end(cursor, b"\x08\x00\x10", b"\x18")
    except UnusualError:
        return None
    return _columns(data, at, stride, (txn_end, *spans, cursor.end), 0)


def read_reply_columns(data: bytes, at: int, stride: int) -> tuple[FrameColumns, int | None] | None:
    """Decode a series of successful read replies with the same LAC, from offset ``at`` on.

    A series is consecutive frames of one layout.

    :param at: offset of the length word of the first frame.
    :param stride: size in bytes of each frame with the length word.
    :returns: the columns, and the LAC of all replies (None if the replies contain no LAC).  None instead of both if the
        first frame has an unusual form, so that the protobuf library must decode it.
    """
    cursor, lac = _FrameReader(data, at + 4, at + stride), None
    try:
        txn_end, _ = _header(cursor, _READ_HEADER)
        cursor.expect(b"\x10\x00" + READ_KEY)
        cursor.message()
        cursor.expect(b"\x08\x00\x10")
        ledger = cursor.span()
        cursor.expect(b"\x18")
        entry = cursor.span()
        cursor.expect(b"\x22")
        size = cursor.number()
        body_at = cursor.at
        cursor.at += size
        if cursor.skip(_LAC_KEY):
            lac = INVALID_ENTRY_ID if cursor.skip(MINUS_ONE) else cursor.number()
    except UnusualError:
        return None
    if cursor.at != cursor.end:
        return None
    return _columns(data, at, stride, (txn_end, *ledger, *entry, body_at), 0, tail=stride - (body_at + size - at)), lac


def _ids_to_the_end(cursor: _FrameReader, before_ledger: bytes, before_entry: bytes) -> tuple[int, int, int, int]:
    """Read the rest of a frame, which must be a sub-message that ends with ledger id and entry id.

    :param before_ledger: the bytes of the sub-message before the ledger id.
    :param before_entry: the bytes between ledger id and entry id.

    :returns: start and end of the ledger id, start and end of the entry id.
    :raises UnusualError: the rest has another form.
    """
    cursor.message()
    cursor.expect(before_ledger)
    ledger = cursor.span()
    cursor.expect(before_entry)
    entry = cursor.span()
    if cursor.at != cursor.end:
        raise UnusualError
    return *ledger, *entry


def _columns(
    data: bytes, at: int, stride: int, cuts: tuple[int, ...], flags: int, master_key: bytes = b"", tail: int = 0
) -> FrameColumns:
    """Decode the columns of a series: consecutive frames that have the layout of the first frame.

    The series ends before a frame in which a varint has another size than in the first frame.

    :param cuts: offsets in the first frame: end of the txnId, start and end of the ledger id, start and end of the
        entry id, start of the body.
    :param tail: number of bytes after the body, which must be equal in all frames.
    """
    edges = [at, at + TXN_AT, *cuts, at + stride - tail, at + stride]
    found = FrameColumns(flags, master_key, [], [], [], [])
    if _counts_up(data, stride, edges, found):
        return found
    # Only adds can have a ``traceparent`` here.  The frames can be adds only if a body follows the ids.
    lifted = lift_traceparents(data, at, stride) if cuts[-1] < at + stride else None
    if lifted is not None and _counts_up(lifted.frames, stride, [edge - at for edge in edges], found):
        found.contexts, found.context_size = lifted.contexts, lifted.size
        return found
    sizes = tuple([end - start for start, end in pairwise(edges)])
    columns = same_columns(data, at, sizes, _FIXED)
    ids = [decode_column(b"".join(columns[i]), sizes[i]) for i in _VARYING]
    count = min(map(len, ids))
    found.txn_ids, found.ledger_ids, found.entry_ids = [each[:count] for each in ids]
    found.bodies = columns[_BODY][:count]
    return found


def _counts_up(data: bytes, stride: int, edges: Sequence[int], found: FrameColumns) -> bool:
    """Fill the columns of ``found`` if all frames are of one ledger and have consecutive txnIds and entry ids.

    The requests of one writer usually have such ids.  This function compares all frames by one call, which is faster
    than to decode each id.

    :returns: False if the frames do not have such ids.
    """
    at, txn_at, txn_end, ledger_at, ledger_end, id_at, id_end, body_at, body_end, end = edges
    count = (len(data) - at) // stride
    txn_id, entry_id = decode_varint(data, txn_at, txn_end), decode_varint(data, id_at, id_end)
    last = at + (count - 1) * stride
    if decode_varint(data, txn_at + last - at, txn_end + last - at) != txn_id + count - 1:
        return False
    if width(txn_id + count - 1) != txn_end - txn_at or width(entry_id + count - 1) != id_end - id_at:
        return False
    head = body_at - at
    expected = bytearray(data[at:body_at] * count)
    found.txn_ids, found.entry_ids = range(txn_id, txn_id + count), range(entry_id, entry_id + count)
    found.ledger_ids = (decode_varint(data, ledger_at, ledger_end),) * count
    fill_column(expected, txn_at - at, head, found.txn_ids, txn_end - txn_at)
    fill_column(expected, id_at - at, head, found.entry_ids, id_end - id_at)
    if head == stride:
        found.bodies = [b""] * count
        return expected == data[at : at + count * stride]
    if expected != b"".join(column(data, stride, count, 0, head, at)):
        return False
    if body_end - body_at < VIEWED:
        found.bodies = column(data, stride, count, head, body_end - at, at)
    else:
        found.bodies = slices(data, stride, count, head, at, body_end - at)
    tail = data[body_end:end]
    return not tail or column(data, stride, count, body_end - at, stride, at).count(tail) == count

"""Decodes V3 reads, adds and read replies whose frames differ in size: many frames together, by a regular expression.

Frames differ in size if their bodies, or the varints of their ids, have different sizes.  A regular expression, called
a *form* here, describes the frames that all known encoders write; its capturing groups match the ids and sizes in a
frame.  One call matches many consecutive frames.  Then the sizes of each frame are checked against its parts.  Decoding
ends before the first frame that does not match or has a wrong size; the protobuf library decodes this frame.  So the
values are always those that the library would return.

:mod:`.columns` decodes frames of equal size faster.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from itertools import compress, count, repeat
from operator import add, ne
from typing import Any, NamedTuple

from ...model import INVALID_ENTRY_ID
from ..framing import LENGTH_SIZE
from ..operations import MASTER_KEY_SIZE, RECOVERY_ADD
from ..varints import decode_varint, decode_varints
from .columns import OPERATION_AT, FrameColumns
from .layout import ADD_KEY, FLAG_KEY, READ_KEY

MOST_FRAMES = 128
"""Maximum number of adds or read replies that one call compares with the usual form.

If an early frame has another form, the comparison of the later frames is wasted; this limit keeps the waste small.
"""

_HEAD = 96
"""Number of bytes at the beginning of a frame to which a regular expression is applied.

All parts of a frame before the body fit into them.
"""

_NUMBER = rb"([\x80-\xff]{0,8}[\0-\x7f])"
"""Matches a varint of at most nine bytes; such a varint is not negative."""

_OTHERWISE = rb"|.+"
"""Matches all bytes from the first unusual frame on, so that ``findall`` finds no later frame."""


def _header(operation: int) -> bytes:
    """Return the regular expression for length word and header: version 3, the operation, a txnId, and no priority."""
    return rb"(....)\x0a(.)\x08\x03\x10" + re.escape(bytes([operation])) + rb"\x18" + _NUMBER


def _bodied(form: bytes) -> "re.Pattern[bytes]":
    """Compile a regular expression for a byte string with the first :data:`_HEAD` bytes of many frames.

    Each match is one frame.  The first capturing group is the part of the frame before the body.

    :param form: the regular expression for this part.
    """
    return re.compile(rb"(?=(" + form + rb")).{%d}" % _HEAD + _OTHERWISE, re.DOTALL)


_LENGTH = struct.Struct(">I")
_READ, _ADD = 1, 2
_READS = re.compile(
    _header(_READ) + READ_KEY + rb"(.)\x08" + _NUMBER + rb"\x10" + _NUMBER + _OTHERWISE, re.DOTALL
)  # fmt: skip
_ADDS = _bodied(
    _header(_ADD) + ADD_KEY + _NUMBER + rb"(" + FLAG_KEY + rb"\x01)?\x08" + _NUMBER + rb"\x10" + _NUMBER
    + rb"\x1a%c(.{%d})\x22" % (MASTER_KEY_SIZE, MASTER_KEY_SIZE) + _NUMBER
)  # fmt: skip
_READ_REPLIES = _bodied(
    _header(_READ) + rb"\x10\x00" + READ_KEY + _NUMBER + rb"\x08\x00\x10" + _NUMBER + rb"\x18" + _NUMBER + rb"\x22"
    + _NUMBER
)  # fmt: skip
_LAC = re.compile(rb"\x28(?:" + _NUMBER + rb"|(\xff{9}\x01))", re.DOTALL)


class ReadReplyColumns(NamedTuple):
    """The decoded columns of successful replies to reads.

    :ivar lacs: the LAC of each reply, None if it has none.
    """

    ledger_ids: Sequence[int]
    entry_ids: Sequence[int]
    txn_ids: Sequence[int]
    entries: Sequence[bytes]
    lacs: Sequence[int | None]


def unlike_reads(data: bytes, at: int) -> tuple[FrameColumns, int] | None:
    """Decode consecutive plain reads from offset ``at`` on, whatever sizes the varints of their ids have.

    :returns: the reads and the offset after the last of them; None if the first frame is no read, or is encoded in an
        unusual form.
    """
    found = _found(_READS, data, at)
    if not found:
        return None
    words, headers, txns, messages, ledgers, entries = zip(*found, strict=True)
    txn_sizes, id_sizes = _lengths(txns), list(map(sum, zip(_lengths(ledgers), _lengths(entries), strict=True)))
    frames = [12 + txn + ids for txn, ids in zip(txn_sizes, id_sizes, strict=True)]
    n_good = _agreeing(
        (_values(headers), [5 + size for size in txn_sizes]), (_values(messages), [2 + size for size in id_sizes]),
        (list(struct.unpack(f">{len(words)}I", b"".join(words))), frames),
    )  # fmt: skip
    if not n_good:
        return None
    ledger_ids, txn_ids, entry_ids = _numbers(n_good, ledgers, txns, entries)
    end = at + LENGTH_SIZE * n_good + sum(frames[:n_good])
    return FrameColumns(0, b"", ledger_ids, txn_ids, entry_ids, [b""] * n_good), end


def unlike_adds(data: bytes, at: int, limit: int) -> tuple[FrameColumns, int] | None:
    """Decode consecutive adds with one master key from offset ``at`` on, whatever sizes their ids and bodies have.

    :param limit: size in bytes of the longest frame with its length word.
    :returns: the adds and the offset after the last of them; None if the first frame is no add, or is encoded in an
        unusual form.
    """
    edges = _edges(data, at, _ADD, limit)
    found = _found_in(_ADDS, data, edges)
    if not found:
        return None
    heads, _, headers, txns, messages, flags, ledgers, entries, keys, sizes = zip(*found, strict=True)
    ends, bodies_at = edges[1 : len(found) + 1], list(map(add, edges, _lengths(heads)))
    n_good = _agreeing(
        (_values(headers), [5 + len(txn) for txn in txns]),
        (list(map(add, bodies_at, decode_varints(sizes))), ends),
        (_message_ends(edges, 13, txns, messages), ends),
        (list(zip(flags, keys, strict=True)), [(flags[0], keys[0])] * len(keys)),
    )  # fmt: skip
    if not n_good:
        return None
    ledger_ids, txn_ids, entry_ids = _numbers(n_good, ledgers, txns, entries)
    bodies = [data[start:end] for start, end in zip(bodies_at[:n_good], ends, strict=False)]
    found_flags = RECOVERY_ADD if flags[0] else 0
    return FrameColumns(found_flags, keys[0], ledger_ids, txn_ids, entry_ids, bodies), ends[n_good - 1]


def read_replies(data: bytes, at: int, limit: int) -> tuple[ReadReplyColumns, int] | None:
    """Decode consecutive successful read replies from offset ``at`` on, whatever sizes their ids and entries have.

    :param limit: size in bytes of the longest frame with its length word.
    :returns: the replies and the offset after the last of them; None if the first frame is no such reply, or is encoded
        in an unusual form.
    """
    edges = _edges(data, at, _READ, limit)
    found = _found_in(_READ_REPLIES, data, edges)
    if not found:
        return None
    heads, _, headers, txns, messages, ledgers, entries, sizes = zip(*found, strict=True)
    ends, bodies_at = edges[1 : len(found) + 1], list(map(add, edges, _lengths(heads)))
    bodies_end = list(map(add, bodies_at, decode_varints(sizes)))
    tails = [data[start:end] for start, end in zip(bodies_end, ends, strict=True)]
    lacs = dict(_lacs(set(tails)))
    n_good = _agreeing(
        (_values(headers), [5 + len(txn) for txn in txns]), (_message_ends(edges, 15, txns, messages), ends),
        (list(map(min, bodies_end, ends)), bodies_end), ([tail in lacs for tail in tails], [True] * len(tails)),
    )  # fmt: skip
    if not n_good:
        return None
    ledger_ids, entry_ids, txn_ids = _numbers(n_good, ledgers, entries, txns)
    bodies = [data[start:end] for start, end in zip(bodies_at[:n_good], bodies_end, strict=False)]
    known = [lacs[tail] for tail in tails[:n_good]]
    return ReadReplyColumns(ledger_ids, entry_ids, txn_ids, bodies, known), ends[n_good - 1]


def _edges(data: bytes, at: int, operation: int, limit: int) -> list[int]:
    """Return the offsets of consecutive complete frames of one operation, and the offset after the last of them.

    :param at: offset of the first frame.
    :param operation: the operation number.
    :param limit: size in bytes of the longest frame with its length word.
    """
    edges, last, length_at = [at], len(data) - LENGTH_SIZE, _LENGTH.unpack_from
    while at <= last and len(edges) <= MOST_FRAMES:
        after: int = at + LENGTH_SIZE + length_at(data, at)[0]
        if after > len(data) or not OPERATION_AT < after - at <= limit or data[at + OPERATION_AT] != operation:
            break
        edges.append(after)
        at = after
    return edges


def _found_in(form: "re.Pattern[bytes]", data: bytes, edges: Sequence[int]) -> Sequence[tuple[bytes, ...]]:
    """Match a regular expression against the beginning of each frame; return the captured groups of each match.

    Stop at the first frame that does not match.

    :param form: a regular expression that :func:`_bodied` has made.
    :param data: the received bytes.
    :param edges: the offsets of the frames in ``data``, and the offset after the last of them.
    """
    return _found(form, b"".join([data[start : start + _HEAD].ljust(_HEAD, b"\0") for start in edges[:-1]]))


def _found(form: "re.Pattern[bytes]", data: bytes, at: int = 0) -> Sequence[tuple[bytes, ...]]:
    """Match a regular expression against consecutive frames from offset ``at`` on; return the captured groups."""
    found: list[tuple[bytes, ...]] = form.findall(data, at)
    return found if not found or found[-1][0] else found[:-1]


def _message_ends(edges: Sequence[int], head: int, txns: Sequence[bytes], messages: Sequence[bytes]) -> list[int]:
    """Return the offset at which the sub-message of each frame ends, computed from its size field.

    :param edges: offsets of the frames.
    :param head: number of bytes in a frame before the sub-message; the txnId and the size field, which are varints, do
        not count.
    :param txns: the txnId of each frame, as a varint.
    :param messages: the size field of each frame, as a varint.
    """
    sizes = map(add, map(add, _lengths(txns), _lengths(messages)), decode_varints(messages))
    return list(map(add, map(add, edges, sizes), repeat(head)))


def _lacs(tails: Iterable[bytes]) -> Iterable[tuple[bytes, int | None]]:
    """Yield (tail, LAC) for each of ``tails``, the bytes after the entries of read replies.

    The LAC is None for an empty tail.  A tail that is no LAC field is left out.
    """
    for tail in tails:
        match = _LAC.fullmatch(tail)
        if match is not None:
            yield tail, decode_varint(match[1], 0, len(match[1])) if match[1] else INVALID_ENTRY_ID
        elif not tail:
            yield tail, None


def _numbers(count: int, *columns: Sequence[bytes]) -> list[Sequence[int]]:
    """Decode the first ``count`` varints in each of the ``columns``."""
    return [decode_varints(column[:count]) for column in columns]


def _lengths(column: Sequence[bytes]) -> list[int]:
    return list(map(len, column))


def _values(column: Sequence[bytes]) -> list[int]:
    """Convert byte strings of one byte each to integers."""
    return list(b"".join(column))


def _agreeing(*pairs: tuple[Sequence[Any], Sequence[Any]]) -> int:
    """Return the number of frames before the first frame for which the two columns of some pair have different values.

    :param pairs: pairs of columns; each column has one value for each frame.
    """
    return min([len(a) if a == b else next(compress(count(), map(ne, a, b))) for a, b in pairs])

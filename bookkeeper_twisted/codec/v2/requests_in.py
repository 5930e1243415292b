"""The decoder of V2 requests, for bookies: it returns runs (of adds or of reads), other messages, and refusals."""

import struct
from collections.abc import Iterator, Sequence

from ...entries.columns import slices
from ...entries.entry_run import EntryRun
from ...entries.interfaces import Entries
from ...entries.mixed_runs import MixedRun, sequence
from ...errors import CodecError, Status
from ..framing import LENGTH_SIZE, MOST_ITEMS, frame_length
from ..messages import AuthRequest, Header, ReadRequest, RejectedRequest
from ..operations import FENCE, HIGH_PRIORITY, MASTER_KEY_SIZE, MIN_ENTRY_SIZE, V2Op
from ..runs import AddRun, BatchRead, IReplyEncoding, ReadRun
from ..strides import (
    FEW_A_RUN,
    as_range,
    counting,
    counts_up,
    from_big_endian,
    is_interleaved,
    is_series,
    same_prefix,
    stretches,
)
from . import replies_out
from .layout import ADD_OVERHEAD, BATCH_READ, BATCH_READ_LENGTH, READ_LENGTH, VERSION, auth_message, split_header

_IDS_SIZE = 16
_WORD = struct.Struct(">I")
_IDS = struct.Struct(">qq")
_NUMBERS_SIZE = 24
_ADD_PREFIX = LENGTH_SIZE + ADD_OVERHEAD
_SHORTEST_ADD = ADD_OVERHEAD + MIN_ENTRY_SIZE
_FEW_AHEAD = 8
"""Least size of the next run (consecutive entries of one ledger) for which a short run is decoded as a run.

If the next run is smaller, it is faster to decode the frames of the short run one by one.
"""

_READ_PREFIX = 8
_READ_SIZE = LENGTH_SIZE + READ_LENGTH


def scan(wire: IReplyEncoding, data: bytes, at: int, limit: int, items: list[object]) -> int:
    """Decode complete V2 requests from offset ``at`` on; stop after ``MOST_ITEMS`` items, so that no call takes long.

    :param wire: the protocol that encodes the replies.
    :param data: the received bytes.
    :param at: offset of the first frame.
    :param limit: size in bytes of the longest frame with its length word.
    :param items: a list to which the requests are added in order: runs (many adds or reads), single messages, and
        requests that are refused.
    :returns: offset of the first frame that is not decoded, because it is incomplete, or because ``items`` has
        ``MOST_ITEMS`` items.
    :raises CodecError: a frame is longer than ``limit`` or is no request; ``items`` has the requests before it.
    """
    end = len(data)
    while end - at >= LENGTH_SIZE and len(items) < MOST_ITEMS:
        length = frame_length(data, at, limit)
        if end - at - LENGTH_SIZE < length:
            break
        version, opcode, flags = split_header(_WORD.unpack_from(data, at + LENGTH_SIZE)[0])
        if opcode == V2Op.ADD:
            at = _adds(wire, data, at, length, limit, (version, flags), items)
        elif opcode == V2Op.READ:
            at = _reads(wire, data, at, length, (version, flags), items)
        elif opcode == V2Op.BATCH_READ:
            items.append(_batch_read(wire, data, at, length, version, flags))
            at += LENGTH_SIZE + length
        elif opcode == V2Op.AUTH:
            items.append(_auth(wire, data, at, length, version))
            at += LENGTH_SIZE + length
        else:
            raise CodecError(f"no V2 request has opcode {opcode}")
    return at


def _refusal(
    wire: IReplyEncoding, version: int, opcode: int, status: Status, ledger_id: int, entry_id: int
) -> RejectedRequest:
    reply = replies_out.ids_reply(version, opcode, status, ledger_id, entry_id)
    return RejectedRequest(Header(wire, version, opcode), status, reply)


# ---- adds --------------------------------------------------------------------------------------------


def _adds(
    wire: IReplyEncoding, data: bytes, at: int, length: int, limit: int, head: tuple[int, int], items: list[object]
) -> int:
    """Decode consecutive adds with the same header and master key, of any sizes; return the offset after the last.

    :param head: version and flags in the header of the first add.
    """
    version, flags = head
    if length < ADD_OVERHEAD + _IDS_SIZE:
        raise CodecError(f"V2 add of {length} bytes has no ids")
    if version > VERSION or length < _SHORTEST_ADD:
        ledger_id, entry_id = _IDS.unpack_from(data, at + _ADD_PREFIX)
        status = Status.EBADVERSION if version > VERSION else Status.EBADREQ
        items.append(_refusal(wire, version, V2Op.ADD, status, ledger_id, entry_id))
        return at + LENGTH_SIZE + length
    master_key = data[at + 8 : at + _ADD_PREFIX]
    stride = LENGTH_SIZE + length
    runs, end = _rows(data, at, stride)
    if runs:
        items.append(AddRun(wire, version, flags, False, master_key, sequence(runs)))
        return end
    entries, end = _entries(data, at, length, limit)
    for item in _parts(entries):
        if isinstance(item, tuple):
            items.append(_refusal(wire, version, V2Op.ADD, Status.EBADREQ, *item))
        else:
            items.append(AddRun(wire, version, flags, False, master_key, item))
    return end


def _rows(data: bytes, at: int, stride: int) -> tuple[list[EntryRun], int]:
    """Decode adds with the same header, master key and size to runs of consecutive entries.

    :param stride: size in bytes of each frame; the first frame must be complete.
    :returns: the runs, which may be none, and the offset after the last run.
    """
    runs: list[EntryRun] = []
    head, last = data[at : at + _ADD_PREFIX], len(data) - stride
    count = 0
    while at <= last and data[at : at + _ADD_PREFIX] == head:
        run = _row(data, at, stride, count)
        if run is None:
            break
        runs.append(run)
        count = run.count
        at += count * stride
    return runs, at


def _row(data: bytes, at: int, stride: int, guess: int) -> EntryRun | None:
    """Decode adds from offset ``at`` on together, if they have consecutive ids and one size; otherwise return None.

    The adds that one writer sends in a row usually are such adds.  To decode them together is fast, because one call
    checks all their ids.

    :param stride: size in bytes of the first frame, which must be complete.
    :param guess: the number of entries of the previous run, which this run is likely to have, too.
    """
    ledger_id, first = _IDS.unpack_from(data, at + _ADD_PREFIX)
    if ledger_id < 0 or first < 0:
        return None
    count = (len(data) - at) // stride
    if count > 1:
        count = _following(data, at, stride, count, ledger_id, first, guess)
        head = data[at : at + _ADD_PREFIX + 8]
        if not count or (count > 1 and not counts_up(data, stride, count, 0, head, first, at)):
            return None
    size = stride - _ADD_PREFIX
    entries = _WORD.pack(size).join([b"", *slices(data, stride, count, _ADD_PREFIX, at)])
    return EntryRun(ledger_id, first, count, entries, size + 4)


def _following(data: bytes, at: int, stride: int, count: int, ledger_id: int, first: int, guess: int) -> int:
    """Estimate how many frames from offset ``at`` on form a run (consecutive entries of one ledger).

    Only a few ids are read.  Return 0 for a short run that no other run follows, because it is faster to decode its
    frames one by one.

    :param stride: size in bytes of each frame.
    :param count: number of frames, if all have this size; at least two.
    :param first: the entry id in the first frame.
    :param guess: the number of entries of the previous run.
    """
    def ids(number: int) -> tuple[int, int]:
        return _IDS.unpack_from(data, at + number * stride + _ADD_PREFIX)

    last = count - 1
    if FEW_A_RUN < guess <= last and ids(guess - 1) == (ledger_id, first + guess - 1) and ids(guess)[0] != ledger_id:
        return guess
    if ids(last) == (ledger_id, first + last):
        return count
    pays = last > FEW_A_RUN and ids(FEW_A_RUN) == (ledger_id, first + FEW_A_RUN)
    low, end = (FEW_A_RUN, last) if pays else (0, min(FEW_A_RUN, last))
    while end - low > 1:
        middle = (low + end) // 2
        low, end = (middle, end) if ids(middle) == (ledger_id, first + middle) else (low, middle)
    if not pays:
        ahead = min(FEW_A_RUN, last - end)
        next_ledger, next_first = ids(end)
        pays = ahead >= _FEW_AHEAD and ids(end + ahead) == (next_ledger, next_first + ahead)
    return end if pays else 0


def _entries(data: bytes, at: int, length: int, limit: int) -> tuple[list[bytes], int]:
    """Return the entries of complete adds from offset ``at`` on, up to an add with another header or master key.

    Consecutive frames of one size are split together by :func:`~.strides.same_prefix`, others one by one.

    :returns: the entries, and the offset after the last frame.
    """
    entries: list[bytes] = []
    head = data[at + 4 : at + _ADD_PREFIX]
    last = len(data) - _ADD_PREFIX
    longest = limit - LENGTH_SIZE
    previous = length
    while at <= last:
        length = _WORD.unpack_from(data, at)[0]
        after = at + LENGTH_SIZE + length
        if not _SHORTEST_ADD <= length <= longest or after > len(data) or data[at + 4 : at + _ADD_PREFIX] != head:
            break
        if length == previous and is_series(data, at, LENGTH_SIZE + length, _ADD_PREFIX):
            rests = same_prefix(data, at, LENGTH_SIZE + length, _ADD_PREFIX)
            entries += rests
            at += len(rests) * (LENGTH_SIZE + length)
        else:
            entries.append(data[at + _ADD_PREFIX : after])
            at = after
        previous = length
    return entries, at


def _uniform_run(entries: Sequence[bytes]) -> EntryRun | None:
    """Return a run of the ``entries`` if they are consecutive entries of one ledger and one size, else None."""
    size, count = len(entries[0]), len(entries)
    ledger_id, first = _IDS.unpack_from(entries[0])
    if ledger_id < 0 or first < 0 or _IDS.unpack_from(entries[-1]) != (ledger_id, first + count - 1):
        return None
    joined = _WORD.pack(size).join([b"", *entries])
    if count > 1 and (
        list(map(len, entries)).count(size) != count or not counts_up(joined, size + 4, count, 4, entries[0][:8], first)
    ):
        return None
    return EntryRun(ledger_id, first, count, joined, size + 4)


def _parts(entries: Sequence[bytes]) -> Iterator[Entries | tuple[int, int]]:
    """Yield the entries as runs of consecutive entries, or as one MixedRun (entries in any order).

    The entries become a MixedRun if the ledger changes often, or if the ids have many gaps, as in striped ledgers.  For
    an entry with a negative id, which must be refused, only (ledger id, entry id) is yielded.
    """
    run = _uniform_run(entries)
    if run is not None:
        yield run
        return
    numbers = from_big_endian(b"".join([entry[:_NUMBERS_SIZE] for entry in entries]))
    ledger_ids, entry_ids, lacs = [numbers[i::3].tolist() for i in range(3)]
    if is_interleaved(ledger_ids, entry_ids) and min(ledger_ids) >= 0 and min(entry_ids) >= 0:
        yield MixedRun(ledger_ids, entry_ids, lacs, entries)
    else:
        yield from _cut(entries, ledger_ids, entry_ids)


def _cut(
    entries: Sequence[bytes], ledger_ids: Sequence[int], entry_ids: Sequence[int]
) -> Iterator[Entries | tuple[int, int]]:
    runs: list[EntryRun] = []
    for start, end in stretches(entry_ids, ledger_ids):
        ledger_id, first = ledger_ids[start], entry_ids[start]
        refused = end - start if ledger_id < 0 else min(end - start, max(0, -first))
        if refused and runs:
            yield sequence(runs)
            runs = []
        yield from [(ledger_id, first + i) for i in range(refused)]
        if start + refused < end:
            runs.append(EntryRun.of_entries(ledger_id, first + refused, entries[start + refused : end]))
    if runs:
        yield sequence(runs)


# ---- reads -------------------------------------------------------------------------------------------


def _reads(
    wire: IReplyEncoding, data: bytes, at: int, length: int, head: tuple[int, int], items: list[object]
) -> int:  # fmt: skip
    """Decode consecutive reads, or a single read that fences or has a master key; return the offset after them.

    :param head: version and flags in the header of the first read.
    """
    version, flags = head
    if length < READ_LENGTH:
        raise CodecError(f"V2 read of {length} bytes")
    after = at + LENGTH_SIZE + length
    ledger_id, entry_id = _IDS.unpack_from(data, at + _READ_PREFIX)
    fence = bool(flags & FENCE)
    key = _key(data, at, length, READ_LENGTH, version, fence)
    if version > VERSION:
        items.append(_refusal(wire, version, V2Op.READ, Status.EBADVERSION, ledger_id, entry_id))
    elif fence and ledger_id < 0:
        items.append(_refusal(wire, version, V2Op.READ, Status.EBADREQ, ledger_id, entry_id))
    elif fence or key is not None:
        header = Header(wire, version, V2Op.READ)
        items.append(ReadRequest(header, ledger_id, entry_id, fence, bool(flags & HIGH_PRIORITY), key))
    elif length == READ_LENGTH and is_series(data, at, _READ_SIZE, _READ_PREFIX):
        ledger_ids, entry_ids = _ids_of_reads(data, at)
        items.append(ReadRun(wire, version, flags, ledger_ids, entry_ids))
        after = at + len(entry_ids) * _READ_SIZE
    else:
        items.append(ReadRun(wire, version, flags, (ledger_id,), (entry_id,)))
    return after


def _ids_of_reads(data: bytes, at: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the ledger ids and entry ids of consecutive reads that have the same header as the first.

    A read is three words of eight bytes: length and header, ledger id, entry id.  If a client reads consecutive
    entries, which is usual, one call compares all of its reads.
    """
    count = (len(data) - at) // _READ_SIZE
    last, (ledger_id, first) = at + (count - 1) * _READ_SIZE, _IDS.unpack_from(data, at + _READ_PREFIX)
    if _IDS.unpack_from(data, last + _READ_PREFIX) == (ledger_id, first + count - 1):
        ids = range(first, first + count)
        if counting(data[at : at + _READ_SIZE], ids) == data[at : last + _READ_SIZE]:
            return (ledger_id,) * count, ids
    words = from_big_endian(data[at : at + count * _READ_SIZE])
    heads = words[::3]
    if heads.count(heads[0]) < count:
        count = next(i for i, head in enumerate(heads) if head != heads[0])
        del words[3 * count :]
    return as_range(words[1::3], words[2::3])


def _batch_read(wire: IReplyEncoding, data: bytes, at: int, length: int, version: int, flags: int) -> object:
    if length < BATCH_READ_LENGTH:
        raise CodecError(f"V2 batch read of {length} bytes")
    _, _, ledger_id, first, request_id, max_count, max_size = BATCH_READ.unpack_from(data, at)
    fence = bool(flags & FENCE)
    key = _key(data, at, length, BATCH_READ_LENGTH, version, fence)
    request = BatchRead(wire, version, flags, ledger_id, first, request_id, max_count, max_size, key)
    status = Status.EBADVERSION if version > VERSION else Status.EBADREQ
    if version > VERSION or (fence and ledger_id < 0):
        return RejectedRequest(Header(wire, version, V2Op.BATCH_READ), status, request.failure(status))
    return request


def _key(data: bytes, at: int, length: int, fixed: int, version: int, fence: bool) -> bytes | None:
    """Return the key at the end of a read or a batch read, or None without a key.

    A fencing read must have a key.  Apache's client also sends a key in other reads, where bookies ignore it.  Requests
    of version 0 or 1 have no key.
    """
    signed_version = version - 256 if version > 127 else version
    if signed_version < VERSION:
        return None
    if fence and length < fixed + MASTER_KEY_SIZE:
        raise CodecError("V2 fencing read without a master key")
    if not fence and length != fixed + MASTER_KEY_SIZE:
        return None
    start = at + LENGTH_SIZE + fixed
    return data[start : start + MASTER_KEY_SIZE]


def _auth(wire: IReplyEncoding, data: bytes, at: int, length: int, version: int) -> AuthRequest:
    plugin, payload = auth_message(data, at, length)
    return AuthRequest(Header(wire, version, V2Op.AUTH), plugin, payload)

"""Batches of add requests, with the frames that a client sends to bookies.

The entries are new, or were read from a bookie to be copied.  One :class:`Adds` is a batch, with entries of one ledger
or of thousands.  Its frames are encoded once, in V2, and all bookies get the same bytes.  V3 frames contain a request
number, which is different for each connection and attempt.  So V3 frames are encoded from the V2 frames each time
(:meth:`~.wire_protocol.IWireProtocol.encode_adds`).

A V2 add frame has these parts, with their offsets and sizes; D is the size of the digest:

======  ====  ==========================================================================
0       28    length word (4), header word (4), master key (20)
28      32    entry header: ledgerId, entryId, LAC, ledger length (:mod:`.digest`)
60      D     digest
60 + D        payload, to the end of the frame
======  ====  ==========================================================================
"""

import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from ..entries.columns import column
from ..entries.entry_run import ENTRY_HEADER_SIZE, EntryRun
from ..errors import CodecError, Status
from .digest import Digester
from .operations import MASTER_KEY_SIZE, V2Op
from .strides import counting
from .v2 import layout, replies_out, requests_out

ENTRY_AT = 4 + layout.ADD_OVERHEAD
"""Offset of the entry in a V2 add frame."""

FRAME_OVERHEAD = ENTRY_AT + ENTRY_HEADER_SIZE
"""Number of bytes in front of the digest in a V2 add frame: length word, header word, key and entry header."""

_FLAGS = 0xFFFF
_IDS = struct.Struct(">qq")
_REPLY = replies_out.ids_reply(layout.VERSION, V2Op.ADD, Status.EOK, 0, 0)
_REPLY_HEAD = _REPLY[: -_IDS.size]
_RESERVE = 128
"""Upper bound of the bytes that a frame has in addition to its entry, for any operation in V2 or V3."""

_WORDS = ENTRY_HEADER_SIZE // 8


class Adds:
    """A batch of one or more add requests with one master key and the same flags; immutable.

    :ivar ledger_ids: the ledger id of each entry, in the order of the frames.
    :ivar entry_ids: the id of each entry; a range only if all are of one ledger.
    :ivar frames: the V2 frames, one after the other.
    :ivar offsets: the offset of each frame in ``frames``, followed by the end of the last frame.
    :ivar deferred_sync: whether bookies acknowledge the adds before they sync, which only V3 can express.
    :ivar contexts: the ``requestContext`` (values by name, such as the ids of a trace) of some adds, by the index of
        the add.  Only V3 can send it; None if no add has one.
    :ivar encodings: by protocol, the result of :meth:`~.wire_protocol.IWireProtocol.encode_adds`.  A connection
        stores the result here if the protocol has no request numbers: then all bookies get the same bytes.
    """

    __slots__ = ("ledger_ids", "entry_ids", "frames", "offsets", "deferred_sync", "contexts", "encodings")

    def __init__(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], frames: bytes, offsets: Sequence[int],
        deferred_sync: bool = False,
    ) -> None:  # fmt: skip
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.frames = frames
        self.offsets = offsets
        self.deferred_sync = deferred_sync
        self.contexts: Mapping[int, Mapping[str, str]] | None = None
        self.encodings: dict[object, tuple[bytes, bytes]] = {}

    def __len__(self) -> int:
        return len(self.entry_ids)

    def some(self, indexes: Sequence[int]) -> "Adds":
        """Return the add requests with the given ``indexes``.

        :param indexes: indexes into :attr:`entry_ids`, ascending and without repetition, at least one.
        :returns: a new object with copies of the frames; this object itself if ``indexes`` has all indexes.
        """
        count, offsets, frames = len(indexes), self.offsets, self.frames
        if count == len(self.entry_ids):
            return self
        first, last = indexes[0], indexes[-1]
        if last - first + 1 == count:
            part = slice(first, last + 1)
            start, ids = offsets[first], (self.ledger_ids[part], self.entry_ids[part])
            if isinstance(offsets, range):
                bounds: Sequence[int] = offsets[: count + 1]
            else:
                bounds = [offset - start for offset in offsets[first : last + 2]]
            return Adds(*ids, frames[start : offsets[last + 1]], bounds, self.deferred_sync)
        parts = [frames[offsets[index] : offsets[index + 1]] for index in indexes]
        ids = tuple([self.ledger_ids[i] for i in indexes]), tuple([self.entry_ids[i] for i in indexes])
        sizes = [len(part) - ENTRY_AT for part in parts]
        return Adds(*ids, b"".join(parts), _offsets(sizes), self.deferred_sync)

    def carrying(self, contexts: Mapping[int, Mapping[str, str]]) -> "Adds":
        """Return the same add requests, some of them with a ``requestContext``: values by name, such as ids of a trace.

        :param contexts: the ``requestContext`` of these adds, by the index of the add.
        """
        other = Adds(self.ledger_ids, self.entry_ids, self.frames, self.offsets, self.deferred_sync)
        other.contexts = contexts
        # Share the stored encodings.  They are right for both objects: only a protocol that cannot send the
        # ``requestContext`` stores its encoding there.
        other.encodings = self.encodings
        return other

    def sizes(self, indexes: Sequence[int]) -> Sequence[int]:
        """Return the frame sizes, in bytes, of the adds with the given ``indexes``."""
        offsets = self.offsets
        if isinstance(offsets, range):
            return (offsets.step,) * len(indexes)
        return [offsets[index + 1] - offsets[index] for index in indexes]

    def entries(self) -> Sequence[bytes]:
        """Return each entry as a bookie stores it: header, digest and payload."""
        frames, offsets = self.frames, self.offsets
        if isinstance(offsets, range):
            return column(frames, offsets.step, len(self), ENTRY_AT, offsets.step)
        return [frames[start + ENTRY_AT : end] for start, end in pairwise(offsets)]

    @property
    def master_key(self) -> bytes:
        """The master key, which is the same in all requests."""
        return self.frames[8 : 8 + MASTER_KEY_SIZE]

    @property
    def flags(self) -> int:
        """The flags, which are the same in all requests."""
        return int.from_bytes(self.frames[4:8], "big") & _FLAGS


def frames_and_replies(adds: Adds, first_number: int = 0) -> tuple[bytes, bytes]:
    """Return the V2 frames of ``adds``, and the replies that a bookie sends if all the adds succeed.

    :param first_number: ignored, because V2 requests have no numbers.
    :raises CodecError: the adds defer the sync, which V2 cannot express.
    """
    if adds.deferred_sync:
        raise CodecError("V2 has no deferred sync")
    count, ids, frames = len(adds.entry_ids), adds.entry_ids, adds.frames
    if count == 1:  # copy both ids from the frame: the reply has them in the same encoding
        replies = _REPLY_HEAD + frames[ENTRY_AT : ENTRY_AT + _IDS.size]
    elif isinstance(ids, range):
        replies = counting(_REPLY_HEAD + _IDS.pack(adds.ledger_ids[0], ids[0]), ids)
    else:
        replies = replies_out.repeated(_REPLY, adds.ledger_ids, ids)
    return frames, replies


def largest_payload(max_frame_size: int, digest_size: int) -> int:
    """Return the size of the largest payload that fits into one frame, in an add and in any reply to a read.

    :param max_frame_size: size in bytes of the longest frame with its length word.
    :param digest_size: size in bytes of the ledger's digest (:attr:`.Digester.size`).
    :returns: the size in bytes; 0 or less if a frame has no room for any payload.
    """
    return max_frame_size - _RESERVE - 4 - ENTRY_HEADER_SIZE - digest_size


def seal_adds(
    digester: Digester, ledger_ids: Sequence[int], entry_ids: Sequence[int], headers: bytes,
    payloads: Sequence[bytes], flags: int = 0, deferred_sync: bool = False,
) -> Adds:  # fmt: skip
    """Make a batch of add requests for new payloads, for ledgers with the same digest type and password.

    :param digester: makes the digests of these ledgers.
    :param ledger_ids: the ledger id of each entry.
    :param entry_ids: the id of each entry; a range only if all are of one ledger.
    :param headers: the packed headers of all entries, as :func:`~.digest.pack_headers` (for one ledger) or
        :func:`mix_headers` (for several) returns them.
    :param payloads: the payload of each entry, at least one.
    :param flags: the flags of the adds on the wire.
    :param deferred_sync: whether bookies acknowledge before they sync.
    """
    key, fixed = digester.master_key, ENTRY_HEADER_SIZE + digester.size
    if len(payloads) == 1:  # for one entry, this is four times as fast as encoding many entries together
        (payload,) = payloads
        front = requests_out.add_front(key, fixed + len(payload), flags)
        frame = front + headers + digester.digest(headers + payload) + payload
        return Adds(ledger_ids, entry_ids, frame, (0, len(frame)), deferred_sync)
    count, sizes = len(payloads), [fixed + size for size in map(len, payloads)]
    cut = column(headers, ENTRY_HEADER_SIZE, count, 0, ENTRY_HEADER_SIZE)
    parts: list[bytes] = [b""] * (4 * count)
    parts[::4] = requests_out.add_fronts(key, sizes, flags)
    parts[1::4] = cut
    if digester.size:
        parts[2::4] = column(digester.digests(cut, payloads), digester.size, count, 0, digester.size)
    parts[3::4] = payloads
    return Adds(ledger_ids, entry_ids, b"".join(parts), _offsets(sizes), deferred_sync)


def stored_adds(master_key: bytes, run: EntryRun, flags: int = 0, deferred_sync: bool = False) -> Adds:
    """Make a batch of add requests that copy consecutive stored entries of one ledger, with their digests.

    :param flags: the flags of the adds on the wire; ``RECOVERY_ADD`` for fenced ledgers.
    :param deferred_sync: whether bookies acknowledge before they sync.
    :raises CodecError: the master key does not have 20 bytes.
    """
    ids = (run.ledger_id,) * run.count, range(run.first, run.first + run.count)
    return Adds(*ids, requests_out.encode_adds(master_key, run, flags), _offsets_of(run), deferred_sync)


def scattered_adds(
    master_key: bytes, ledger_id: int, entry_ids: Sequence[int], entries: Sequence[bytes], flags: int = 0
) -> Adds:
    """Make a batch of add requests that copy stored entries of one ledger; the entry ids may have gaps.

    :param entry_ids: ids of the entries, ascending, at least one.
    :param entries: header, digest and payload of each entry.
    :raises CodecError: the master key does not have 20 bytes.
    """
    # An EntryRun has consecutive ids, but the ids of these entries may have gaps.  This does no harm: the encoder takes
    # the ids that it writes into each frame from the header of the entry, not from the run.
    run = EntryRun.of_entries(ledger_id, entry_ids[0], entries)
    return Adds((ledger_id,) * run.count, entry_ids, requests_out.encode_adds(master_key, run, flags), _offsets_of(run))


def mix_headers(*fields: Sequence[int]) -> bytes:
    """Encode the headers of entries of several ledgers, joined in one byte string.

    :param fields: four sequences with one item for each entry: the ledger ids, the entry ids, the LACs, and the ledger
        lengths (total size in bytes of the ledger's payloads up to and including the entry).
    """
    words = [0] * (_WORDS * len(fields[0]))
    for number, field in enumerate(fields):
        words[number::_WORDS] = field
    return struct.pack(f">{len(words)}q", *words)


def _offsets_of(run: EntryRun) -> Sequence[int]:
    """Return the offset of the add frame of each entry of a ``run``, and the end of the last frame."""
    if run.offsets is None:
        # run.stride includes the four bytes with the entry's size; the length word of the frame takes their place
        stride = run.stride + layout.ADD_OVERHEAD
        return range(0, run.count * stride + 1, stride)
    return [offset + layout.ADD_OVERHEAD * number for number, offset in enumerate(run.offsets)]


def _offsets(sizes: Sequence[int]) -> Sequence[int]:
    """Return the offset of each add frame, and the end of the last frame.

    :param sizes: size in bytes of each entry (header, digest and payload).
    """
    size, count = sizes[0], len(sizes)
    if sizes.count(size) == count:
        stride = ENTRY_AT + size
        return range(0, count * stride + 1, stride)
    return list(accumulate([ENTRY_AT + size for size in sizes], initial=0))

"""Adds of one entry each of many ledgers, sealed together, V2.

As :mod:`.frame_sealing` does for one ledger, but every field is a column of its own, and payloads are not laid out
before.
"""

from collections.abc import Sequence
from functools import lru_cache

from ...codec import v2
from ...codec.digest import Digester
from ...codec.operations import V2Op
from ...codec.strides import big_endian
from ...codec.v2_replies import header_word
from ...model import ENTRY_HEADER_SIZE, column

_PARTS = 4
"""Of a frame: what stands before the entry, the entry's header, its digest, its payload."""

_WORDS = ENTRY_HEADER_SIZE // 8


class MixedFrames:
    """Sealed adds; see :class:`~bookkeeper_twisted.protocol.client.outstanding_mixed.MixedAdds`."""

    __slots__ = ("ledger_ids", "entry_ids", "frames", "_parts")

    def __init__(self, ledger_ids: tuple[int, ...], entry_ids: tuple[int, ...], parts: Sequence[bytes]) -> None:
        """:param parts: those of all frames, one after the other."""
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.frames = b"".join(parts)
        self._parts = parts

    def some(self, places: Sequence[int]) -> "MixedFrames":
        """Those at some places, in order."""
        if len(places) == len(self.ledger_ids):
            return self
        parts = [part for place in places for part in self._parts[_PARTS * place : _PARTS * (place + 1)]]
        ledger_ids, entry_ids = self.ledger_ids, self.entry_ids
        return MixedFrames(tuple([ledger_ids[p] for p in places]), tuple([entry_ids[p] for p in places]), parts)


def seal_mixed(
    digester: Digester, ledger_ids: Sequence[int], entry_ids: Sequence[int], confirmed: Sequence[int],
    lengths: Sequence[int], payloads: Sequence[bytes],
) -> MixedFrames:  # fmt: skip
    """Adds of different ledgers that have digest type and password in common.

    :param confirmed: the LAC of each.
    :param lengths: bytes of all payloads of the ledger, this one included.
    """
    count = len(payloads)
    headers = column(
        _headers(ledger_ids, entry_ids, confirmed, lengths), ENTRY_HEADER_SIZE, count, 0, ENTRY_HEADER_SIZE
    )
    parts: list[bytes] = [b""] * (_PARTS * count)
    parts[::_PARTS] = _fronts(digester, list(map(len, payloads)))
    parts[1::_PARTS] = headers
    if digester.size:
        parts[2::_PARTS] = column(digester.digests(headers, payloads), digester.size, count, 0, digester.size)
    parts[3::_PARTS] = payloads
    return MixedFrames(tuple(ledger_ids), tuple(entry_ids), parts)


def _headers(*fields: Sequence[int]) -> bytes:
    words = [0] * (_WORDS * len(fields[0]))
    for number, field in enumerate(fields):
        words[number::_WORDS] = field
    return big_endian(words)


def _fronts(digester: Digester, sizes: Sequence[int]) -> Sequence[bytes]:
    """What stands before the entries."""
    key, digest_size = digester.master_key, digester.size
    if sizes.count(sizes[0]) == len(sizes):
        return [_front(key, digest_size, sizes[0])] * len(sizes)
    return [_front(key, digest_size, size) for size in sizes]


@lru_cache(maxsize=4096)
def _front(master_key: bytes, digest_size: int, size: int) -> bytes:
    length = v2.ADD_OVERHEAD + ENTRY_HEADER_SIZE + digest_size + size
    return v2.HEAD.pack(length, header_word(v2.VERSION, V2Op.ADD)) + master_key

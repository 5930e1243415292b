"""The encoder of V2 requests, for clients; :mod:`.layout` has the layouts."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from ...entries.entry_run import EntryRun
from ...errors import CodecError
from .. import messages as m
from ..operations import FENCE, HIGH_PRIORITY, MASTER_KEY_SIZE, V2Op
from ..runs import BatchRead
from .layout import (
    ADD_OVERHEAD,
    BATCH_READ,
    BATCH_READ_LENGTH,
    HEAD,
    READ,
    READ_LENGTH,
    VERSION,
    encode_auth,
    header_word,
)


def encode_adds(master_key: bytes, entries: EntryRun, flags: int = 0, version: int = VERSION) -> bytes:
    """Encode an add request for each entry of a run (consecutive entries of one ledger).

    :param flags: bits of :mod:`.operations`.
    :param version: the version in the header word, which the replies repeat.
    :raises CodecError: the master key does not have 20 bytes.
    """
    bodies = entries.pieces()
    fronts = add_fronts(master_key, list(map(len, bodies)), flags, version)
    parts: list[bytes | memoryview] = [b""] * (2 * entries.count)
    parts[::2] = fronts
    parts[1::2] = bodies
    return b"".join(parts)


def add_fronts(
    master_key: bytes, sizes: Sequence[int], flags: int = 0, version: int = VERSION
) -> Sequence[bytes]:  # fmt: skip
    """Encode the part of an add frame in front of the entry, for each of several entries.

    :param sizes: size in bytes of each entry.
    :param flags: bits of :mod:`.operations`.
    :param version: the version in the header word, which the replies repeat.
    :raises CodecError: the master key does not have 20 bytes.
    """
    if sizes.count(sizes[0]) == len(sizes):
        return [add_front(master_key, sizes[0], flags, version)] * len(sizes)
    return [add_front(master_key, size, flags, version) for size in sizes]


@lru_cache(maxsize=4096)
def add_front(master_key: bytes, size: int, flags: int = 0, version: int = VERSION) -> bytes:
    """Encode the part of an add frame in front of its entry, which has ``size`` bytes.

    :param flags: bits of :mod:`.operations`.
    :param version: the version in the header word, which the replies repeat.
    :raises CodecError: the master key does not have 20 bytes.
    """
    if len(master_key) != MASTER_KEY_SIZE:
        raise CodecError(f"V2 carries a key of {MASTER_KEY_SIZE} bytes, not {len(master_key)}")
    return HEAD.pack(ADD_OVERHEAD + size, header_word(version, V2Op.ADD, flags)) + master_key


def encode_reads(ledger_id: int, entry_ids: Sequence[int], flags: int = 0, version: int = VERSION) -> bytes:
    """Encode a plain read for each of ``entry_ids``.

    :param entry_ids: ids of entries of the ledger; -1 for its last entry.
    :param version: the version in the header word, which the replies repeat.
    """
    word = header_word(version, V2Op.READ, flags)
    return b"".join(map(READ.pack, repeat(READ_LENGTH), repeat(word), repeat(ledger_id), entry_ids))


def encode_batch_read(request: BatchRead) -> bytes:
    """Encode a batch read; ``previous_lac`` and ``timeout_ms`` are not sent, because V2 does not have them.

    :raises CodecError: the request has a master key of another size than 20 bytes.
    """
    key = _key(request.master_key)
    word = header_word(request.version, V2Op.BATCH_READ, request.flags)
    length = BATCH_READ_LENGTH + len(key)
    ids = (request.ledger_id, request.first, request.request_id)
    return BATCH_READ.pack(length, word, *ids, request.max_count, request.max_size) + key


def encode_request(message: object) -> bytes:
    """Encode a fencing read or an authentication token.

    :param message: a request of a class in :mod:`.messages`.
    :raises CodecError: V2 has no such request.
    """
    if isinstance(message, m.ReadRequest):
        key = _key(message.master_key)
        flags = FENCE * message.fence | HIGH_PRIORITY * message.high_priority
        word = header_word(message.header.version, V2Op.READ, flags)
        return READ.pack(READ_LENGTH + len(key), word, message.ledger_id, message.entry_id) + key
    if isinstance(message, m.AuthRequest):
        return encode_auth(message.header.version, message.plugin, message.payload)
    raise CodecError(f"V2 has no {type(message).__name__}")


def _key(master_key: bytes | None) -> bytes:
    if master_key is not None and len(master_key) != MASTER_KEY_SIZE:
        raise CodecError(f"V2 carries a key of {MASTER_KEY_SIZE} bytes, not {len(master_key)}")
    return master_key or b""

"""Which entries a bookie has acknowledged, and what every entry consists of."""

import hashlib
import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from bookkeeper_twisted.codec.runs import AddReplies, BatchReply, ReadReply
from bookkeeper_twisted.errors import Status

LEDGERS = (11, 12, 13, (1 << 31) + 1, (1 << 63) - 1)
"""The ledgers whose entries are checked; their key is known to the peers that write them, and not to the others."""

MANY = range(1 << 40, (1 << 40) + 1500)
"""More ledgers of that kind, of which many get an entry or two at once; only peers that know their key write them."""

_HEAD = struct.Struct(">qqq")


@lru_cache(100_000)
def content(ledger_id: int, entry_id: int) -> bytes:
    """The bytes of an entry, which follow from its ids."""
    head = _HEAD.pack(ledger_id, entry_id, max(entry_id - 1, -1))
    seed = hashlib.sha256(head).digest()
    size = 60_000 if seed[0] == 0 else seed[1] * 3 if seed[0] < 64 else 100
    return (head + seed * (size // 32 + 1))[: _HEAD.size + size]


class Model:
    """The promises of a bookie, and the answers that break one.

    :ivar acknowledged: entry ids by ledger.
    :ivar problems: what was wrong, the first of each kind.
    """

    def __init__(self) -> None:
        self.acknowledged: defaultdict[int, set[int]] = defaultdict(set)
        self.replies = 0
        self.problems: dict[str, str] = {}

    def wrong(self, kind: str, text: object) -> None:
        """Notes a problem."""
        self.problems.setdefault(kind, str(text)[:2000])

    def heard(self, items: Iterable[object]) -> None:
        """Replies to whatever was asked."""
        for item in items:
            self.replies += 1
            if isinstance(item, AddReplies) and item.status is Status.EOK:
                for ledger_id, entry_id in zip(item.ledger_ids, item.entry_ids, strict=True):
                    if ledger_id in LEDGERS or ledger_id in MANY:
                        self.acknowledged[ledger_id].add(entry_id)
            elif isinstance(item, ReadReply) and item.status is Status.EOK and item.entry is not None:
                self.check(item.ledger_id, [item.entry])
            elif isinstance(item, BatchReply) and item.status is Status.EOK and item.entries is not None:
                first = item.first if item.first >= 0 else None  # -1 asks for the last entry
                self.check(item.ledger_id, item.entries.entries(), first)

    def check(self, ledger_id: int, entries: Sequence[bytes], first: int | None = None) -> None:
        """Entries that were read."""
        if ledger_id not in LEDGERS and ledger_id not in MANY:
            return
        for at, entry in enumerate(entries):
            found_ledger, found_entry, _ = _HEAD.unpack_from(entry)
            expected = found_entry if first is None else first + at
            if (found_ledger, found_entry) != (ledger_id, expected) or entry != content(ledger_id, expected):
                self.wrong("wrong bytes", f"ledger {ledger_id} entry {expected}: {entry[:64].hex()}")

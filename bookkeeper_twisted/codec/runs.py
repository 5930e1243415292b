"""The hot operations as runs: parallel values over one received chunk, replies packed in one call.

Requests are made by the server's decoder, replies by the client's.  ``wire`` is 2 or 3;
``version`` the byte of the V2 header, which a reply echoes.
"""

from collections.abc import Sequence

from ..errors import Status
from ..model import Entries, EntryRun, MixedRun
from . import v2_replies, v3_replies
from .operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD, Operation, V2Op

__all__ = [
    "FENCE", "HIGH_PRIORITY", "RECOVERY_ADD", "AddReplies", "AddRun", "BatchRead", "BatchReply", "ReadReply", "ReadRun",
]  # fmt: skip


class AddRun:
    """Adds with one key and the same flags: consecutive entries of one ledger, or a mixture.

    Ledger and entry ids are not negative, the entries are at least 24 bytes long and carry these ids.

    :ivar entries: V2: a mixed run where ledgers take turns.
    :ivar flags: ``RECOVERY_ADD``, ``HIGH_PRIORITY`` (V3: from flag and priority); unknown bits may be set.
    :ivar deferred_sync: to be acknowledged before it is durable (V3 write flag).
    :ivar txn_ids: V3: one per entry; V2: empty.
    """

    __slots__ = ("wire", "version", "flags", "deferred_sync", "master_key", "entries", "txn_ids")

    def __init__(
        self, wire: int, version: int, flags: int, deferred_sync: bool, master_key: bytes, entries: Entries,
        txn_ids: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.deferred_sync = deferred_sync
        self.master_key = master_key
        self.entries = entries
        self.txn_ids = txn_ids

    def replies(self, status: Status, part: Entries | None = None) -> bytes:
        """The frames that answer every add of the run, in order.

        :param part: of a mixed run: only these.
        """
        run = self.entries if part is None else part
        if isinstance(run, MixedRun):
            return v2_replies.mixed_replies(self.version, V2Op.ADD, status, run.ledger_ids, run.entry_ids)
        if self.wire == 3:
            return v3_replies.add_replies(self.txn_ids, status, run.ledger_id, run.first)
        return v2_replies.ids_replies(self.version, V2Op.ADD, status, run.ledger_id, run.first, run.count)


class ReadRun:
    """Plain reads (no fencing, no long poll) that arrived one after the other.

    :ivar ledger_ids: one per read, as are the other sequences.
    :ivar entry_ids: -1 asks for the last entry.
    :ivar txn_ids: V3; V2: empty.
    """

    __slots__ = ("wire", "version", "flags", "ledger_ids", "entry_ids", "txn_ids")

    def __init__(
        self, wire: int, version: int, flags: int, ledger_ids: Sequence[int], entry_ids: Sequence[int],
        txn_ids: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.txn_ids = txn_ids

    def __len__(self) -> int:
        return len(self.entry_ids)

    def reply(self, index: int, status: Status, entry: bytes = b"", max_lac: int | None = None) -> bytes:
        """The frame that answers one read of the run.

        :param entry: sent with EOK only.
        :param max_lac: V3: the highest LAC known, -1 if none; V2 has no place for it.
        """
        ledger_id, entry_id = self.ledger_ids[index], self.entry_ids[index]
        body = entry if status is Status.EOK else None
        if self.wire == 3:
            return v3_replies.read_reply(
                Operation.READ, self.txn_ids[index], status, ledger_id, entry_id, body, max_lac
            )  # fmt: skip
        return v2_replies.read_reply(self.version, V2Op.READ, status, ledger_id, entry_id, body)

    def replies(self, first: int, entries: Sequence[bytes], max_lac: int | None = None) -> bytes:
        """The frames that answer reads ``first .. first + len(entries) - 1`` successfully."""
        end = first + len(entries)
        ledger_ids, entry_ids = self.ledger_ids[first:end], self.entry_ids[first:end]
        if self.wire == 3:
            return v3_replies.read_replies(self.txn_ids[first:end], ledger_ids, entry_ids, entries, max_lac)
        return v2_replies.read_replies(self.version, V2Op.READ, ledger_ids, entry_ids, entries)


class BatchRead:
    """One batch read (BP-62; V3: batch-read-v3.md).

    :ivar request_id: correlation: V2 requestId, V3 txnId.
    :ivar max_count: <= 0 is unlimited.
    :ivar master_key: None if not sent.
    :ivar previous_lac, timeout_ms: V3 long poll, None if not sent.
    """

    __slots__ = (
        "wire", "version", "flags", "ledger_id", "first", "request_id", "max_count", "max_size", "master_key",
        "previous_lac", "timeout_ms",
    )  # fmt: skip

    def __init__(
        self, wire: int, version: int, flags: int, ledger_id: int, first: int, request_id: int, max_count: int,
        max_size: int, master_key: bytes | None = None, previous_lac: int | None = None, timeout_ms: int | None = None,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.ledger_id = ledger_id
        self.first = first
        self.request_id = request_id
        self.max_count = max_count
        self.max_size = max_size
        self.master_key = master_key
        self.previous_lac = previous_lac
        self.timeout_ms = timeout_ms

    @property
    def overhead(self) -> tuple[int, int]:
        """What a reply costs beside the record bytes: (once, for each entry), per the rules of its protocol.

        V2 counts the bytes on the wire: 36 and the records.  V3 counts eight bytes beyond each entry, of
        which a record has four; its fixed part is room the caller leaves below the frame limit.
        """
        return (0, 4) if self.wire == 3 else (36, 0)

    def failure(self, status: Status) -> bytes:
        """The frame of an error reply."""
        return b"".join(self._reply(status))

    def success(self, runs: Sequence[EntryRun], max_lac: int | None = None) -> list[bytes]:
        """The frame of a success as pieces to be written one after the other; runs follow each other."""
        return self._reply(Status.EOK, runs, max_lac)

    def _reply(self, status: Status, runs: Sequence[EntryRun] = (), max_lac: int | None = None) -> list[bytes]:
        if self.wire == 3:
            return v3_replies.batch_reply(self.request_id, status, self.ledger_id, self.first, runs, max_lac)
        return v2_replies.batch_reply(
            self.version, V2Op.BATCH_READ, status, self.ledger_id, self.first, self.request_id, runs
        )  # fmt: skip


class AddReplies:
    """Replies to adds with one status, as a client receives them.

    :ivar ledger_ids, entry_ids: of each, in order.
    :ivar txn_ids: V3, in order; V2: empty.
    """

    __slots__ = ("status", "ledger_ids", "entry_ids", "txn_ids")

    def __init__(
        self, status: Status, ledger_ids: Sequence[int], entry_ids: Sequence[int], txn_ids: Sequence[int] = ()
    ) -> None:
        self.status = status
        self.ledger_ids = list(ledger_ids)
        self.entry_ids = list(entry_ids)
        self.txn_ids = list(txn_ids)

    def append_to(self, items: list[object]) -> None:
        """Adds these replies to a list of items, to its last one if that has the same status."""
        last = items[-1] if items else None
        if isinstance(last, AddReplies) and last.status is self.status:
            last.ledger_ids += self.ledger_ids
            last.entry_ids += self.entry_ids
            last.txn_ids += self.txn_ids
        else:
            items.append(self)


class ReadReply:
    """The reply to one read, plain or fencing.

    :ivar txn_id: V3; V2: None.
    :ivar entry_id: of the request in V2, of the entry in V3.
    :ivar entry: None where there is no body.
    """

    __slots__ = ("status", "ledger_id", "entry_id", "txn_id", "entry", "max_lac", "lac_update_timestamp")

    def __init__(
        self, status: Status, ledger_id: int, entry_id: int, txn_id: int | None, entry: bytes | None,
        max_lac: int | None = None, lac_update_timestamp: int | None = None,
    ) -> None:  # fmt: skip
        self.status = status
        self.ledger_id = ledger_id
        self.entry_id = entry_id
        self.txn_id = txn_id
        self.entry = entry
        self.max_lac = max_lac
        self.lac_update_timestamp = lac_update_timestamp


class BatchReply:
    """The reply to a batch read; ``entries`` is None on error.  Ids and digests are not checked yet."""

    __slots__ = ("wire", "status", "ledger_id", "first", "request_id", "entries", "max_lac")

    def __init__(
        self, wire: int, status: Status, ledger_id: int, first: int, request_id: int, entries: EntryRun | None,
        max_lac: int | None = None,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.status = status
        self.ledger_id = ledger_id
        self.first = first
        self.request_id = request_id
        self.entries = entries
        self.max_lac = max_lac

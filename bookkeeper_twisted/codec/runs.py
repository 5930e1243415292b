"""Runs of adds or reads: the requests of one kind in a chunk as one object, whose replies one call encodes.

A bookie's decoder makes the requests, a client's decoder the replies.  In all requests, ``wire`` is the protocol of the
request, which also encodes its replies, and ``version`` is the version byte of a V2 header, which the reply repeats.
"""

from collections.abc import Sequence

from zope.interface import Attribute, Interface

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import Status
from .operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD

__all__ = [
    "FENCE", "HIGH_PRIORITY", "RECOVERY_ADD", "AddReplies", "AddRun", "BatchRead", "BatchReply", "IReplyEncoding",
    "ReadReply", "ReadRun",
]  # fmt: skip


class IReplyEncoding(Interface):
    """The encoding of replies in one wire protocol; a reply is encoded in the protocol of its request."""

    carries_lac: bool = Attribute("Whether a reply to a read has a place for the LAC that the bookie knows.")
    batch_overhead: tuple[int, int] = Attribute(
        "Bytes that count against ``max_size`` of a batch read beside its records' bytes: once, and for each entry."
    )
    batch_head: int = Attribute("Bytes of a batch reply that do not count so, at most: room below the frame limit.")
    batch_counts_by_first: bool = Attribute("Whether the size of the first entry limits the number of all of a batch.")

    def add_replies(run: "AddRun", status: Status, part: Entries | None) -> bytes:
        """See :meth:`AddRun.replies`."""

    def read_reply(run: "ReadRun", index: int, status: Status, entry: bytes | None, max_lac: int | None) -> bytes:
        """Encode the reply to one read of a run.

        :param index: index of the read in the run, from 0.
        :param entry: the entry, None unless ``status`` is EOK.
        :param max_lac: the highest LAC that the bookie knows, -1 if none; ignored unless :attr:`carries_lac` is true.
        """

    def read_replies(run: "ReadRun", first: int, entries: Sequence[bytes], lacs: Sequence[int]) -> bytes:
        """See :meth:`ReadRun.replies`."""

    def batch_reply(
        request: "BatchRead", status: Status, runs: Sequence[EntryRun], max_lac: int | None
    ) -> list[bytes]:
        """Encode the reply to a batch read, as a list of pieces to write in order.

        :param runs: runs of consecutive entries, each beginning where the previous one ends; none unless ``status`` is
            EOK.
        :param max_lac: as in :meth:`read_reply`.
        """

    def encode_response(response: object) -> bytes:
        """Encode the reply to a request that is neither an add, nor a plain read, nor a batch read.

        :param response: one of :mod:`.messages`.
        :raises bookkeeper_twisted.errors.CodecError: the protocol has no such response.
        """

    def refusal(request: object, status: Status) -> bytes | None:
        """Encode replies that refuse a request unexecuted, for example because the client is not authenticated.

        :param request: a run or a message, as :meth:`~.wire_protocol.IWireProtocol.scan_requests` made it.
        :returns: the frames; None if the protocol cannot refuse such a request, so that the connection must be closed.
        """


class AddRun:
    """Adds with one key and the same flags: consecutive entries of one ledger, or entries of several ledgers.

    Ledger and entry ids are not negative.  Each entry is at least 24 bytes long and begins with these ids.

    :ivar entries: a run of consecutive entries, or a mixed run if entries of several ledgers alternate.
    :ivar flags: bits ``RECOVERY_ADD`` and ``HIGH_PRIORITY``, which in V3 are the flag and the priority; V2 may set
        unknown bits.
    :ivar deferred_sync: whether entries are acknowledged before they are durable (V3 write flag).
    :ivar txn_ids: the txnId of each entry in V3; empty in V2.
    """

    __slots__ = ("wire", "version", "flags", "deferred_sync", "master_key", "entries", "txn_ids", "_unanswered")

    def __init__(
        self, wire: IReplyEncoding, version: int, flags: int, deferred_sync: bool, master_key: bytes, entries: Entries,
        txn_ids: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.deferred_sync = deferred_sync
        self.master_key = master_key
        self.entries = entries
        self.txn_ids = txn_ids
        self._unanswered: dict[tuple[int, int], list[int]] | None = None

    def replies(self, status: Status, part: Entries | None = None) -> bytes:
        """Encode the replies to the adds of the run, in order.

        :param part: the entries of the run to reply to, None for all.
        """
        return self.wire.add_replies(self, status, part)

    def numbers(self, part: Entries | None = None) -> Sequence[int]:
        """Return the V3 request numbers (txnIds) of entries of the run.

        :param part: the entries, as in :meth:`replies`.
        """
        if part is None or part is self.entries:
            return self.txn_ids
        if self._unanswered is None:
            self._unanswered = {}
            for ids, number in zip(self.entries.ids(), self.txn_ids, strict=True):
                self._unanswered.setdefault(ids, []).append(number)
        return [self._unanswered[ids].pop(0) for ids in part.ids()]


class ReadRun:
    """Plain reads (no fencing, no long poll) that arrived one after the other.

    :ivar ledger_ids: the ledger id of each read; the other sequences are parallel to it.
    :ivar entry_ids: the entry id of each read; -1 for the last entry of the ledger.
    :ivar txn_ids: the txnIds in V3; empty in V2.
    """

    __slots__ = ("wire", "version", "flags", "ledger_ids", "entry_ids", "txn_ids")

    def __init__(
        self, wire: IReplyEncoding, version: int, flags: int, ledger_ids: Sequence[int], entry_ids: Sequence[int],
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
        """Encode the reply to one read of the run.

        :param entry: the entry; it is sent only if ``status`` is EOK.
        :param max_lac: the highest LAC that the bookie knows, -1 if none; V2 does not send it.
        """
        return self.wire.read_reply(self, index, status, entry if status is Status.EOK else None, max_lac)

    def replies(self, first: int, entries: Sequence[bytes], lacs: Sequence[int] = ()) -> bytes:
        """Encode successful replies to the reads with indexes ``first .. first + len(entries) - 1``, in order.

        :param first: index of a read in the run, from 0.
        :param entries: header, digest and payload of each entry, in the order of the reads.
        :param lacs: for each read, the highest LAC that the bookie knows of the ledger, -1 if none; V2 does not send
            it.
        """
        return self.wire.read_replies(self, first, entries, lacs)


class BatchRead:
    """One batch read (BP-62; V3: batch-read-v3.md).

    :ivar request_id: V2 requestId or V3 txnId, which the reply repeats.
    :ivar max_count: number of entries at most; <= 0 for any number.
    :ivar master_key: the key, None if the request has no key.
    :ivar previous_lac, timeout_ms: the long poll of V3: wait until the LAC is above ``previous_lac``; None if not sent.
    """

    __slots__ = (
        "wire", "version", "flags", "ledger_id", "first", "request_id", "max_count", "max_size", "master_key",
        "previous_lac", "timeout_ms",
    )  # fmt: skip

    def __init__(
        self, wire: IReplyEncoding, version: int, flags: int, ledger_id: int, first: int, request_id: int,
        max_count: int, max_size: int, master_key: bytes | None = None, previous_lac: int | None = None,
        timeout_ms: int | None = None,
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

    def wait(self, timeout_ms: int) -> None:
        """Make this read a V3 long poll: the bookie waits at most ``timeout_ms`` until the first entry is confirmed."""
        self.previous_lac, self.timeout_ms = self.first - 1, timeout_ms

    def failure(self, status: Status) -> bytes:
        """Encode an error reply.

        :param status: any but EOK.
        :returns: one frame.
        """
        return b"".join(self.wire.batch_reply(self, status, (), None))

    def success(self, runs: Sequence[EntryRun], max_lac: int | None = None) -> list[bytes]:
        """Encode a successful reply.

        :param runs: runs of consecutive entries from :attr:`first` on, each beginning where the previous one ends.
        :param max_lac: the highest LAC that the bookie knows, -1 if none; V2 does not send it.
        :returns: one frame in pieces, to be written in order; pieces may be the buffers of ``runs`` themselves.
        """
        return self.wire.batch_reply(self, Status.EOK, runs, max_lac)


class AddReplies:
    """Replies to adds, all with the same status, as a client receives them.

    :ivar ledger_ids, entry_ids: the ids of each reply, in order.
    :ivar txn_ids: the txnIds in V3, in order; empty in V2.
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
        """Append these replies to a list; if its last item is AddReplies with the same status, extend that item.

        :param items: the list, which is changed in place.  This object must not be used afterwards.
        """
        last = items[-1] if items else None
        if isinstance(last, AddReplies) and last.status is self.status:
            last.ledger_ids += self.ledger_ids
            last.entry_ids += self.entry_ids
            last.txn_ids += self.txn_ids
        else:
            items.append(self)


class ReadReply:
    """The reply to one read, plain or fencing.

    :ivar txn_id: the txnId in V3, None in V2.
    :ivar entry_id: the requested entry id in V2; the id of the returned entry in V3.
    :ivar entry: header, digest and payload; None if the reply has no entry.
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
    """A reply to a batch read; ``entries`` is None on error, else a run whose ids and digests are not verified yet."""

    __slots__ = ("status", "ledger_id", "first", "request_id", "entries", "max_lac")

    def __init__(
        self, status: Status, ledger_id: int, first: int, request_id: int, entries: EntryRun | None,
        max_lac: int | None = None,
    ) -> None:  # fmt: skip
        self.status = status
        self.ledger_id = ledger_id
        self.first = first
        self.request_id = request_id
        self.entries = entries
        self.max_lac = max_lac

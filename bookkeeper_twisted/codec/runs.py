"""Runs: objects for many adds or many reads that arrived together.  One call encodes the replies to all of them.

A bookie's decoder returns requests of these classes, and a client's decoder returns replies.  In the requests, ``wire``
is the protocol in which the request arrived; its reply is encoded in the same protocol.  ``version`` is the version
byte of a V2 header, which the reply repeats.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from zope.interface import Attribute, Interface

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import Status
from .operations import FENCE, HIGH_PRIORITY, MAX_COUNT, RECOVERY_ADD

__all__ = [
    "FENCE", "HIGH_PRIORITY", "RECOVERY_ADD", "AddReplies", "AddRun", "BatchRead", "BatchReply", "IReplyEncoding",
    "ReadReply", "ReadRun", "new_read_reply",
]  # fmt: skip


class IReplyEncoding(Interface):
    """The encoder of replies in one wire protocol.  A reply uses the protocol of its request.

    V2Protocol and V3Protocol implement it.
    """

    carries_lac: bool = Attribute("Whether a reply to a read has a place for the LAC that the bookie knows.")
    batch_overhead: tuple[int, int] = Attribute(
        "Bytes that count against ``max_size`` of a batch read beside its records' bytes: once, and for each entry."
    )
    batch_head: int = Attribute("Bytes of a batch reply that do not count so, at most: room below the frame limit.")
    batch_counts_by_first: bool = Attribute("Whether the size of the first entry limits the number of all of a batch.")

    def add_replies(run: "AddRun", status: Status, part: Entries | None) -> bytes:
        """Encode replies with ``status`` to the adds of the entries ``part``; None for all adds of ``run``."""

    def read_reply(run: "ReadRun", index: int, status: Status, entry: bytes | None, max_lac: int | None) -> bytes:
        """Encode the reply to one read of a ``run`` (reads that were received together).

        :param index: index of the read in the run, from 0.
        :param entry: the entry, None unless ``status`` is EOK.
        :param max_lac: the highest LAC of the ledger that the bookie knows, -1 if none; ignored if :attr:`carries_lac`
            is false.
        """

    def read_replies(run: "ReadRun", first: int, entries: Sequence[bytes | memoryview], lacs: Sequence[int]) -> bytes:
        """Encode successful replies to consecutive reads of a run, beginning with the read at index ``first``.

        See :meth:`ReadRun.replies` for parameters and errors.
        """

    def batch_reply(
        request: "BatchRead", status: Status, runs: Sequence[EntryRun], max_lac: int | None
    ) -> list[bytes]:
        """Encode the reply to a batch read, as a list of byte strings to write one after the other.

        :param runs: runs of consecutive entries; each run begins where the previous one ends.  Empty unless ``status``
            is EOK.
        :param max_lac: the highest LAC of the ledger that the bookie knows, -1 if none; ignored if :attr:`carries_lac`
            is false.
        """

    def encode_response(response: object) -> bytes:
        """Encode the reply to a request that is neither an add, nor a plain read, nor a batch read.

        :param response: a response of a class in :mod:`.messages`.
        :raises bookkeeper_twisted.errors.CodecError: the protocol has no such response.
        """

    def refusal(request: object, status: Status) -> bytes | None:
        """Encode the replies to a request that the bookie refuses, for example before authentication.

        :param request: an object from :meth:`~.wire_protocol.IWireProtocol.scan_requests`: a run (many adds or reads)
            or a single message.
        :param status: the reason for the refusal.
        :returns: the frames.  None if the protocol has no refusal for this request; the caller then closes the
            connection.
        """


Contexts = Mapping[tuple[int, int], Mapping[str, str]]
"""The ``requestContext`` (values by name, for logs and traces) of requests, by ledger id and entry id."""


class AddRun:
    """Several adds with one master key and the same flags, of one ledger or of several ledgers.

    No ledger or entry id is negative.  Each entry has at least 24 bytes, and begins with its ledger id and entry id.

    :ivar entries: the entries: a run of consecutive entries (EntryRun), a sequence of such runs (RunSequence), or
        entries in any order (MixedRun).
    :ivar flags: the bits ``RECOVERY_ADD`` and ``HIGH_PRIORITY``; the decoder converts V3's flag and priority to these
        bits.  In V2, unknown bits may be set, too.
    :ivar deferred_sync: whether the bookie acknowledges the entries before they are durable (V3 write flag).
    :ivar txn_ids: the txnId of each add in V3; empty in V2.
    :ivar contexts: the ``requestContext`` (values by name, for logs and traces) of requests, by ledger id and entry
        id; None if no request has one.
    """

    __slots__ = (
        "wire", "version", "flags", "deferred_sync", "master_key", "entries", "txn_ids", "contexts", "_unanswered",
    )  # fmt: skip

    def __init__(
        self, wire: IReplyEncoding, version: int, flags: int, deferred_sync: bool, master_key: bytes, entries: Entries,
        txn_ids: Sequence[int] = (), contexts: "Contexts | None" = None,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.deferred_sync = deferred_sync
        self.master_key = master_key
        self.entries = entries
        self.txn_ids = txn_ids
        self.contexts = contexts
        self._unanswered: dict[tuple[int, int], list[int]] | None = None

    def replies(self, status: Status, part: Entries | None = None) -> bytes:
        """Encode the replies to the adds of the run (adds that were received together), in order.

        :param part: the entries whose adds are answered; None for all of the run.
        """
        return self.wire.add_replies(self, status, part)

    def txn_ids_of(self, part: Entries | None = None) -> Sequence[int]:
        """Return the V3 request numbers (txnIds) of some or all adds of the run.

        :param part: the entries of these adds; None for all of the run.
        """
        if part is None or part is self.entries:
            return self.txn_ids
        if self._unanswered is None:
            self._unanswered = {}
            for ids, number in zip(self.entries.ids(), self.txn_ids, strict=True):
                self._unanswered.setdefault(ids, []).append(number)
        return [self._unanswered[ids].pop(0) for ids in part.ids()]


class ReadRun:
    """Several plain reads (no fencing, no long poll) that arrived one after the other.

    :ivar ledger_ids: the ledger id of each read.
    :ivar entry_ids: the entry id of each read; -1 for the last entry of the ledger.
    :ivar txn_ids: the txnIds in V3; empty in V2.
    :ivar contexts: the ``requestContext`` (values by name, for logs and traces) of requests, by ledger id and entry
        id; None if no request has one.
    """

    __slots__ = ("wire", "version", "flags", "ledger_ids", "entry_ids", "txn_ids", "contexts")

    def __init__(
        self, wire: IReplyEncoding, version: int, flags: int, ledger_ids: Sequence[int], entry_ids: Sequence[int],
        txn_ids: Sequence[int] = (), contexts: "Contexts | None" = None,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.txn_ids = txn_ids
        self.contexts = contexts

    def __len__(self) -> int:
        return len(self.entry_ids)

    def reply(self, index: int, status: Status, entry: bytes = b"", max_lac: int | None = None) -> bytes:
        """Encode the reply to one read of the run.

        :param entry: the entry; it is sent only if ``status`` is EOK.
        :param max_lac: the highest LAC that the bookie knows, -1 if none; V2 does not send it.
        """
        return self.wire.read_reply(self, index, status, entry if status is Status.EOK else None, max_lac)

    def replies(self, first: int, entries: Sequence[bytes | memoryview], lacs: Sequence[int] = ()) -> bytes:
        """Encode successful replies to the reads with indexes ``first .. first + len(entries) - 1``, in order.

        :param first: index of a read in the run, from 0.
        :param entries: header, digest and payload of each entry, in the order of the reads; memoryviews are copied.
        :param lacs: for each read, the highest LAC that the bookie knows of the ledger, -1 if none; V2 does not send
            it.
        """
        return self.wire.read_replies(self, first, entries, lacs)


class BatchRead:
    """One batch read (BP-62), which asks for consecutive entries in one reply.

    :ivar request_id: the V2 requestId or V3 txnId, which the reply repeats.
    :ivar max_count: maximum number of entries to return, at most :data:`~.operations.MAX_COUNT`; <= 0 for any number.
    :ivar master_key: the master key; None if the request has none.
    :ivar previous_lac, timeout_ms: the long poll of V3: the bookie waits until the LAC is above ``previous_lac``, at
        most ``timeout_ms`` milliseconds; None if not sent.
    :ivar context: the ``requestContext`` (values by name, for logs and traces), in V3 only; None or empty if the
        request has none.
    """

    __slots__ = (
        "wire", "version", "flags", "ledger_id", "first", "request_id", "max_count", "max_size", "master_key",
        "previous_lac", "timeout_ms", "context",
    )  # fmt: skip

    def __init__(
        self, wire: IReplyEncoding, version: int, flags: int, ledger_id: int, first: int, request_id: int,
        max_count: int, max_size: int, master_key: bytes | None = None, previous_lac: int | None = None,
        timeout_ms: int | None = None, context: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.version = version
        self.flags = flags
        self.ledger_id = ledger_id
        self.first = first
        self.request_id = request_id
        self.max_count = min(max_count, MAX_COUNT)
        self.max_size = max_size
        self.master_key = master_key
        self.previous_lac = previous_lac
        self.timeout_ms = timeout_ms
        self.context = context

    def wait(self, timeout_ms: int) -> None:
        """Make this read a V3 long poll: the bookie waits up to ``timeout_ms`` until the first entry is confirmed."""
        self.previous_lac, self.timeout_ms = self.first - 1, timeout_ms

    def carry(self, context: Mapping[str, str] | None) -> None:
        """Set the ``requestContext`` of this read, for the bookie's log and traces; V2 does not send it.

        :param context: values by name; None if the read has no ``requestContext``.
        """
        self.context = context

    def failure(self, status: Status) -> bytes:
        """Encode a reply that reports an error.

        :param status: the error: any status but EOK.
        :returns: one frame.
        """
        return b"".join(self.wire.batch_reply(self, status, (), None))

    def success(self, runs: Sequence[EntryRun], max_lac: int | None = None) -> list[bytes]:
        """Encode a successful reply.

        :param runs: runs of consecutive entries, from :attr:`first` on; each run begins where the previous one ends.
        :param max_lac: the highest LAC that the bookie knows, -1 if none; V2 does not send it.
        :returns: one frame, as byte strings to write one after the other.  Some may be the buffers of ``runs``, without
            a copy.
        """
        return self.wire.batch_reply(self, Status.EOK, runs, max_lac)


class AddReplies:
    """Several replies to adds with the same status, as a client receives them.

    :ivar ledger_ids, entry_ids: the ledger id and the entry id of each reply, in order.
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
        """Append this object to a list of decoded replies.

        If the last item of the list is an AddReplies object with the same status, add these replies to it instead.

        :param items: the list, which is changed in place.  Do not use this AddReplies object afterwards.
        """
        last = items[-1] if items else None
        if isinstance(last, AddReplies) and last.status is self.status:
            last.ledger_ids += self.ledger_ids
            last.entry_ids += self.entry_ids
            last.txn_ids += self.txn_ids
        else:
            items.append(self)


class ReadReply(NamedTuple):
    """The reply to one read, as a client receives it; a tuple, because a client receives many of them.

    :ivar txn_id: the txnId in V3, None in V2.
    :ivar entry_id: the requested entry id in V2; the id of the returned entry in V3.
    :ivar entry: the entry as it is stored (header, digest and payload); None if the reply has no entry.
    """

    status: Status
    ledger_id: int
    entry_id: int
    txn_id: int | None
    entry: bytes | None
    max_lac: int | None = None
    lac_update_timestamp: int | None = None


new_read_reply = partial(tuple.__new__, ReadReply)
"""Make a ReadReply from a tuple of its fields; faster than the constructor, because it calls no Python function."""


class BatchReply:
    """A reply to a batch read.

    :ivar entries: a run whose ids and digests are not verified yet; None if the status is an error.
    """

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

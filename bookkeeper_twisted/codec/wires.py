"""The two wire protocols of BookKeeper, V2 and V3, as implementations of :class:`~.wire_protocol.IWireProtocol`."""

from collections.abc import Mapping, Sequence

from zope.interface import implementer

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import CodecError, Status
from .adds import Adds, frames_and_replies
from .messages import ErrorResponse, Header, ReadRequest, ReadResponse
from .operations import HIGH_PRIORITY, V3_HIGH_PRIORITY, Operation, V2Op
from .runs import AddRun, BatchRead, ReadRun
from .strides import stretches
from .v2 import layout as v2_layout
from .v2 import replies_in as v2_replies_in
from .v2 import replies_out as v2_replies_out
from .v2 import requests_in as v2_requests_in
from .v2 import requests_out as v2_requests_out
from .v3 import layout as v3_layout
from .v3 import replies_in as v3_replies_in
from .v3 import replies_out as v3_replies_out
from .v3 import requests_in as v3_requests_in
from .v3 import requests_out as v3_requests_out
from .v3.request_context import between
from .wire_protocol import IWireProtocol

_V2_OPERATIONS = {
    Operation.READ: V2Op.READ, Operation.ADD: V2Op.ADD, Operation.AUTH: V2Op.AUTH,
    Operation.BATCH_READ: V2Op.BATCH_READ,
}  # fmt: skip
_V3_HEADER_ROOM = 512


@implementer(IWireProtocol)
class V2Protocol:
    """V2: fixed layouts, no request numbers; only adds, reads, batch reads and authentication (:mod:`.v2`).

    The ``max_size`` of a batch read limits the whole reply: a header of 36 bytes, then each entry after its length.
    """

    names = frozenset({"v2"})
    number = v2_layout.VERSION
    numbered = complete = carries_lac = False
    add_reply_size = v2_layout.IDS_REPLY.size
    rank = 100
    batch_overhead = (v2_layout.BATCH_REPLY.size, 0)
    batch_head = 0
    batch_counts_by_first = True

    encode_adds = staticmethod(frames_and_replies)
    encode_batch_read = staticmethod(v2_requests_out.encode_batch_read)
    encode_request = staticmethod(v2_requests_out.encode_request)
    encode_response = staticmethod(v2_replies_out.encode_response)

    def __repr__(self) -> str:
        return "V2"

    def encode_reads(
        self, ledger_id: int, entry_ids: Sequence[int], first_number: int, context: Mapping[str, str] | None = None
    ) -> bytes:
        """Encode the V2 frames of plain reads of entries of one ledger."""
        return v2_requests_out.encode_reads(ledger_id, entry_ids)

    def batch_read(
        self, ledger_id: int, first: int, number: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None,
    ) -> BatchRead:  # fmt: skip
        """Return a V2 batch read of consecutive entries from ``first`` on.

        See :meth:`.IWireProtocol.batch_read` for parameters and errors.
        """
        return BatchRead(self, v2_layout.VERSION, flags, ledger_id, first, number, max_count, max_size, master_key)

    def header(self, operation: Operation, number: int = 0, priority: int = 0) -> Header:
        """Return the V2 header of a request that is neither an add, nor a plain read, nor a batch read.

        See :meth:`.IWireProtocol.header` for parameters and errors.
        """
        opcode = _V2_OPERATIONS.get(operation)
        if opcode is None:
            raise CodecError(f"V2 has no {operation.name}")
        return Header(self, v2_layout.VERSION, opcode)

    def scan_replies(self, data: bytes, at: int, limit: int, items: list[object]) -> int:
        """Decode all complete V2 replies in the bytes ``data`` that a client received, from offset ``at`` on.

        See :meth:`.IWireProtocol.scan_replies` for parameters and errors.
        """
        return v2_replies_in.scan(self, data, at, limit, items)

    def scan_requests(self, data: bytes, at: int, limit: int, items: list[object]) -> tuple[int, bool]:
        """Decode complete V2 requests in ``data`` that a bookie received, from offset ``at`` on.

        A frame that is not V2 is an error.

        See :meth:`.IWireProtocol.scan_requests` for parameters and errors.
        """
        return v2_requests_in.scan(self, data, at, limit, items), True

    def add_replies(self, run: AddRun, status: Status, part: Entries | None = None) -> bytes:
        """Encode V2 replies with ``status`` to the adds of ``run``.

        :param part: those entries of the run whose adds are answered; None for all.
        """
        entries = run.entries if part is None else part
        head = run.version, V2Op.ADD, status
        replies = entries.dispatch(
            lambda each: v2_replies_out.ids_replies(*head, each.ledger_id, each.first, each.count),
            lambda each: v2_replies_out.mixed_replies(*head, each.ledger_ids, each.entry_ids),
        )
        return b"".join(replies)

    def read_reply(
        self, run: ReadRun, index: int, status: Status, entry: bytes | None = None, max_lac: int | None = None
    ) -> bytes:
        """Encode the V2 reply to one read of a run (reads that were received together).

        See :meth:`.IReplyEncoding.read_reply` for parameters and errors.
        """
        ids = run.ledger_ids[index], run.entry_ids[index]
        return v2_replies_out.read_reply(run.version, V2Op.READ, status, *ids, entry)

    def read_replies(
        self, run: ReadRun, first: int, entries: Sequence[bytes | memoryview], lacs: Sequence[int] = ()
    ) -> bytes:  # fmt: skip
        """Encode successful V2 replies to consecutive reads of a run, beginning with the read at index ``first``.

        See :meth:`.ReadRun.replies` for parameters and errors.
        """
        part = slice(first, first + len(entries))
        return v2_replies_out.read_replies(run.version, V2Op.READ, run.ledger_ids[part], run.entry_ids[part], entries)

    def batch_reply(
        self, request: BatchRead, status: Status, runs: Sequence[EntryRun] = (), max_lac: int | None = None
    ) -> list[bytes]:
        """Encode the V2 reply to a batch read, as a list of byte strings to write one after the other.

        See :meth:`.IReplyEncoding.batch_reply` for parameters and errors.
        """
        ids = request.ledger_id, request.first, request.request_id
        return v2_replies_out.batch_reply(request.version, V2Op.BATCH_READ, status, *ids, runs)

    def refusal(self, request: object, status: Status) -> bytes | None:
        """Encode the V2 replies to a request that the bookie refuses; None unless the request is an add or a read.

        See :meth:`.IReplyEncoding.refusal` for parameters and errors.
        """
        if isinstance(request, AddRun):
            return request.replies(status)
        if isinstance(request, ReadRun):
            return b"".join([request.reply(index, status) for index in range(len(request))])
        if isinstance(request, ReadRequest):
            return v2_replies_out.encode_response(
                ReadResponse(request.header, status, request.ledger_id, request.entry_id)
            )
        return None


@implementer(IWireProtocol)
class V3Protocol:
    """V3: protobuf messages with request numbers, for all operations (:mod:`.v3`).

    The ``max_size`` of a batch read limits the total size of its entries, plus eight bytes for each entry.  The fields
    in front of the entries do not count.
    """

    names = frozenset({"v3"})
    number = v3_layout.VERSION
    numbered = complete = carries_lac = True
    add_reply_size = 0
    rank = 50
    batch_overhead = (0, 4)
    batch_head = _V3_HEADER_ROOM
    batch_counts_by_first = False

    encode_batch_read = staticmethod(v3_requests_out.encode_batch_read)
    encode_request = staticmethod(v3_requests_out.encode_request)
    encode_response = staticmethod(v3_replies_out.encode_response)

    def __repr__(self) -> str:
        return "V3"

    def encode_adds(self, adds: Adds, first_number: int) -> tuple[bytes, bytes]:
        """Encode the V3 frames of add requests, and the replies of a bookie that executes all adds in order.

        See :meth:`.IWireProtocol.encode_adds` for parameters and errors.
        """
        key, flags, entries = adds.master_key, adds.flags, adds.entries()
        frames = [
            v3_requests_out.encode_adds(
                key, adds.ledger_ids[start], adds.entry_ids[start], entries[start:end], flags, adds.deferred_sync,
                first_number + start, adds.contexts and between(adds.contexts, start, end),
            )
            for start, end in stretches(adds.entry_ids, adds.ledger_ids)
        ]  # fmt: skip
        return b"".join(frames), b""

    def encode_reads(
        self, ledger_id: int, entry_ids: Sequence[int], first_number: int, context: Mapping[str, str] | None = None
    ) -> bytes:
        """Encode the V3 frames of plain reads of entries of one ledger, numbered from ``first_number`` on.

        See :meth:`.IWireProtocol.encode_reads` for parameters.
        """
        return v3_requests_out.encode_reads(ledger_id, entry_ids, 0, first_number, context)

    def batch_read(
        self, ledger_id: int, first: int, number: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None,
    ) -> BatchRead:  # fmt: skip
        """Return a V3 batch read of consecutive entries from ``first`` on.

        See :meth:`.IWireProtocol.batch_read` for parameters and errors.
        """
        return BatchRead(self, v3_layout.VERSION, flags, ledger_id, first, number, max_count, max_size, master_key)

    def header(self, operation: Operation, number: int = 0, priority: int = 0) -> Header:
        """Return the V3 header of a request that is neither an add, nor a plain read, nor a batch read.

        See :meth:`.IWireProtocol.header` for parameters and errors.
        """
        return Header(self, v3_layout.VERSION, operation, number, priority)

    def scan_replies(self, data: bytes, at: int, limit: int, items: list[object]) -> int:
        """Decode all complete V3 replies in the bytes ``data`` that a client received, from offset ``at`` on.

        See :meth:`.IWireProtocol.scan_replies` for parameters and errors.
        """
        return v3_replies_in.scan(self, data, at, limit, items)

    def scan_requests(self, data: bytes, at: int, limit: int, items: list[object]) -> tuple[int, bool]:
        """Decode complete V3 requests in ``data`` that a bookie received, from offset ``at`` on.

        Decoding stops at a frame that is no ``Request`` message, because it is of another protocol.

        See :meth:`.IWireProtocol.scan_requests` for parameters and errors.
        """
        return v3_requests_in.scan(self, data, at, limit, items)

    def add_replies(self, run: AddRun, status: Status, part: Entries | None = None) -> bytes:
        """Encode V3 replies with ``status`` to the adds of ``part``, or to all adds of ``run`` if ``part`` is None."""
        entries, txn_ids = run.entries if part is None else part, run.txn_ids_of(part)
        at = 0

        def of_run(each: EntryRun) -> bytes:
            nonlocal at
            begin, at = at, at + each.count
            return v3_replies_out.add_replies(txn_ids[begin:at], status, each.ledger_id, each.first)

        replies = entries.dispatch(
            of_run,
            lambda each: v3_replies_out.mixed_add_replies(txn_ids, status, each.ledger_ids, each.entry_ids),
        )
        return b"".join(replies)

    def read_reply(
        self, run: ReadRun, index: int, status: Status, entry: bytes | None = None, max_lac: int | None = None
    ) -> bytes:
        """Encode the V3 reply to one read of a run (reads that were received together).

        See :meth:`.IReplyEncoding.read_reply` for parameters and errors.
        """
        ids = run.ledger_ids[index], run.entry_ids[index]
        return v3_replies_out.read_reply(Operation.READ, run.txn_ids[index], status, *ids, entry, max_lac)

    def read_replies(
        self, run: ReadRun, first: int, entries: Sequence[bytes | memoryview], lacs: Sequence[int] = ()
    ) -> bytes:  # fmt: skip
        """Encode successful V3 replies to some reads of ``run``, from the read with the index ``first`` on.

        A run is the reads that a client sent one after another.

        See :meth:`.ReadRun.replies` for parameters and errors.
        """
        part = slice(first, first + len(entries))
        return v3_replies_out.read_replies(
            run.txn_ids[part], run.ledger_ids[part], run.entry_ids[part], entries, lacs
        )  # fmt: skip

    def batch_reply(
        self, request: BatchRead, status: Status, runs: Sequence[EntryRun] = (), max_lac: int | None = None
    ) -> list[bytes]:
        """Encode the V3 reply to a batch read, as a list of byte strings to write one after the other.

        See :meth:`.IReplyEncoding.batch_reply` for parameters and errors.
        """
        ids = request.ledger_id, request.first
        return v3_replies_out.batch_reply(request.request_id, status, *ids, runs, max_lac)

    def refusal(self, request: object, status: Status) -> bytes | None:
        """Encode V3 error replies to a refused ``request``; if it is a run of adds or reads, one reply to each of them.

        See :meth:`.IReplyEncoding.refusal` for parameters and errors.
        """
        if isinstance(request, AddRun | ReadRun | BatchRead):
            operation, numbers = _numbers(request)
            priority = V3_HIGH_PRIORITY if request.flags & HIGH_PRIORITY else 0
            headers = [Header(self, request.version, operation, number, priority) for number in numbers]
        else:
            headers = [request.header]  # type: ignore[attr-defined]
        return b"".join([v3_replies_out.encode_response(ErrorResponse(header, status)) for header in headers])


def _numbers(request: AddRun | ReadRun | BatchRead) -> tuple[Operation, Sequence[int]]:
    """Return the operation of a run of adds or reads, or of a batch read, and the txnId of each of its requests."""
    if isinstance(request, BatchRead):
        return Operation.BATCH_READ, (request.request_id,)
    return (Operation.ADD if isinstance(request, AddRun) else Operation.READ), request.txn_ids


V2 = V2Protocol()
V3 = V3Protocol()

INCLUDED: tuple[IWireProtocol, ...] = (V3, V2)
"""The wire protocols in the order in which a bookie tries them."""

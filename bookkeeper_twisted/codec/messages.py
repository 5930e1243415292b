"""One frozen class for each request other than adds and plain reads, and for each of their responses.

A response has the ``header`` of its request, which correlates the two and determines the encoding.
Fields that a protocol does not have are ignored when encoding for it.
"""

import attrs

from ..errors import Status
from ..masking import masked
from .runs import IReplyEncoding


@attrs.frozen
class Header:
    """The fields that correlate a response with its request and determine the encoding of both.

    :ivar wire: the protocol of the request, which encodes the response.
    :ivar version: the version in the V2 packet header or in the V3 header (3 is V3's only good value).
    :ivar operation: V2 opcode or V3 operation number.
    :ivar txn_id: V3 correlation id, 0 in V2.
    :ivar priority: the priority, V3 only; above 0 the request is preferred to background work.
    """

    wire: IReplyEncoding
    version: int
    operation: int
    txn_id: int = 0
    priority: int = 0


# ---- requests ----------------------------------------------------------------------------------------


@attrs.frozen
class ReadRequest:
    """A fencing read, a long poll, or another read with more fields than ledger and entry id.

    :ivar piggyback: V3 ENTRY_PIGGYBACK: with a new LAC, also the entry after ``previous_lac``.
    """

    header: Header
    ledger_id: int
    entry_id: int
    fence: bool = False
    high_priority: bool = False
    master_key: bytes | None = attrs.field(default=None, repr=masked)
    previous_lac: int | None = None
    timeout_ms: int | None = None
    piggyback: bool = False


@attrs.frozen
class AuthRequest:
    """A token of the client's authentication exchange.

    :ivar plugin: name of the plugin; empty if a V3 request has no sub-message, as no plugin has an empty name.
    """

    header: Header
    plugin: str
    payload: bytes = attrs.field(repr=masked)


@attrs.frozen
class WriteLacRequest:
    """A request to store an explicit LAC.

    :ivar body: the LAC packet; the LAC in it is in force, ``lac`` is for logs.
    """

    header: Header
    ledger_id: int
    lac: int
    master_key: bytes = attrs.field(repr=masked)
    body: bytes


@attrs.frozen
class ReadLacRequest:
    header: Header
    ledger_id: int


@attrs.frozen
class BookieInfoRequest:
    """A request for total and free space of a bookie's disks.

    :ivar requested: 1 for total capacity, 2 for free space, or-ed; 0 for neither.
    """

    header: Header
    requested: int = 0


@attrs.frozen
class StartTlsRequest:
    header: Header


@attrs.frozen
class ForceLedgerRequest:
    header: Header
    ledger_id: int


@attrs.frozen
class ListEntriesRequest:
    header: Header
    ledger_id: int


@attrs.frozen
class RejectedRequest:
    """A request that the bookie must refuse, with the fields that its reply needs.

    Its version is bad, its operation is not supported, or the ids of body and request disagree.

    :ivar reply: the whole frame of the answer.
    """

    header: Header
    status: Status
    reply: bytes


# ---- responses ---------------------------------------------------------------------------------------


@attrs.frozen
class ReadResponse:
    header: Header
    status: Status
    ledger_id: int
    entry_id: int
    entry: bytes | None = None
    max_lac: int | None = None
    lac_update_timestamp: int | None = None


@attrs.frozen
class AuthResponse:
    """A reply to an authentication token.

    In V2 the reply has no status; for ``AUTH_DISABLED_PLUGIN`` its version is 2.

    :ivar status: the status; V3 leaves out the sub-message unless it is EOK.
    """

    header: Header
    plugin: str
    payload: bytes = attrs.field(repr=masked)
    status: Status = Status.EOK


@attrs.frozen
class WriteLacResponse:
    header: Header
    status: Status
    ledger_id: int


@attrs.frozen
class ReadLacResponse:
    header: Header
    status: Status
    ledger_id: int
    lac_body: bytes | None = None
    last_entry: bytes | None = None


@attrs.frozen
class BookieInfoResponse:
    header: Header
    status: Status
    total_disk_capacity: int | None = None
    free_disk_space: int | None = None


@attrs.frozen
class StartTlsResponse:
    """The answer to the request to begin TLS.

    :ivar status: the status; the sub-message is left out unless it is EOK.
    """

    header: Header
    status: Status


@attrs.frozen
class ForceLedgerResponse:
    header: Header
    status: Status
    ledger_id: int


@attrs.frozen
class ListEntriesResponse:
    """The entries that a bookie holds of a ledger.

    :ivar ranges: first and last ids of contiguous ranges, ascending.
    """

    header: Header
    status: Status
    ledger_id: int
    ranges: tuple[tuple[int, int], ...] | None = None


@attrs.frozen
class ErrorResponse:
    """A V3 reply with a status and no sub-message (not authenticated, no such operation)."""

    header: Header
    status: Status

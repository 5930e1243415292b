"""A frozen class for each kind of request other than adds and plain reads, and for each kind of response.

A response has the ``header`` of its request.  The client uses this header to find the request that the response
answers.  The header also determines the encoding.  An encoder ignores the fields that its protocol does not have.
"""

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from ..errors import Status
from ..masking import masked
from .runs import IReplyEncoding


@attrs.frozen
class Header:
    """The fields by which a client matches a response with its request; they also determine the encoding of both.

    :ivar wire: the protocol of the request, in which the response is encoded, too.
    :ivar version: the version in the V2 packet header or in the V3 header, where only 3 is valid.
    :ivar operation: V2 opcode or V3 operation number.
    :ivar txn_id: number of the request in V3, which the response repeats; 0 in V2.
    :ivar priority: the priority, in V3 only; a request with a priority above 0 is served before background work.
    :ivar context: the ``requestContext`` of a V3 request: values by name, for logs and traces.  A bookie keeps only the
        first, short ones.
    """

    wire: IReplyEncoding
    version: int
    operation: int
    txn_id: int = 0
    priority: int = 0
    context: Mapping[str, str] = attrs.field(default=MappingProxyType({}), eq=False, repr=False)


# ---- requests ----------------------------------------------------------------------------------------


@attrs.frozen
class ReadRequest:
    """A read with more fields than ledger and entry id: a fencing read, a long poll, or a read with a master key.

    :ivar piggyback: the V3 flag ENTRY_PIGGYBACK: when the LAC has advanced, the reply also has the entry after
        ``previous_lac``.
    :ivar previous_lac, timeout_ms: the two values of a long poll: the bookie waits until the LAC is above
        ``previous_lac``, but at most ``timeout_ms`` milliseconds.  None if the request is no long poll.
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
    """A message of the client in the authentication exchange.

    :ivar payload: the token of the plugin.
    :ivar plugin: name of the authentication plugin; empty if a V3 request has no ``AuthMessage``.
    """

    header: Header
    plugin: str
    payload: bytes = attrs.field(repr=masked)


@attrs.frozen
class WriteLacRequest:
    """A request to store an explicit LAC.

    :ivar body: the LAC packet, which the bookie stores, with LAC and digest.
    :ivar lac: the LAC in ``body``, decoded for log lines.
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
    """A request for the total and free space of a bookie's disks.

    :ivar requested: a sum of bits: 1 asks for total capacity, 2 for free space.
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
    """A request that the bookie refuses and does not execute.

    The version or operation of the request is not supported, or the request is invalid: for example, the ledger id or
    entry id in the body of an add differs from that in the request.

    :ivar reply: the complete frame of the reply.
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
    """A reply of the bookie in the authentication exchange.

    A V2 reply has no status.  With the plugin name ``AUTH_DISABLED_PLUGIN``, a V2 reply has version 2, whatever the
    version of the request.

    :ivar status: the status; a V3 reply contains the ``AuthMessage`` only if this is EOK.
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
    """A reply to the request to begin TLS.

    :ivar status: the status; the reply contains the ``StartTLSResponse`` only if this is EOK.
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
    """A reply that lists the entries of a ledger that the bookie has.

    :ivar ranges: first and last ids of contiguous ranges, ascending.
    """

    header: Header
    status: Status
    ledger_id: int
    ranges: tuple[tuple[int, int], ...] | None = None


@attrs.frozen
class ErrorResponse:
    """A V3 reply with a status but without fields of an operation, for example to an unauthenticated client."""

    header: Header
    status: Status

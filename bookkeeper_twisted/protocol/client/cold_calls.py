"""The rare requests of a client: all but adds, reads and batch reads.

They are sent over V3, the protocol that has all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import attrs

from ...codec.messages import (
    BookieInfoRequest,
    BookieInfoResponse,
    ForceLedgerRequest,
    ForceLedgerResponse,
    Header,
    ListEntriesRequest,
    ListEntriesResponse,
    ReadLacRequest,
    ReadLacResponse,
    WriteLacRequest,
    WriteLacResponse,
)
from ...codec.operations import Operation

T = TypeVar("T")

_CAPACITY_AND_FREE_SPACE = 3


@attrs.frozen
class ColdCall(Generic[T]):
    """A request other than an add, a read or a batch read.

    :ivar request: returns the request message with the given header.
    :ivar expected: the class of the reply.
    :ivar result: extracts the caller's result from a successful reply.
    """

    operation: Operation
    ledger_id: int
    request: Callable[[Header], object]
    expected: type
    result: Callable[[Any], T]


def read_lac(ledger_id: int) -> ColdCall[tuple[bytes | None, bytes | None]]:
    """Build a request for the LAC of the ledger ``ledger_id``.

    Its result is the stored explicit LAC packet and the stored last entry; each is None if the bookie has none.
    """

    def result(reply: ReadLacResponse) -> tuple[bytes | None, bytes | None]:
        return reply.lac_body, reply.last_entry

    def request(header: Header) -> ReadLacRequest:
        return ReadLacRequest(header, ledger_id)

    return ColdCall(Operation.READ_LAC, ledger_id, request, ReadLacResponse, result)


def write_lac(ledger_id: int, master_key: bytes, lac: int, body: bytes) -> ColdCall[None]:
    """Build a request that stores an explicit LAC packet.

    :param lac: the LAC that ``body`` contains.
    :param body: the packet of :meth:`.Digester.seal_lac`.
    """

    def request(header: Header) -> WriteLacRequest:
        return WriteLacRequest(header, ledger_id, lac, master_key, body)

    return ColdCall(Operation.WRITE_LAC, ledger_id, request, WriteLacResponse, _nothing)


def force(ledger_id: int) -> ColdCall[None]:
    """Build a request that the bookie answers when all acknowledged adds of ``ledger_id`` are durable."""

    def request(header: Header) -> ForceLedgerRequest:
        return ForceLedgerRequest(header, ledger_id)

    return ColdCall(Operation.FORCE_LEDGER, ledger_id, request, ForceLedgerResponse, _nothing)


def list_entries(ledger_id: int) -> ColdCall[Sequence[tuple[int, int]]]:
    """Build a request for a list of the entries of ``ledger_id`` that a bookie has.

    Its result is ranges of first and last id, both included, in ascending order; none if the bookie has no entry.
    """

    def result(reply: ListEntriesResponse) -> Sequence[tuple[int, int]]:
        return reply.ranges or ()

    def request(header: Header) -> ListEntriesRequest:
        return ListEntriesRequest(header, ledger_id)

    return ColdCall(Operation.LIST_ENTRIES, ledger_id, request, ListEntriesResponse, result)


def bookie_info() -> ColdCall[tuple[int, int]]:
    """Build a request for the disk capacity and the free space of a bookie, in bytes."""

    def result(reply: BookieInfoResponse) -> tuple[int, int]:
        return reply.total_disk_capacity or 0, reply.free_disk_space or 0

    def request(header: Header) -> BookieInfoRequest:
        return BookieInfoRequest(header, _CAPACITY_AND_FREE_SPACE)

    return ColdCall(Operation.BOOKIE_INFO, -1, request, BookieInfoResponse, result)


def _nothing(_: object) -> None:
    return None

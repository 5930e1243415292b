"""The rare requests of a client: all but adds, reads and batch reads.

They are sent in V3, because V2 does not have them.
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
    """A request of one of the less frequent kinds: neither an add, nor a read, nor a batch read.

    :ivar what: what the request is, for the text of an error.
    :ivar request: returns the request message with the given header.
    :ivar expected: the class of the reply.
    :ivar result: converts a successful reply to the value that the caller gets.
    """

    what: str
    operation: Operation
    ledger_id: int
    request: Callable[[Header], object]
    expected: type
    result: Callable[[Any], T]


def read_lac(ledger_id: int) -> ColdCall[tuple[bytes | None, bytes | None]]:
    """Build a request for the LAC of the ledger ``ledger_id``.

    Its result is the stored explicit LAC packet and the stored last entry; each is None if the bookie has none.
    """
    return ColdCall(
        "a read of the LAC", Operation.READ_LAC, ledger_id, lambda header: ReadLacRequest(header, ledger_id),
        ReadLacResponse, lambda reply: (reply.lac_body, reply.last_entry),
    )  # fmt: skip


def write_lac(ledger_id: int, master_key: bytes, lac: int, body: bytes) -> ColdCall[None]:
    """Build a request that stores an explicit LAC packet.

    :param lac: the LAC that ``body`` contains.
    :param body: the packet of :meth:`.Digester.seal_lac`.
    """
    return ColdCall(
        "an explicit LAC", Operation.WRITE_LAC, ledger_id,
        lambda header: WriteLacRequest(header, ledger_id, lac, master_key, body), WriteLacResponse, lambda _: None,
    )  # fmt: skip


def force(ledger_id: int) -> ColdCall[None]:
    """Build a request that the bookie answers when all acknowledged adds of ``ledger_id`` are durable."""
    return ColdCall(
        "a sync", Operation.FORCE_LEDGER, ledger_id, lambda header: ForceLedgerRequest(header, ledger_id),
        ForceLedgerResponse, lambda _: None,
    )  # fmt: skip


def list_entries(ledger_id: int) -> ColdCall[Sequence[tuple[int, int]]]:
    """Build a request for a list of the entries of ``ledger_id`` that a bookie has.

    Its result is ranges of first and last id, both included, in ascending order; none if the bookie has no entry.
    """
    return ColdCall(
        "a list of the entries", Operation.LIST_ENTRIES, ledger_id,
        lambda header: ListEntriesRequest(header, ledger_id), ListEntriesResponse, lambda reply: reply.ranges or (),
    )  # fmt: skip


def bookie_info() -> ColdCall[tuple[int, int]]:
    """Build a request for the disk capacity and the free space of a bookie, in bytes."""
    return ColdCall(
        "a request for its disk space", Operation.BOOKIE_INFO, -1,
        lambda header: BookieInfoRequest(header, _CAPACITY_AND_FREE_SPACE), BookieInfoResponse,
        lambda reply: (reply.total_disk_capacity or 0, reply.free_disk_space or 0),
    )  # fmt: skip

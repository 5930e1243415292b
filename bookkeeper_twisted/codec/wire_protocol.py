"""The seam between connections and the bytes they carry: what a wire protocol does for a client and for a bookie.

A connection has its protocol from when it is made; the calls below are for all that a turn of the reactor sends or that
a chunk holds, never for one entry.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute

from .messages import Header
from .operations import Operation
from .runs import BatchRead, IReplyEncoding

if TYPE_CHECKING:
    from .adds import Adds


class IWireProtocol(IReplyEncoding):
    """One wire protocol, both sides of it.  Providers have no state; any thread may call them."""

    names: frozenset[str] = Attribute("Values of ``wireProtocol`` it answers to.")
    number: int = Attribute("What it is called in metrics.")
    numbered: bool = Attribute(
        "Whether each request has a number that its reply repeats; else adds and reads are matched by ledger and entry."
    )
    complete: bool = Attribute("Whether it has every request of a client; else what it lacks goes over one that has.")
    add_reply_size: int = Attribute("Bytes of each reply that :meth:`encode_adds` foretells; 0 if it does not.")
    rank: int = Attribute("A bookie tries the protocol of the lowest rank first on a new connection.")

    # ---- a client's side -------------------------------------------------------------------------------

    def encode_adds(adds: "Adds", first_number: int) -> tuple[bytes, bytes]:
        """The frames of add requests, and the replies of a bookie that has done all of them in order.

        :param first_number: numbered protocols: of the first one; they count up from there.
        :returns: the replies are empty where they are not foretold, as they depend on the connection.
        :raises bookkeeper_twisted.errors.CodecError: it cannot say what the adds ask for.
        """

    def encode_reads(ledger_id: int, entry_ids: Sequence[int], first_number: int) -> bytes:
        """The frames of plain reads of one ledger.

        :param first_number: as of :meth:`encode_adds`.
        """

    def batch_read(
        ledger_id: int, first: int, number: int, max_count: int, max_size: int, flags: int, master_key: bytes | None
    ) -> BatchRead:
        """Make a batch read of this protocol.

        :param first: id of the first entry.
        :param number: the reply repeats it, in every protocol.
        :param max_count: entries, <= 0 for any number.
        :param max_size: bytes of the reply.
        :param flags: as of :class:`~.runs.BatchRead`.
        """

    def encode_batch_read(request: BatchRead) -> bytes:
        """Encode the frame of a batch read.

        :param request: one that :meth:`batch_read` of the same protocol made.
        :raises bookkeeper_twisted.errors.CodecError: V2: its key is not of 20 bytes.
        """

    def header(operation: Operation, number: int, priority: int) -> Header:
        """Make the header of a cold request.

        :param number: the reply repeats it; ignored by protocols that have none.
        :param priority: greater than 0 for a request that is preferred to background work.
        :raises bookkeeper_twisted.errors.CodecError: it has no such operation.
        """

    def encode_request(request: object) -> bytes:
        """Encode the frame of a cold request.

        :param request: one of :mod:`.messages`, with a header that :meth:`header` of this protocol made.
        :raises bookkeeper_twisted.errors.CodecError: it has no such request.
        """

    def scan_replies(data: bytes, at: int, limit: int, items: list[object]) -> int:
        """Reads all complete frames that a bookie sent, from ``at`` on.

        :param limit: bytes of the longest frame, its length word included.
        :param items: gets replies, in order.
        :returns: where the first incomplete frame begins.
        :raises bookkeeper_twisted.errors.CodecError: a frame is over the limit or no response; ``items`` has what came
            before.
        """

    # ---- a bookie's side -------------------------------------------------------------------------------

    def scan_requests(data: bytes, at: int, limit: int, items: list[object]) -> tuple[int, bool]:
        """Reads complete frames that a client sent, from ``at`` on, as long as they are of this protocol.

        It may stop before another complete frame, for the next turn, where ``framing.MOST_ITEMS`` came one by one.

        :param limit: bytes of the longest frame, its length word included.
        :param items: gets runs, messages and refusals, in order.
        :returns: where it stopped, and whether that is a frame of this protocol, as far as is known; else it is one of
            another protocol.
        :raises bookkeeper_twisted.errors.CodecError: a frame is over the limit, or is of no protocol; ``items`` has
            what came before.
        """

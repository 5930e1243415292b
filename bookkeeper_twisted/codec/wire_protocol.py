"""The interface of a wire protocol, which encodes and decodes requests and replies for clients and bookies.

Each call processes many requests: all in a received chunk, or all of a turn of the reactor.  A call for each entry
would be slow.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute

from .messages import Header
from .operations import Operation
from .runs import BatchRead, IReplyEncoding

if TYPE_CHECKING:
    from .adds import Adds


class IWireProtocol(IReplyEncoding):
    """A wire protocol, for clients and bookies.

    Its implementations (V2Protocol, V3Protocol) have no state; any thread may call them.
    """

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
        """Encode the frames of add requests, and the replies that a bookie sends if it executes all adds in order.

        :param first_number: the number of the first request; later requests have the next numbers.  Ignored by a
            protocol without numbers.
        :returns: the frames; and the bytes of the expected replies, to be compared with the received bytes.  These are
            empty if the protocol cannot predict them.
        :raises bookkeeper_twisted.errors.CodecError: the protocol cannot express the adds.
        """

    def encode_reads(
        ledger_id: int, entry_ids: Sequence[int], first_number: int, context: Mapping[str, str] | None = None
    ) -> bytes:
        """Encode the frames of plain reads of entries of one ledger.

        :param first_number: the number of the first request; later requests have the next numbers.  Ignored by a
            protocol without numbers.
        :param context: the request context (string keys and values) of the first request; ignored by V2, which has
            no such field.
        """

    def batch_read(
        ledger_id: int, first: int, number: int, max_count: int, max_size: int, flags: int, master_key: bytes | None
    ) -> BatchRead:
        """Make a request for a batch read in this protocol.

        :param first: id of the first entry.
        :param number: the number of the request, which the reply repeats in every protocol.
        :param max_count: maximum number of entries to return, <= 0 for any number.
        :param max_size: maximum number of bytes of the reply.
        :param flags: bits of :mod:`.operations`: ``FENCE``, ``HIGH_PRIORITY``.
        """

    def encode_batch_read(request: BatchRead) -> bytes:
        """Encode the frame of a batch read.

        :param request: a batch read from :meth:`batch_read` of the same protocol.
        :raises bookkeeper_twisted.errors.CodecError: in V2, the master key does not have 20 bytes.
        """

    def header(operation: Operation, number: int, priority: int) -> Header:
        """Make the header of a request that is neither an add, nor a plain read, nor a batch read.

        :param number: the number of the request, which the reply repeats; ignored by protocols without numbers.
        :param priority: greater than 0 for a request that the bookie serves before background work.
        :raises bookkeeper_twisted.errors.CodecError: the protocol has no such operation.
        """

    def encode_request(request: object) -> bytes:
        """Encode a request that is neither an add, nor a plain read, nor a batch read.

        :param request: a request of a class in :mod:`.messages`, with a header from :meth:`header` of this protocol.
        :raises bookkeeper_twisted.errors.CodecError: the protocol has no such request.
        """

    def scan_replies(data: bytes, at: int, limit: int, items: list[object]) -> int:
        """Decode all complete replies in the bytes ``data`` that a client received, from offset ``at`` on.

        :param limit: size in bytes of the longest frame with its length word.
        :param items: a list to which replies are added in order.
        :returns: offset of the first incomplete frame.
        :raises bookkeeper_twisted.errors.CodecError: a frame is over the limit or is no reply; ``items`` has the
            replies before it.
        """

    # ---- a bookie's side -------------------------------------------------------------------------------

    def scan_requests(data: bytes, at: int, limit: int, items: list[object]) -> tuple[int, bool]:
        """Decode complete requests of this protocol in ``data`` that a bookie received, from offset ``at`` on.

        Similar requests are decoded together.  After ``framing.MOST_ITEMS`` requests that were decoded one by one,
        stop; the caller decodes the rest by another call in a later reactor iteration.

        :param limit: size in bytes of the longest frame with its length word.
        :param items: a list to which the decoded requests are added in order.  An item is a run (several adds or
            reads), a single message, or a RejectedRequest with the error reply to an invalid request.
        :returns: offset of the first frame that is not decoded, and False if this frame is of another protocol, else
            True.
        :raises bookkeeper_twisted.errors.CodecError: a frame is over the limit, or is of no protocol; ``items`` has the
            requests before it.
        """

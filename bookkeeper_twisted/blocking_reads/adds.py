"""Adds of stored entries over blocking connections, to copy them from one bookie to others.

The same bytes are sent to all bookies that receive copies, before the first reply is received.  Adds are sent in
protocol version 2, which every bookie understands, so all these bookies get the same frames.
"""

from collections.abc import Iterable, Sequence

from ..codec.adds import Adds
from ..codec.operations import DEFAULT_MAX_FRAME_SIZE
from ..codec.runs import AddReplies
from ..codec.wires import V2
from ..errors import ERROR_OF_STATUS, BookKeeperError, CodecError, Status
from .connection import Address, IBookieConnection
from .pool import OutstandingRequest, SocketPool

_WIRE = 2
_AT_ONCE = 64 << 10

Load = tuple[Adds, Sequence[Address]]
"""Encoded adds, and the addresses of the bookies to which they are sent."""


def receive_acknowledgements(
    connection: IBookieConnection, adds: Adds, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE
) -> None:
    """Receive a bookie's replies to adds that were sent before, until each add is answered.

    :param adds: the adds that were sent.
    :param max_frame_size: maximum number of bytes of a frame, including its length word.
    :raises bookkeeper_twisted.errors.BookieError: the bookie did not store one of the entries.
    """
    missing = set(zip(adds.ledger_ids, adds.entry_ids, strict=True))
    failure: BookKeeperError | None = None
    rest = b""
    while missing:
        data = rest + connection.receive_some(_AT_ONCE)
        items: list[object] = []
        rest = data[V2.scan_replies(data, 0, max_frame_size, items) :]
        for reply in items:
            if not isinstance(reply, AddReplies):
                raise CodecError("a bookie answered an add with something else")
            answered = list(zip(reply.ledger_ids, reply.entry_ids, strict=True))
            missing.difference_update(answered)
            if reply.status is not Status.EOK and failure is None:
                failure = ERROR_OF_STATUS[reply.status](*answered[0])
    if failure is not None:
        raise failure


class CopyTargets:
    """The bookies to which entries are copied, and which of them have failed.

    :ivar failed: the error of each bookie that has failed, by its address; such a bookie gets no more entries.
    """

    def __init__(self, pool: SocketPool, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self.failed: dict[Address, BookKeeperError] = {}
        self._pool = pool
        self._max_frame_size = max_frame_size

    def write(self, loads: Iterable[Load]) -> None:
        """Send adds to bookies; return when each bookie has acknowledged all of its adds, or has failed.

        A bookie that fails is recorded in :attr:`failed`, and gets no more entries.

        :param loads: pairs of adds and the bookies that get them; all adds are sent before the first reply is received.
        """
        under_way = [
            (address, self._begin(address, adds))
            for adds, targets in loads for address in targets if address not in self.failed
        ]  # fmt: skip
        for address, exchange in under_way:
            try:
                exchange.reply()
            except BookKeeperError as error:
                self.failed[address] = error

    def _begin(self, address: Address, adds: Adds) -> OutstandingRequest[None]:
        # after a lost connection the adds are sent again: a bookie may store the same bytes twice, which changes
        # nothing
        return OutstandingRequest(
            self._pool, address, _WIRE, lambda connection: connection.send(adds.frames),
            lambda connection: receive_acknowledgements(connection, adds, self._max_frame_size),
        )  # fmt: skip

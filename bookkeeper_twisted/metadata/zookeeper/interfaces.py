"""The interface of a connection to ZooKeeper, and the errors of its calls."""

from collections.abc import Callable, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from ...errors import MetadataError, MetadataOutcomeUnknownError, MetadataUnavailableError

Watch = Callable[[bool], None]
"""A function that is called once: with True after the node has changed, with False if the watch was lost."""


class ZooKeeperError(MetadataError):
    """ZooKeeper refuses a call; nothing was changed."""


class NodeMissingError(ZooKeeperError):
    """A node does not exist, or the parent of a node that was to be made."""


class NodeExistsError(ZooKeeperError):
    """The node exists already."""


class NodeVersionError(ZooKeeperError):
    """The node has another version."""


class NodeNotEmptyError(ZooKeeperError):
    """The node has children."""


class NotConnectedError(ZooKeeperError, MetadataUnavailableError):
    """The call was not made, as there is no connection; or the answer to a read was lost."""


class OutcomeUnknownError(ZooKeeperError, MetadataOutcomeUnknownError):
    """The answer was lost: the call may have been executed, or not."""


class SessionState(Enum):
    """The states of the connection.

    After ``SUSPENDED`` the session may go on in a new connection; after ``EXPIRED`` it is over, what it
    had registered is gone, and another one begins by itself; after ``CLOSED`` no other session begins.
    """

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    CLOSED = "closed"


@attrs.frozen
class Stat:
    """The attributes of a node besides its data.

    :ivar czxid: of its creation; never repeats.
    :ivar version: of its data.
    :ivar cversion: number of children that were created or removed.
    :ivar owner: session id if it is ephemeral, else 0.
    :ivar ctime: ms since the epoch.
    """

    czxid: int
    version: int
    cversion: int
    owner: int
    n_children: int
    ctime: int


@attrs.frozen
class NewNode:
    """A node to be created.

    :ivar open: readable and writable by every client, however the connection is secured.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False
    open: bool = False


class IZooKeeper(Interface):
    """A connection to ZooKeeper that reconnects by itself.  Used on the reactor thread only.

    Calls fail with the errors of this module.  They are made as soon as they are asked for, in that
    order, and are not repeated.
    """

    session_id: int = Attribute("Of the current or last session, 0 before the first.")

    def connect(changed: Callable[[SessionState], None]) -> None:
        """Begin to connect; callable only once.

        :param changed: called with every change, after ``session_id`` has changed.
        """

    def close() -> "Deferred[None]":
        """End the session, which removes its ephemeral nodes, once the calls under way have ended."""

    def create(node: NewNode) -> "Deferred[str]":
        """Create a node.

        :returns: the path of the node, for a sequence with its number.
        """

    def create_all(nodes: Sequence[NewNode]) -> "Deferred[None]":
        """Create ``nodes`` atomically: at least one node, none of them sequential."""

    def get(path: str, watch: Watch | None = None) -> "Deferred[tuple[bytes, Stat]]":
        """Read data and state of a node.

        :param watch: called after data or state have changed, or the node was deleted; not if this call fails.
        """

    def exists(path: str, watch: Watch | None = None) -> "Deferred[Stat | None]":
        """Read the state of a node, None if it does not exist.

        :param watch: called after the node was made, changed or deleted.
        """

    def children(path: str, watch: Watch | None = None) -> "Deferred[tuple[list[str], Stat]]":
        """Read the names of the children of a node, in no order, and its state.

        :param watch: called after a child has come or gone, or the node was deleted; not if this call fails.
        """

    def set(path: str, data: bytes, version: int) -> "Deferred[Stat]":
        """Replace the data of a node.

        :param version: of the data that are replaced, -1 for any.
        """

    def delete(path: str, version: int) -> "Deferred[None]":
        """Delete a node without children.

        :param version: of its data, -1 for any.
        """

    def sync(path: str) -> "Deferred[None]":
        """Let the server catch up: reads after this call see all writes made before the call.

        :param path: any node's; the server catches up with all of them.
        """

"""The interface of a connection to ZooKeeper, and the errors of its calls."""

from collections.abc import Callable, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from ...errors import MetadataError, MetadataOutcomeUnknownError, MetadataUnavailableError

Watch = Callable[[bool], None]
"""A function that ZooKeeper calls once: with True after the watched node has changed, with False if the watch was lost.
"""


class ZooKeeperError(MetadataError):
    """ZooKeeper has refused a call; nothing was changed."""


class NodeMissingError(ZooKeeperError):
    """The node does not exist; in a create, its parent does not exist."""


class NodeExistsError(ZooKeeperError):
    """The node exists already."""


class NodeVersionError(ZooKeeperError):
    """The node has another version than the call requires."""


class NodeNotEmptyError(ZooKeeperError):
    """The node has children."""


class NodeForbiddenError(ZooKeeperError):
    """The access control list of the node does not allow the call to this client."""


class NotConnectedError(ZooKeeperError, MetadataUnavailableError):
    """The call was not made, because there was no connection; or the call was a read, and its reply was lost."""


class OutcomeUnknownError(ZooKeeperError, MetadataOutcomeUnknownError):
    """The reply to a call was lost, so the call may or may not have been executed."""


class SessionState(Enum):
    """The states of the connection and of its session.

    After ``SUSPENDED``, the session may continue on a new connection.  After ``EXPIRED``, the session is over, its
    ephemeral nodes are removed, and another session begins by itself.  After ``CLOSED``, no other session begins.
    """

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    CLOSED = "closed"


@attrs.frozen
class Stat:
    """The attributes of a node besides its data.

    :ivar czxid: number of the transaction that created the node; no two nodes have the same number.
    :ivar version: version of the node's data.
    :ivar cversion: number of changes to the list of children: how often a child was created or removed so far.
    :ivar owner: id of the session that owns the node, if the node is ephemeral; otherwise 0.
    :ivar ctime: time of the creation in ms since the epoch.
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

    :ivar open: whether every client may read and write the node, even if connections are authenticated.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False
    open: bool = False


class IZooKeeper(Interface):
    """A connection to ZooKeeper that reconnects by itself, for use on the reactor thread only.

    Calls are sent immediately, in the order in which they are made, and are never repeated.  They fail with the errors
    of this module.
    """

    session_id: int = Attribute("Of the current or last session, 0 before the first.")
    trouble: str = Attribute("Why there is no connection, as far as this is known; empty while there is one.")

    def connect(changed: Callable[[SessionState], None]) -> None:
        """Begin to connect; this can be called only once.

        :param changed: called with every new state of the connection, after ``session_id`` was updated.
        """

    def close() -> "Deferred[None]":
        """End the session after the calls in progress; the server then removes the session's ephemeral nodes."""

    def create(node: NewNode) -> "Deferred[str]":
        """Create a node.

        :returns: the path of the node, including the number that the server appends to the path of a sequential node.
        """

    def create_all(nodes: Sequence[NewNode]) -> "Deferred[None]":
        """Create ``nodes`` atomically: at least one node, none of them sequential."""

    def get(path: str, watch: Watch | None = None) -> "Deferred[tuple[bytes, Stat]]":
        """Read data and state of a node.

        :param watch: called after the data were written or the node was deleted; not called if this call fails.
        """

    def exists(path: str, watch: Watch | None = None) -> "Deferred[Stat | None]":
        """Read the state of a node; None if the node does not exist.

        :param watch: called after the node was created, written or deleted.
        """

    def children(path: str, watch: Watch | None = None) -> "Deferred[tuple[list[str], Stat]]":
        """Read the names of a node's children, in no particular order, and the state of the node.

        :param watch: called after a child was created or removed, or the node was deleted; not called if this call
            fails.
        """

    def set(path: str, data: bytes, version: int) -> "Deferred[Stat]":
        """Replace the data of a node.

        :param version: the version that the data must have; -1 for any.
        """

    def delete(path: str, version: int) -> "Deferred[None]":
        """Delete a node without children.

        :param version: the version that its data must have; -1 for any.
        """

    def sync(path: str) -> "Deferred[None]":
        """Make the server read all earlier writes from the leader, so that reads after this call see them.

        :param path: path of any node; ZooKeeper requires a path, but the call affects all nodes.
        """

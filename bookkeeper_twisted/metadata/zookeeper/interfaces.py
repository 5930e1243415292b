"""One connection to ZooKeeper as the driver sees it, and how its calls fail."""

from collections.abc import Callable, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from ...errors import MetadataError

Watch = Callable[[bool], None]
"""Called once: with True after the node has changed, with False if the watch was lost with the connection."""


class ZooKeeperError(MetadataError):
    """ZooKeeper refuses a call; nothing was changed."""


class NodeMissingError(ZooKeeperError):
    """There is no such node, or no parent for it."""


class NodeExistsError(ZooKeeperError):
    """There is such a node."""


class NodeVersionError(ZooKeeperError):
    """The node has another version."""


class NodeNotEmptyError(ZooKeeperError):
    """The node has children."""


class NotConnectedError(ZooKeeperError):
    """The call was not made: there is no connection."""


class OutcomeUnknownError(ZooKeeperError):
    """The answer was lost: the call may have been executed, or not."""


class Connection(Enum):
    """The state of the connection.

    After ``SUSPENDED`` the session may go on in a new connection; after ``EXPIRED`` it is over, what it
    had registered is gone, and another one begins by itself; after ``CLOSED`` there is none any more.
    """

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    CLOSED = "closed"


@attrs.frozen
class Stat:
    """What ZooKeeper knows of a node besides its data.

    :ivar czxid: of its creation; never repeats.
    :ivar version: of its data.
    :ivar cversion: how often children have come or gone.
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
    """A connection that re-opens itself.  Used on the reactor thread only.

    Calls fail with the errors of this module.  They are made as soon as they are asked for, in that
    order, and are not repeated.
    """

    session_id: int = Attribute("Of the current or last session, 0 before the first.")

    def connect(changed: Callable[[Connection], None]) -> None:
        """Begins to connect, once.

        :param changed: called with every change, after ``session_id`` has changed.
        """

    def close() -> "Deferred[None]":
        """Ends the session after the calls that are under way; what it had registered goes with it."""

    def create(node: NewNode) -> "Deferred[str]":
        """:returns: the path, for a sequence with its number."""

    def create_all(nodes: Sequence[NewNode]) -> "Deferred[None]":
        """Creates all nodes or none."""

    def get(path: str, watch: Watch | None = None) -> "Deferred[tuple[bytes, Stat]]": ...

    def exists(path: str, watch: Watch | None = None) -> "Deferred[Stat | None]": ...

    def children(path: str, watch: Watch | None = None) -> "Deferred[tuple[list[str], Stat]]": ...

    def set(path: str, data: bytes, version: int) -> "Deferred[Stat]":
        """:param version: -1 for any."""

    def delete(path: str, version: int) -> "Deferred[None]":
        """:param version: -1 for any."""

    def sync(path: str) -> "Deferred[None]":
        """Lets the server catch up: what was written before this call is read after it."""

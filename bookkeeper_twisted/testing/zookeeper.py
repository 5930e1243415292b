"""A ZooKeeper server in memory, with nodes, sessions and watches; tests can break the connections to it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred, execute, fail, succeed
from zope.interface import implementer

from ..metadata.zookeeper.interfaces import (
    IZooKeeper,
    NewNode,
    NodeExistsError,
    NodeMissingError,
    NodeNotEmptyError,
    NodeVersionError,
    OutcomeUnknownError,
    SessionState,
    Stat,
    Watch,
)

T = TypeVar("T")


@attrs.define(eq=False)
class Znode:
    """A node of a ZooKeeper server.

    :ivar owner: id of the session that owns an ephemeral node; 0 for other nodes.
    :ivar created: number of children created so far; the name of a sequential child contains it.
    """

    data: bytes
    czxid: int
    owner: int = 0
    version: int = 0
    created: int = 0
    children: dict[str, "Znode"] = attrs.field(factory=dict)

    @property
    def stat(self) -> Stat:
        """Return the attributes of the node that clients can read."""
        n_children = len(self.children)
        return Stat(self.czxid, self.version, 2 * self.created - n_children, self.owner, n_children, self.czxid)


class MemoryZooKeeper:
    """A ZooKeeper server in memory; all connections of a test share it.

    :ivar top: the node ``/``.
    """

    def __init__(self) -> None:
        self.top = Znode(b"", 0)
        self._zxid = 0
        self._sessions = 0
        self._watches: list[tuple[str, str, MemoryConnection, Watch]] = []

    def connection(self) -> "MemoryConnection":
        """Make the connection of a new client."""
        return MemoryConnection(self)

    def new_session(self) -> int:
        """Return the id of a new session."""
        self._sessions += 1
        return self._sessions

    def find(self, path: str) -> Znode:
        """Return the node with a ``path``.

        :raises NodeMissingError: no node has this path.
        """
        node = self.top
        for part in filter(None, path.split("/")):
            if part not in node.children:
                raise NodeMissingError(path)
            node = node.children[part]
        return node

    def dump(self, path: str = "") -> Iterator[tuple[str, Znode]]:
        """Yield the node at ``path`` and all nodes below it, each with its path, ordered by name."""
        node = self.find(path)
        yield path, node
        for name in sorted(node.children):
            yield from self.dump(f"{path}/{name}")

    def create(self, new: NewNode, session_id: int) -> str:
        """Create a node and return its path; a number is appended to the path of a sequential node."""
        above, _, name = new.path.rpartition("/")
        parent = self.find(above)
        if new.sequence:
            name += f"{parent.created:010d}"
        if name in parent.children:
            raise NodeExistsError(new.path)
        self._zxid += 1
        parent.created += 1
        parent.children[name] = Znode(new.data, self._zxid, session_id if new.ephemeral else 0)
        self._changed(f"{above}/{name}", "data")
        self._changed(above, "children")
        return f"{above}/{name}"

    def set(self, path: str, data: bytes, version: int) -> Stat:
        """Replace the data of a node if it has the version ``version``, or if ``version`` is -1."""
        node = self.find(path)
        _check_version(path, node, version)
        node.data, node.version = data, node.version + 1
        self._changed(path, "data")
        return node.stat

    def delete(self, path: str, version: int) -> None:
        """Delete a node if it has the version ``version``, or if ``version`` is -1."""
        node = self.find(path)
        _check_version(path, node, version)
        if node.children:
            raise NodeNotEmptyError(path)
        above, _, name = path.rpartition("/")
        del self.find(above).children[name]
        self._changed(path, "data", "children")
        self._changed(above, "children")

    def end_session(self, session_id: int) -> None:
        """End a session: delete its ephemeral nodes."""
        for path in [path for path, node in self.dump() if session_id and node.owner == session_id]:
            self.delete(path, -1)

    # -- watches --

    def watch(self, kind: str, path: str, connection: "MemoryConnection", watch: Watch | None) -> None:
        """Set a watch of ``kind`` at ``path``; do nothing if the connection has set the same watch already."""
        if watch is not None and (kind, path, connection, watch) not in self._watches:
            self._watches.append((kind, path, connection, watch))

    def lose_watches(self, connection: "MemoryConnection") -> None:
        """Remove the watches of a connection; call each of them, to report that the watch is lost."""
        self._fire(False, lambda kind, path, owner: owner is connection)

    def _changed(self, path: str, *kinds: str) -> None:
        self._fire(True, lambda kind, watched, owner: watched == path and kind in kinds)

    def _fire(self, news: bool, chosen: Callable[[str, str, Any], bool]) -> None:
        fired = [entry for entry in self._watches if chosen(*entry[:3])]
        self._watches = [entry for entry in self._watches if entry not in fired]
        for *_, watch in fired:
            watch(news)


@implementer(IZooKeeper)
class MemoryConnection:
    """The connection of one client to a :class:`MemoryZooKeeper`; calls are answered immediately.

    :ivar calls: names of the methods that were called so far.
    :ivar trouble: why there is no connection; a test sets it.
    """

    def __init__(self, server: MemoryZooKeeper) -> None:
        self.session_id = 0
        self.calls: list[str] = []
        self.trouble = ""
        self._server = server
        self._changed: Callable[[SessionState], None] = lambda connection: None
        self._connected = False
        self._losses: dict[int, tuple[bool, bool]] = {}

    # -- events that a test triggers --

    def lose(self, is_executed: bool, after: int = 0, expires: bool = False) -> None:
        """Break the connection during a later call, so that the client does not know its result; then connect again.

        :param is_executed: whether the server executes the call.
        :param after: number of calls that still get their answers before the broken call.
        :param expires: whether the session ends, too.
        """
        self._losses[len(self.calls) + after] = is_executed, expires

    def suspend(self) -> None:
        """Break the connection; the session stays."""
        self._connected = False
        self._changed(SessionState.SUSPENDED)
        self._server.lose_watches(self)

    def resume(self) -> None:
        """Connect again, after :meth:`suspend` or :meth:`expire`."""
        self._connected = True
        self._changed(SessionState.CONNECTED)

    def expire(self) -> None:
        """Break the connection and end the session; :meth:`resume` connects with a new session."""
        self._connected = False
        self._server.end_session(self.session_id)
        self._changed(SessionState.EXPIRED)
        self._server.lose_watches(self)
        self.session_id = self._server.new_session()

    def refuse(self) -> None:
        """Close the connection for ever, like a server that refuses the credentials of its client."""
        self._connected = False
        self._changed(SessionState.CLOSED)

    # -- IZooKeeper --

    def connect(self, changed: Callable[[SessionState], None]) -> None:
        self._changed = changed
        self.session_id = self._server.new_session()
        self.resume()

    def close(self) -> "Deferred[None]":
        self._connected = False
        self._server.end_session(self.session_id)
        return succeed(None)

    def create(self, node: NewNode) -> "Deferred[str]":
        return self._call("create", self._server.create, node, self.session_id)

    def create_all(self, nodes: Sequence[NewNode]) -> "Deferred[None]":
        return self._call("create_all", self._create_all, nodes)

    def _create_all(self, nodes: Sequence[NewNode]) -> None:
        done: list[str] = []
        try:
            for node in nodes:
                done.append(self._server.create(node, self.session_id))
        except Exception:
            for path in reversed(done):
                self._server.delete(path, -1)
            raise

    def get(self, path: str, watch: Watch | None = None) -> "Deferred[tuple[bytes, Stat]]":
        def get() -> tuple[bytes, Stat]:
            node = self._server.find(path)
            self._server.watch("data", path, self, watch)
            return node.data, node.stat

        return self._call("get", get)

    def exists(self, path: str, watch: Watch | None = None) -> "Deferred[Stat | None]":
        def exists() -> Stat | None:
            self._server.watch("data", path, self, watch)
            try:
                return self._server.find(path).stat
            except NodeMissingError:
                return None

        return self._call("exists", exists)

    def children(self, path: str, watch: Watch | None = None) -> "Deferred[tuple[list[str], Stat]]":
        def children() -> tuple[list[str], Stat]:
            node = self._server.find(path)
            self._server.watch("children", path, self, watch)
            return sorted(node.children, reverse=True), node.stat

        return self._call("children", children)

    def set(self, path: str, data: bytes, version: int) -> "Deferred[Stat]":
        return self._call("set", self._server.set, path, data, version)

    def delete(self, path: str, version: int) -> "Deferred[None]":
        return self._call("delete", self._server.delete, path, version)

    def sync(self, path: str) -> "Deferred[None]":
        return self._call("sync", lambda: None)

    def _call(self, name: str, method: Callable[..., T], *args: object) -> "Deferred[T]":
        loss = self._losses.pop(len(self.calls), None)
        self.calls.append(name)
        if not self._connected:
            return fail(OutcomeUnknownError(f"{name}: not connected"))
        if loss is None:
            return execute(method, *args)
        is_executed, expires = loss
        if is_executed:
            execute(method, *args).addErrback(lambda failure: None)
        if expires:
            self.expire()
        else:
            self.suspend()
        self.resume()
        return fail(OutcomeUnknownError(f"{name}: the answer was lost"))


def _check_version(path: str, node: Znode, version: int) -> None:
    if version not in (-1, node.version):
        raise NodeVersionError(f"{path} has version {node.version}, not {version}")

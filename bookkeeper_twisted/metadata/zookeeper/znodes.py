"""Reads and writes of the ZooKeeper nodes below a cluster's root, which are repeated if a reply is lost.

If a repeated write fails because the node exists, is missing or has another version, the first write may be the cause.
Therefore the node is read, after a sync with the leader; its data and version show whether the first write was
executed.
"""

from collections.abc import Callable, Sequence

from .interfaces import NewNode, NodeExistsError, NodeMissingError, NodeVersionError, Stat, Watch, ZooKeeperError
from .session import Session

ANY = -1
_RACES = 16
"""Maximum number of attempts to create a node while other clients remove its parents."""

IsMine = Callable[[bytes, Stat], bool]


class Znodes:
    """The tree of nodes below the root of one cluster.

    :ivar root: path of the root without a final slash; methods that create missing parents do not create the root.
    """

    def __init__(self, session: Session, root: str) -> None:
        self.session = session
        self.root = root
        self._zk = session.zookeeper

    def path(self, *parts: str) -> str:
        """Return the absolute path of a node below the root.

        :param parts: the parts of the path after the root, without slashes at their ends.
        """
        return "/".join((self.root, *parts))

    # -- reads --

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]:
        """Read data and state of a node.

        :param watch: called after the data were written or the node was deleted; not called if this call fails.
        :raises NodeMissingError: the node does not exist.
        """
        return await self.session.run(f"read {path}", lambda: self._zk.get(path, watch), reads=True)

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """Read the state of a node; None if the node does not exist.

        :param path: the absolute path, as in all methods.
        :param watch: called after the node was created, written or deleted.
        """
        return await self.session.run(f"look for {path}", lambda: self._zk.exists(path, watch), reads=True)

    async def children(self, path: str, watch: Watch | None = None) -> tuple[list[str], Stat]:
        """Read the names of a node's children, in no particular order, and the state of the node.

        :param watch: called after a child was created or removed, or the node was deleted; not called if this call
            fails.
        :raises NodeMissingError: the node does not exist.
        """
        return await self.session.run(f"list {path}", lambda: self._zk.children(path, watch), reads=True)

    async def sync(self, path: str) -> None:
        """Wait until the connected server has received all earlier writes from the leader.

        :param path: path of any node; ZooKeeper requires a path, but the call affects all nodes.
        """
        await self.session.run(f"sync {path}", lambda: self._zk.sync(path), reads=True)

    async def fresh_children(self, path: str) -> list[str]:
        """Read the names of the children of ``path``, including all changes made before this call.

        :raises NodeMissingError: the node does not exist.
        """
        await self.sync(path)
        return (await self.children(path))[0]

    # -- writes --

    async def create(self, node: NewNode, is_mine: IsMine) -> Stat | None:
        """Create one node.

        :param is_mine: tests by data and state whether this client created the node; called if the reply to a create
            was lost and a repeated create finds the node.
        :returns: the state of the node if ``is_mine`` has found that an earlier attempt created it; otherwise None.
        :raises NodeExistsError: another client has created the node.
        :raises NodeMissingError: the parent of the node does not exist.
        """

        async def call() -> Stat | None:
            await self._zk.create(node)
            return None

        async def resolve(error: ZooKeeperError) -> Stat | None:
            if isinstance(error, NodeExistsError):
                # The leader has the node, but the connected server may lag behind: wait until it has the node, too.
                await self.sync(node.path)
                data, stat = await self.get(node.path)
                if is_mine(data, stat):
                    return stat
            raise error

        return await self.session.run(f"create {node.path}", call, resolve)

    async def create_below(self, node: NewNode, is_mine: IsMine) -> Stat | None:
        """Create a node; first create its missing parents below the root, as empty persistent nodes.

        :param is_mine: tests by data and state whether this client created the node; called if the reply to a create
            was lost and a repeated create finds the node.
        :raises NodeMissingError: the root does not exist, or other clients removed the parents at every attempt.
        """
        for _ in range(_RACES):
            try:
                return await self.create(node, is_mine)
            except NodeMissingError as error:
                missing = error
            await self.ensure(node.path.rpartition("/")[0], node.open)
        raise missing

    async def ensure(self, path: str, open: bool = False) -> None:
        """Create an empty persistent node and its missing parents below the root, unless the node exists.

        :param open: whether the ACL of the created nodes lets every client read and write, even if the ACL of other
            nodes admits only authenticated clients.
        :raises NodeMissingError: the root does not exist.
        """
        if path == self.root:
            if await self.exists(path) is None:
                raise NodeMissingError(f"{path} does not exist")
            return
        try:
            await self.create_below(NewNode(path, open=open), lambda data, stat: True)
        except NodeExistsError:
            pass  # it does not matter which client created the node

    async def create_sequence(self, node: NewNode) -> str:
        """Create an ephemeral sequential node; if the reply is lost, a second node may exist until the session ends.

        :param node: the node; ZooKeeper appends ten digits to its path.
        :returns: the appended digits.
        :raises NodeMissingError: the parent of the node does not exist.
        """
        path = await self.session.run(f"create {node.path}", lambda: self._zk.create(node))
        return path[len(node.path) :]

    async def create_all(self, nodes: Sequence[NewNode], is_mine: IsMine) -> None:
        """Create all nodes atomically.

        :param is_mine: tests by data and state whether this client created the last node; called if the reply to a
            create was lost and a repeated create finds the nodes.
        :raises NodeExistsError: one of the nodes exists.
        :raises NodeMissingError: the parent of the first node does not exist.
        """

        async def resolve(error: ZooKeeperError) -> None:
            await self.sync(nodes[-1].path)
            if not isinstance(error, NodeExistsError) or not is_mine(*await self.get(nodes[-1].path)):
                raise error

        await self.session.run(f"create {nodes[0].path}", lambda: self._zk.create_all(nodes), resolve)

    async def set(self, path: str, data: bytes, version: int) -> int:
        """Replace the data of a node if they still have the version ``version`` (compare-and-set).

        :param version: the version of the data that the caller has read.
        :returns: the new version.
        :raises NodeVersionError: the node has another version.
        :raises NodeMissingError: the node does not exist.
        """

        async def call() -> int:
            return (await self._zk.set(path, data, version)).version

        async def resolve(error: ZooKeeperError) -> int:
            if isinstance(error, NodeVersionError):
                await self.sync(path)
                stored, stat = await self.get(path)
                if stored == data and stat.version == version + 1:
                    return stat.version
            raise error

        return await self.session.run(f"write {path}", call, resolve)

    async def delete(self, path: str, version: int = ANY) -> None:
        """Delete a node without children.

        :param version: the version that the node's data must have; :data:`ANY` for any.
        :raises NodeMissingError: the node does not exist.
        :raises NodeVersionError: the node has another version.
        :raises NodeNotEmptyError: the node has children.
        """

        async def resolve(error: ZooKeeperError) -> None:
            if not isinstance(error, NodeMissingError):
                raise error

        await self.session.run(f"delete {path}", lambda: self._zk.delete(path, version), resolve)

    async def delete_tree(self, path: str) -> None:
        """Delete the node ``path`` and all nodes below it; do nothing if the node does not exist."""
        try:
            names, _ = await self.children(path)
            for name in names:
                await self.delete_tree(f"{path}/{name}")
            await self.delete(path)
        except NodeMissingError:
            pass

"""Creation and removal of a cluster on ZooKeeper: its root, its layout node, and its instance id."""

from collections.abc import Callable

from zope.interface import implementer

from ...codec.metadata_formats import Layout
from ...errors import CodecError, MetadataError, MetadataSerializationError, NotInitializedError
from ..interfaces import IClusterAdmin
from .cookies import COOKIES
from .interfaces import NewNode, NodeExistsError, NodeMissingError
from .ledgers.layouts import LedgerTree, new_layout, tree_of
from .session import Session
from .watches.bookie_sets import AVAILABLE, READ_ONLY, BookieSet
from .znodes import Znodes

LAYOUT = "LAYOUT"
INSTANCE_ID = "INSTANCEID"
UNDERREPLICATION = "underreplication"
_ID_NODES = ("idgen", "idgen-long")
_ID_PREFIX = "ID-"
_OWN = frozenset({AVAILABLE, COOKIES, LAYOUT, INSTANCE_ID, UNDERREPLICATION, *_ID_NODES})
"""The names of the nodes that may be direct children of a cluster's root, in addition to nodes of ledgers."""


async def read_instance_id(znodes: Znodes) -> str:
    """Read the instance id of the cluster; return an empty string for an old cluster without an instance id.

    :param znodes: the nodes below the root of the cluster.
    :raises NotInitializedError: the store holds no cluster.
    """
    path = znodes.path(INSTANCE_ID)
    try:
        data, _ = await znodes.get(path)
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise MetadataSerializationError(f"{path}: not an instance id") from error
    except NodeMissingError:
        if await znodes.exists(znodes.root) is None:
            raise _no_cluster(znodes) from None
        return ""


async def ensure_layout(znodes: Znodes, factory: str | None) -> LedgerTree:
    """Read the layout of the cluster, which defines the paths of ledger nodes; store a layout if there is none.

    :param factory: Java class of the layout that the URI asks for; None accepts any stored layout.
    :returns: the tree of ledger nodes that the layout defines.
    :raises MetadataError: the stored layout is not the layout of the URI, or this program does not support it; or
        another client has stored another layout at the same time.
    :raises NotInitializedError: the store holds no cluster.
    """
    wanted = new_layout(factory)
    path = znodes.path(LAYOUT)
    try:
        data, _ = await znodes.get(path)
    except NodeMissingError:
        data = wanted.encode()
        try:
            await znodes.create(NewNode(path, data), lambda found, stat: found == data)
        except NodeMissingError as error:
            raise _no_cluster(znodes) from error
        except NodeExistsError:
            if (await znodes.get(path))[0] != data:
                raise MetadataError(f"{path}: another process stored another layout") from None
    try:
        layout = Layout.parse(data)
    except CodecError as error:
        raise MetadataSerializationError(f"{path}: {error}") from error
    return tree_of(layout, factory, lambda text: MetadataError(f"{path}: {text}"))


def _no_cluster(znodes: Znodes) -> NotInitializedError:
    return NotInitializedError(f"{znodes.session.uri}: there is no cluster at {znodes.root}")


@implementer(IClusterAdmin)
class ZooKeeperAdmin:
    """The administrator of a cluster on ZooKeeper, with a ZooKeeper session of its own.

    :param factory: Java class of the layout that the URI asks for; None for the default layout.
    :param new_id: a function that makes a new instance id.
    """

    def __init__(self, session: Session, root: str, factory: str | None, new_id: Callable[[], str]) -> None:
        self.uri = session.uri
        self._session = session
        self._znodes = Znodes(session, root)
        self._factory = factory
        self._new_id = new_id

    async def open(self) -> None:
        await self._session.open()

    async def close(self) -> None:
        await self._session.close()

    async def exists(self) -> bool:
        return await self._znodes.exists(self._znodes.root) is not None

    async def instance_id(self) -> str:
        return await read_instance_id(self._znodes)

    async def initialize(self) -> bool:
        """Make a new cluster.

        The parent node of the cluster's root must exist; this check finds most mistyped paths.
        """
        path, instance_id = self._znodes.path, self._new_id().encode("ascii")
        nodes = [
            NewNode(self._znodes.root), NewNode(path(AVAILABLE)), NewNode(path(AVAILABLE, READ_ONLY)),
            NewNode(path(INSTANCE_ID), instance_id),
        ]  # fmt: skip
        try:
            if await self.exists():
                return False
            await self._znodes.create_all(nodes, lambda data, stat: data == instance_id)
        except NodeExistsError:
            return False
        except NodeMissingError as error:
            raise MetadataError(f"{self.uri}: the parent of {self._znodes.root} does not exist") from error
        await ensure_layout(self._znodes, self._factory)
        return True

    async def format(self) -> None:
        """Format the cluster, and store the layout that the URI asks for, or else the default layout."""
        await self._make_root()
        path = self._znodes.path
        await self._znodes.ensure(path(AVAILABLE, READ_ONLY))
        await self._remove_ledgers(await ensure_layout(self._znodes, None))
        for name in (LAYOUT, f"{UNDERREPLICATION}/ledgers", f"{UNDERREPLICATION}/locks", COOKIES, INSTANCE_ID):
            await self._znodes.delete_tree(path(name))
        await ensure_layout(self._znodes, self._factory)
        instance_id = self._new_id().encode("ascii")
        await self._znodes.create(NewNode(path(INSTANCE_ID), instance_id), lambda data, stat: data == instance_id)

    async def nuke(self, instance_id: str | None) -> None:
        found = await self.instance_id()
        if instance_id not in (None, found):
            raise MetadataError(f"the cluster has the instance id {found}, not {instance_id}")
        registered = await BookieSet(self._znodes, False).read() | await BookieSet(self._znodes, True).read()
        if registered:
            raise MetadataError(f"bookies are registered: {', '.join(sorted(registered))}")
        tree = await ensure_layout(self._znodes, None)
        names = await self._znodes.fresh_children(self._znodes.root)
        foreign = sorted(n for n in names if n not in _OWN and not n.startswith(_ID_PREFIX) and not tree.is_top(n))
        if foreign:
            raise MetadataError(f"not of a cluster, below {self._znodes.root}: {', '.join(foreign)}")
        await self._znodes.delete_tree(self._znodes.root)

    async def _make_root(self) -> None:
        """Create the root and its parents if they are missing."""
        above = Znodes(self._session, "")
        parts = self._znodes.root.split("/")[1:]
        for depth in range(len(parts)):
            try:
                await above.create(NewNode(above.path(*parts[: depth + 1])), lambda data, stat: True)
            except NodeExistsError:
                pass

    async def _remove_ledgers(self, tree: LedgerTree) -> None:
        for name in await self._znodes.fresh_children(self._znodes.root):
            if name in _ID_NODES or name.startswith(_ID_PREFIX) or tree.is_top(name):
                await self._znodes.delete_tree(self._znodes.path(name))

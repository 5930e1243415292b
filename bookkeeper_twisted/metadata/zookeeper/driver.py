"""The metadata driver for clusters on ZooKeeper."""

from collections.abc import Callable, Mapping

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ..interfaces import IMetadataDriver, IRackStore, IStoreConnection, MetadataOptions
from .auditing import ZooKeeperAuditing
from .cluster import ensure_layout
from .interfaces import IZooKeeper, NewNode, NodeExistsError, NodeMissingError
from .ledgers.ledgers import ZooKeeperLedgers
from .racks import RackReader, racks_path
from .registration import ZooKeeperRegistration
from .session import Session
from .underreplication import ZooKeeperUnderreplication
from .uris import ZooKeeperUri
from .watches.bookie_sets import AVAILABLE, READ_ONLY
from .watches.node_watch import NodeWatches
from .znodes import Znodes


@implementer(IMetadataDriver, IRackStore, IStoreConnection)
class ZooKeeperDriver:
    """The metadata driver for one cluster on ZooKeeper.

    :param zookeeper: the connection to ZooKeeper, which only this driver connects and closes.
    """

    def __init__(
        self, clock: IReactorTime, uri: str, target: ZooKeeperUri, zookeeper: IZooKeeper, options: MetadataOptions
    ) -> None:
        self.uri = uri
        self._session = Session(clock, uri, zookeeper, options)
        self._znodes = Znodes(self._session, target.root)
        self._target = target
        self.registration = ZooKeeperRegistration(self._znodes)
        self.ledgers = ZooKeeperLedgers(self._znodes)
        self.underreplication = ZooKeeperUnderreplication(self._znodes)
        self.auditing = ZooKeeperAuditing(self._znodes, target.of_pulsar)
        self._racks = NodeWatches(self._znodes)

    async def open(self) -> None:
        """Connect, and read the layout of the cluster's ledgers; if this fails, close the driver.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """
        await self._session.open()
        try:
            self.ledgers.tree = await ensure_layout(self._znodes, self._target.factory)
            await self._ensure_read_only()
        except BaseException:
            await self.close()
            raise

    async def _ensure_read_only(self) -> None:
        """Create the parent node of read-only bookies if it is missing, because Java's bookies need it.

        Also create the parent node of all registrations, which Pulsar's tools do not make for a new cluster.
        """
        if self._target.of_pulsar:
            await self._znodes.ensure(self._znodes.path(AVAILABLE, READ_ONLY))
            return
        try:
            await self._znodes.create(NewNode(self._znodes.path(AVAILABLE, READ_ONLY)), lambda data, stat: True)
        except (NodeExistsError, NodeMissingError):
            pass

    def watch_racks(self, listener: Callable[[Mapping[str, str]], None]) -> Callable[[], None]:
        path = racks_path(self._target.root)
        return self._racks.watch(path, lambda data: data, RackReader(path, listener))

    def outage(self) -> str:
        return self._session.outage()

    def unsettled(self) -> float:
        return self._session.unsettled()

    async def close(self) -> None:
        self._racks.stop()
        self.registration.stop()
        self.ledgers.stop()
        self.underreplication.stop()
        self.auditing.stop()
        await self._session.close()

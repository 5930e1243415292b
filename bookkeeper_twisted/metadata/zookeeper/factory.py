"""The plugin that makes metadata drivers for ZooKeeper; it imports kazoo only when a driver is made."""

from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from ...errors import MetadataError
from ...masking import without_credentials
from ..interfaces import DEFAULT_OPTIONS, IClusterAdmin, IMetadataDriver, IMetadataDriverFactory, MetadataOptions


@implementer(IPlugin, IMetadataDriverFactory)
class ZooKeeperDriverFactory:
    """A factory of drivers for URIs such as ``zk+hierarchical://host:port;host:port/root``, and for Pulsar's URIs."""

    schemes = frozenset({"zk"})

    def create(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IMetadataDriver:
        from .driver import ZooKeeperDriver
        from .uris import ZooKeeperUri

        target = ZooKeeperUri.parse(uri)
        if target.of_pulsar and options.secure:
            raise MetadataError(
                f"{without_credentials(uri)}: zkEnableSecurity has to be false, as Pulsar's metadata driver leaves its "
                "nodes open to all clients and could not use the nodes of this process"
            )
        return ZooKeeperDriver(reactor, uri, target, _zookeeper(reactor, target.hosts, options), options)

    def create_admin(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IClusterAdmin:
        from uuid import uuid4

        from .cluster import ZooKeeperAdmin
        from .session import Session
        from .uris import ZooKeeperUri

        target = ZooKeeperUri.parse(uri)
        session = Session(reactor, uri, _zookeeper(reactor, target.hosts, options), options)
        return ZooKeeperAdmin(session, target.root, target.factory, lambda: str(uuid4()))


def _zookeeper(reactor: Any, hosts: str, options: MetadataOptions) -> Any:
    try:
        from .kazoo_client import KazooZooKeeper
    except ImportError as error:
        raise MetadataError("ZooKeeper needs kazoo: pip install 'bookkeeper-twisted[zookeeper]'") from error
    return KazooZooKeeper(reactor, hosts, options)

"""Metadata drivers: ``memory:`` and ``sqlite:``, which need no server, ``zk:``, and Pulsar's ``metadata-store:``."""

from bookkeeper_twisted.metadata.factories import MemoryDriverFactory, PulsarStoreFactory, SqliteDriverFactory
from bookkeeper_twisted.metadata.zookeeper.factory import ZooKeeperDriverFactory

memory = MemoryDriverFactory()
sqlite = SqliteDriverFactory()
zookeeper = ZooKeeperDriverFactory()
pulsar = PulsarStoreFactory({"zk": zookeeper})

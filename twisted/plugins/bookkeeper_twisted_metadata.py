"""The metadata drivers by scheme: ``memory:`` and ``sqlite:`` need no server; ``zk:``; Pulsar's ``metadata-store:``."""

from bookkeeper_twisted.metadata.factories import MemoryDriverFactory, PulsarStoreFactory, SqliteDriverFactory
from bookkeeper_twisted.metadata.zookeeper.factory import ZooKeeperDriverFactory

memory = MemoryDriverFactory()
sqlite = SqliteDriverFactory()
zookeeper = ZooKeeperDriverFactory()
pulsar = PulsarStoreFactory({"zk": zookeeper})

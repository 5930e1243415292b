"""Metadata drivers: ``memory:`` and ``sqlite:``, which need no server, and ``zk:``."""

from bookkeeper_twisted.metadata.factories import MemoryDriverFactory, SqliteDriverFactory
from bookkeeper_twisted.metadata.zookeeper.factory import ZooKeeperDriverFactory

memory = MemoryDriverFactory()
sqlite = SqliteDriverFactory()
zookeeper = ZooKeeperDriverFactory()

"""Plugins that make the embedded drivers, and the plugin for the URIs of Pulsar's metadata stores.

The code of a driver is imported only when the first driver of its kind is made.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from ..errors import InvalidMetadataUriError
from .interfaces import DEFAULT_OPTIONS, IClusterAdmin, IMetadataDriver, IMetadataDriverFactory, MetadataOptions

if TYPE_CHECKING:
    from .embedded.memory import MemoryStore


@implementer(IPlugin, IMetadataDriverFactory)
class MemoryDriverFactory:
    """A factory of drivers in memory: drivers for ``memory:NAME`` share a store; a ``memory:`` driver has its own."""

    schemes = frozenset({"memory"})

    def __init__(self) -> None:
        self._named: dict[str, MemoryStore] = {}

    def create(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IMetadataDriver:
        return self._store(uri).driver(reactor, uri)

    def create_admin(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IClusterAdmin:
        return self._store(uri).admin(reactor, uri)

    def _store(self, uri: str) -> "MemoryStore":
        from .embedded.memory import MemoryStore

        name = uri.partition(":")[2]
        return self._named.setdefault(name, MemoryStore(f"memory-{name}")) if name else MemoryStore()


@implementer(IPlugin, IMetadataDriverFactory)
class SqliteDriverFactory:
    """A factory of drivers for ``sqlite:///relative/path`` and ``sqlite:////absolute/path``."""

    schemes = frozenset({"sqlite"})

    def create(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IMetadataDriver:
        from .embedded.interfaces import Creation
        from .embedded.sqlite import sqlite_driver
        from .embedded.workers import ThreadWorker

        creation = Creation.UNTIL_USED if options.create else Creation.NEVER
        worker = ThreadWorker(reactor, "sqlite-metadata")
        return sqlite_driver(reactor, uri, worker, creation, options.operation_timeout)

    def create_admin(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IClusterAdmin:
        from .embedded.interfaces import Creation
        from .embedded.sqlite import sqlite_admin
        from .embedded.workers import ThreadWorker

        creation = Creation.ALWAYS if options.create else Creation.NEVER
        return sqlite_admin(reactor, uri, ThreadWorker(reactor, "sqlite-metadata"), creation, options.operation_timeout)


@implementer(IPlugin, IMetadataDriverFactory)
class PulsarStoreFactory:
    """A factory for Pulsar's URIs, for example ``metadata-store:zk:host:2181/ledgers``.

    The word after ``metadata-store:`` is the name of a kind of store.  The whole URI is passed to the factory for this
    kind.

    :param stores: the factories, by the name of the kind of store.
    """

    schemes = frozenset({"metadata-store"})

    def __init__(self, stores: Mapping[str, IMetadataDriverFactory]) -> None:
        self._stores = stores

    def create(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IMetadataDriver:
        return self._factory(uri).create(reactor, uri, options)

    def create_admin(self, reactor: Any, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IClusterAdmin:
        return self._factory(uri).create_admin(reactor, uri, options)

    def _factory(self, uri: str) -> IMetadataDriverFactory:
        name = uri.partition(":")[2].partition(":")[0].lower()
        if name not in self._stores:
            known = ", ".join(f"metadata-store:{name}:" for name in sorted(self._stores))
            raise InvalidMetadataUriError(f"{uri!r}: no driver for the metadata store {name!r}; known: {known}")
        return self._stores[name]

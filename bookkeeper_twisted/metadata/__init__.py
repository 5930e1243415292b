"""Metadata of a cluster: which bookies are alive, which ledgers exist, and which bookies keep their entries.

Theory of operation.  The scheme of a metadata service URI selects a *driver* among Twisted plugins (``memory:``,
``sqlite:///path``, ``zk+hierarchical://hosts/root``).  The *registration* part of a driver registers bookies until
their session ends, lists and watches the registered bookies, and stores cookies and the instance id.  The *ledger
manager* of a driver generates ledger ids, changes metadata by compare-and-set, and lists ledgers in ascending order.

Each stored value has a version.  A write names the version that was read, and fails with
:class:`~bookkeeper_twisted.errors.MetadataVersionError` if another client has written since.  A listing of ledgers that
cannot be complete raises an error, because bookies delete the entries of ledgers that a listing lacks.  All drivers
pass the suite in :mod:`bookkeeper_twisted.testing.contracts.metadata.metadata_contract`.

The same plugins make an :class:`~.interfaces.IClusterAdmin`, which creates, formats and removes clusters.

``memory:`` and ``sqlite:`` share one driver class, :class:`~.embedded.driver.EmbeddedDriver`.  It uses a blocking
*store*: dicts (:mod:`.embedded.memory`) or a SQLite file (:mod:`.embedded.sqlite_store`).  A *worker* calls the SQLite
store on its own thread, so that the reactor never waits for a disk.  The driver for ZooKeeper is in :mod:`.zookeeper`.
"""

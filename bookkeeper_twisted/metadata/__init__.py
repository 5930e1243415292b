"""Metadata of a cluster: which bookies are alive, which ledgers exist, and which bookies keep their entries.

Theory of operation.  The scheme of a metadata service URI selects a *driver* among Twisted plugins (``memory:``,
``sqlite:///path``, ``zk+hierarchical://hosts/root``).  A driver has a *registration* side: bookies register for the
life of a session, clients list and watch bookies, and the store keeps cookies and the instance id.  Its *ledger
manager* draws ledger ids, changes metadata by compare-and-set, and lists ledgers in ascending order.

Each stored value has a version.  A write names the version that was read, and fails with
:class:`~bookkeeper_twisted.errors.MetadataVersionError` if another client has written since.  A listing is complete or
raises an error; it never ends early (safety rule S8).  All drivers pass the suite in
:mod:`bookkeeper_twisted.testing.contracts.metadata.metadata_contract`.

The same plugins provide :class:`~.interfaces.IClusterAdmin`, which creates, formats and removes clusters.

Both embedded drivers are an :class:`~.embedded.driver.EmbeddedDriver` over a blocking *store*: dicts
(:mod:`.embedded.memory`) or a SQLite file (:mod:`.embedded.sqlite_store`).  A *worker* calls the store, for SQLite on a
thread of its own, so that the reactor never waits for a disk.  The driver for ZooKeeper is in :mod:`.zookeeper`.
"""

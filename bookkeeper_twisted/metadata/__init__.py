"""Metadata of a cluster: which bookies are alive, which ledgers exist, and which bookies keep their entries.

Theory of operation.  A *driver* is found by the scheme of a metadata service URI among Twisted
plugins (``memory:``, ``sqlite:///path``, ``zk+hierarchical://hosts/root``).  It gives a *registration* side
(bookies announce themselves for the life of a session; clients list and watch them; cookies; the
instance id) and a *ledger manager* (ids, metadata with compare-and-set, ordered listing).

Everything a value can be changed by carries a version; a write names the version it read, and a lost
race is :class:`~bookkeeper_twisted.errors.MetadataVersionError`.  A listing is complete or raises;
it never ends early (S8).  All providers pass the suite in
:mod:`bookkeeper_twisted.testing.contracts.metadata.metadata_contract`.

Clusters are made and unmade through :class:`~.interfaces.IClusterAdmin`, which the same plugins give.

The embedded drivers are one :class:`~.embedded.driver.EmbeddedDriver` over two blocking *stores*: dicts
(:mod:`.embedded.memory`) and a SQLite file (:mod:`.embedded.sqlite_store`), called through a *worker* (inline, or one
own thread) so that the reactor never waits for a disk.  ZooKeeper has a package of its own (:mod:`.zookeeper`).
"""

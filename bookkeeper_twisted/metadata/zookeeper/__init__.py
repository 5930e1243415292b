"""The metadata of a cluster on ZooKeeper, in the same nodes as Apache BookKeeper's.

Theory of operation.  :class:`~.interfaces.IZooKeeper` is the interface of one connection to ZooKeeper.
:mod:`.kazoo_client` implements it with the library kazoo; tests use an implementation in memory.  A call whose reply is
lost fails with :class:`~.interfaces.OutcomeUnknownError`.  A :class:`~.session.Session` repeats such a call, a limited
number of times.  If the repeated call fails because the node exists, is missing or has another version,
:class:`~.znodes.Znodes` finds out whether the first call caused this.  For a create, it compares the data of the node;
for a compare-and-set, data and version.  A node that is missing at a repeated removal was removed by the first call.

Each part of the tree of nodes has its module or package: :mod:`.cluster` (creates and removes the whole tree),
:mod:`.ledgers`, :mod:`.registration`, :mod:`.cookies`, :mod:`.underreplication`, and :mod:`.auditing` with
:mod:`.election`.  :mod:`.uris` parses URIs.

kazoo loses its watches when the connection breaks, so :mod:`.watches` reads the watched nodes again.  In each new
session, the driver registers its bookies again, as writable or read-only as before.
"""

"""The metadata of a cluster on ZooKeeper, in the same nodes as Apache BookKeeper's.

Theory of operation.  :class:`~.interfaces.IZooKeeper` is the interface of one connection to ZooKeeper.
:mod:`.kazoo_client` implements it with the library kazoo; tests use an implementation in memory.  A call whose reply is
lost fails with :class:`~.interfaces.OutcomeUnknownError`.  A :class:`~.session.Session` repeats such a call, a limited
number of times.  If the first call was executed, the repeated call fails.  :class:`~.znodes.Znodes` recognizes this and
returns success: after a create, the node has our data; after a compare-and-set, our data and the next version; after a
removal, the node is missing.

Each part of the tree of nodes has its module or package: :mod:`.cluster` (creates and removes the whole tree),
:mod:`.ledgers`, :mod:`.registration`, :mod:`.cookies`, :mod:`.underreplication`, and :mod:`.auditing` with
:mod:`.election`.  :mod:`.uris` parses URIs.

kazoo loses its watches when the connection breaks, so :mod:`.watches` reads the watched nodes again.  In each new
session, the driver registers its bookies again, as writable or read-only as before.
"""

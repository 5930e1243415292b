"""The metadata of a cluster on ZooKeeper, in the same nodes as Apache BookKeeper's.

Theory of operation.  :class:`~.interfaces.IZooKeeper` is one connection.  Its calls return Deferreds on the reactor
thread; if an answer is lost, they fail with :class:`~.interfaces.OutcomeUnknownError`.  :mod:`.kazoo_client` provides
it by kazoo; tests use one in memory.  A :class:`~.session.Session` repeats a call whose answer was lost, a limited
number of times.  :class:`~.znodes.Znodes` then reads the node to find out whether the first call was executed.  After a
create, it compares the stored data; after a compare-and-set, data and version.  After a removal, the node must be
missing.

Each part of the tree of nodes has its module or package: :mod:`.cluster` (creates and removes the whole tree),
:mod:`.ledgers`, :mod:`.registration`, :mod:`.cookies`, :mod:`.underreplication`, and :mod:`.auditing` with
:mod:`.election`.  :mod:`.uris` parses URIs.

kazoo forgets its watches whenever the connection breaks, so :mod:`.watches` reads the watched nodes again.  In each new
session, bookies are registered again in their last mode.
"""

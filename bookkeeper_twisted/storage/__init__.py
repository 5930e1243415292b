"""The storage engine of a bookie.  It is synchronous: it uses no Twisted, no socket and no clock.

Theory of operation.  New entries are inserted into the *write cache* in memory, from which they can be read, and
appended to the *journal*.  The journal makes them durable in groups: one write and one sync for many records.  A
*checkpoint* replaces the cache by an empty one, writes the entries of the old one to an *entry log*, sorted by ledger,
and syncs the log.  Then it commits one *index row* for each run of consecutive entries to the *run index*, and moves
the *mark*, the journal position from which a replay begins; journal files below the mark are reused.  At a start, the
bookie replays the journals from the mark into the cache, and makes a checkpoint.

All access to files goes through :class:`~.interfaces.IFileSystem`, so that tests can cut the power after every single
operation.  A commit of the index is durable as a whole or has no effect.  For tests, ``tests.simulated_disk`` is a
second provider of the index.

Threads.  Each method says which thread may call it.  *Reactor* methods only touch memory, including the page cache;
*lane* methods touch files and run on the named lane.  No locks are used: threads hand over whole objects, such as a
cache that was replaced or a run that is complete.
"""

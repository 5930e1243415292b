"""The storage engine of a bookie.  It is synchronous: it uses no Twisted, no socket and no clock.

Theory of operation.  New entries are appended to the *journal*, and inserted into the *write cache* in memory, from
which they can be read.  The journal makes them durable in groups: one write and one sync for many records.  A
*checkpoint* replaces the write cache by an empty one, writes the entries of the old cache to an *entry log*, sorted by
ledger, and syncs the log.  A *run* is a sequence of consecutive entries of one ledger.  Then the checkpoint commits
*index rows* to the *run index*; each row tells where a run is in an entry log.  Finally, it moves the *log mark*, the
journal position from which a replay begins.  Journal files before the log mark are reused.  At a start, the bookie
replays the journals from their log marks into the cache, and makes a checkpoint.

All access to files goes through :class:`~.interfaces.IFileSystem`, so that tests can cut the power after every single
operation.  A commit of the index is durable as a whole or has no effect.  Tests have a second implementation of the
index, ``tests.simulated_disk``.

Threads.  Besides the reactor thread, there are journal, flush, read and maintenance threads.  Each method says which
thread may call it.  Methods for the reactor thread never wait for a disk: they use memory, and files only as far as
they are in the kernel's page cache.  Methods for the other threads may wait for a disk.  No locks are used: a thread
that passes an object to another thread, for example a replaced cache, does not use this object any more.
"""

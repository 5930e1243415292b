"""The synchronous engine under a bookie.  It uses no Twisted, no socket and no clock.

Theory of operation.  A run of entries is inserted into the *write cache* (memory; readable from
here) and appended to the *journal*, which makes it durable in groups: records joined, one write, one
sync, one position.  At a *checkpoint* the cache is swapped, its runs are written sorted by ledger to
an *entry log*, the log is synced, one row per contiguous run is committed to the *run index*, and the
*mark* (journal position up to which replay is not needed) moves; journal files below it are recycled.
A start replays the journals from the mark into the cache and checkpoints.

Every file is touched through :class:`~.interfaces.IFileSystem`, so that the tests can cut the power
after every single operation.  The index commits atomically and durably or not at all; its second
provider (``tests.simulated_disk``) lives on the simulated disk.

Threads.  Methods say which thread may call them: *reactor* methods touch memory only, the page cache
included, *lane* methods touch files and run on the named lane.  Nothing is locked: what both sides
need changes hands as whole objects (a swapped cache, a finished run).
"""

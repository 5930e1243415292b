"""Metadata without a cluster: in memory, or in one SQLite file that several processes of a machine share.

An :class:`~.driver.EmbeddedDriver` uses a blocking *store* (:mod:`.memory` or :mod:`.sqlite_store`).  A *worker*
(:mod:`.workers`) calls the store.  It calls a store in memory on the reactor thread, and a SQLite file on a separate
thread, so that the reactor never waits for a disk.

The worker runs the calls of a driver in order, with one exception.  A write to a SQLite file may have to wait for a
write transaction of another process.  Meanwhile the worker serves reads that were submitted after this write; they find
the store without it.  A read still sees each write of its driver whose result the caller knew when it submitted the
read; a write that the caller has given up is not made after such a read.  ZooKeeper's client keeps a read behind every
earlier write.  Here the read would wait for as long as the other process likes.  So a caller that needs this order
waits for the result of the write before it reads, as all callers in this tree do.
"""

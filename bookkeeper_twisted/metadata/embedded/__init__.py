"""Metadata without a cluster: in memory, or in one SQLite file that several processes of a machine share.

An :class:`~.driver.EmbeddedDriver` uses a blocking *store* (:mod:`.memory` or :mod:`.sqlite_store`).  A *worker*
(:mod:`.workers`) calls the store.  It calls a store in memory on the reactor thread, and a SQLite file on a separate
thread, so that the reactor never waits for a disk.
"""

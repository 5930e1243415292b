"""Metadata without a cluster: in memory, or in one SQLite file that several processes of a machine share.

An :class:`~.driver.EmbeddedDriver` uses a blocking *store* (:mod:`.memory` or :mod:`.sqlite_store`).  A *worker*
(:mod:`.workers`) calls the store: inline if the store is in memory, on a thread of its own if the store is a file, so
that the reactor never waits for a disk.
"""

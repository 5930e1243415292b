"""Metadata without a cluster: in memory, or in one SQLite file that several processes of a machine share.

An :class:`~.driver.EmbeddedDriver` uses a blocking *store* (:mod:`.memory` or :mod:`.sqlite_store`).  A *worker*
(:mod:`.workers`) calls the store, inline or on a thread of its own, so that the reactor never waits for a disk.
"""

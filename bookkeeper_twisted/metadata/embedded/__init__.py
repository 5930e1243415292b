"""Metadata without a cluster: in memory, or in one SQLite file that several processes of a machine share.

One :class:`~.driver.EmbeddedDriver` stands over two blocking *stores* (:mod:`.memory`, :mod:`.sqlite_store`), which a
*worker* (:mod:`.workers`) calls inline or on a thread of its own, so that the reactor never waits for a disk.
"""

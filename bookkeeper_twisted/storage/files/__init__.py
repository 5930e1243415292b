"""Files of the operating system, and the operations that the engine needs for all kinds of files.

Theory of operation.  :mod:`.filesystem` and :mod:`.disk_queue` alone call the operating system; everything else has a
:class:`~bookkeeper_twisted.storage.interfaces.IFileSystem`, so that tests can cut the power after each operation.
:mod:`.replace` writes small files anew so that a crash leaves the old or the new content.  :mod:`.space_reserve` keeps
space of each disk for deletions and compactions.
"""

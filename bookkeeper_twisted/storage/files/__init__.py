"""Access to files: the file system of the operating system, and operations that several parts of the storage use.

Theory of operation.  Only :mod:`.filesystem`, :mod:`.disk_queue` and :mod:`.durable_writer` (the latter two by
:mod:`.kernel_context`) call the operating system; :mod:`.proc_files` reads what Linux tells about it.  All other
modules use a :class:`~bookkeeper_twisted.storage.interfaces.IFileSystem`, so that tests can cut the power after each
operation.
:mod:`.replace` replaces small files so that a crash leaves either the old or the new content.  :mod:`.space_reserve`
keeps disk space free for deletions and compactions.
"""

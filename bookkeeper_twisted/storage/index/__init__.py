"""The run index of a ledger directory: one row for each contiguous run of a ledger's entries.

:mod:`.rows` has the geometry of a row, :mod:`.run_index` keeps rows in one SQLite file, :mod:`.recent_rows` keeps
the newest in memory.  :mod:`bookkeeper_twisted.storage.rebuild` makes an index anew from the entry logs.
"""

"""The run index of a ledger directory: one row for each contiguous run of a ledger's entries.

Long runs have a row each in the table of runs (:mod:`.stored_runs`, :mod:`.row_values`).  Those of flushes in which
ledgers take turns are packed in blocks (:mod:`.blocks`, :mod:`.stored_blocks`), which commits add and merge
(:mod:`.block_writer`), as a log-structured merge tree does.

:mod:`.rows` has the geometry of a row, :mod:`.run_index` keeps rows in one SQLite file, :mod:`.recent_index` keeps
the newest in memory.  :mod:`bookkeeper_twisted.storage.rebuild` makes an index anew from the entry logs.
"""

"""The run index of a ledger directory: it tells where in the entry logs each run of consecutive entries is.

A long run has an index row of its own in the table of runs (:mod:`.stored_runs`, :mod:`.row_values`).  If many ledgers
alternate, the short runs of a flush become packed rows, which are kept together in blocks (:mod:`.blocks`,
:mod:`.stored_blocks`).  Commits add blocks and merge older ones, like a log-structured merge tree
(:mod:`.block_writer`).

:mod:`.rows` computes with index rows.  :mod:`.run_index` keeps them in one SQLite file, :mod:`.recent_index` keeps the
newest in memory.  :mod:`bookkeeper_twisted.storage.rebuild` makes a new index from the entry logs.
"""

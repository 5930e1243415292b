"""The run index of a ledger directory: for each run (consecutive entries of one ledger), its place in the entry logs.

A long run has an index row of its own in an SQLite table, the table of runs (:mod:`.stored_runs`, :mod:`.row_values`).
If clients write to many ledgers in turn, a flush has many short runs.  Their index rows are packed to 36 bytes each,
and stored together in blocks (:mod:`.blocks`, :mod:`.stored_blocks`).  Commits add blocks and merge older blocks, as in
a log-structured merge tree (:mod:`.block_writer`).

:mod:`.rows` computes with index rows.  :mod:`.run_index` stores the rows in one SQLite file.  :mod:`.recent_index`
keeps the newest rows in memory.  :mod:`bookkeeper_twisted.storage.rebuild` makes a new index from the entry logs.
"""

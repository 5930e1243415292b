"""The index that Apache's bookie keeps with ``DbLedgerStorage``: read when its directories are taken over, written when
they are given back.

Entry logs and journals are the same files there and here.  What differs is the index beside them: two RocksDB
databases in the ``current`` of each index directory, ``ledgers`` (:mod:`.ledger_data`) and ``locations``::

    key    i64 ledger id, i64 entry id
    value  i64 location = entry log id << 32 | offset of the entry, behind its size word; 0 = none

*At most one of the two indexes speaks for a directory.*  Ours does while it is complete; a database beside it is what a
crash has left, and is removed (:mod:`.take_over`).  A take-over completes ours before the databases go; an export
completes the databases before ours goes, and the cookies are exchanged last.
"""

"""The index of Apache's ``DbLedgerStorage``: read when its directories are taken over, written when they are returned.

Entry logs and journals are the same files for both bookies.  Only the index beside them differs: two RocksDB
databases in the ``current`` of each index directory, ``ledgers`` (:mod:`.ledger_data`) and ``locations``::

    key    i64 ledger id, i64 entry id
    value  i64 location = entry log id << 32 | offset of the entry, behind its size word; 0 = none

The cookies of the directories say which of the two indexes is valid: :mod:`.take_over`.
"""

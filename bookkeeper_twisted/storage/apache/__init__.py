"""The index of Apache's ``DbLedgerStorage``: read to take over the directories of a bookie, written to return them.

Both bookies use the same entry logs and journals.  Only the indexes differ.  Apache's index is two RocksDB databases in
the ``current`` of each index directory: ``ledgers`` (:mod:`.ledger_data`) and ``locations``::

    key    i64 ledger id, i64 entry id
    value  i64 location = entry log id << 32 | offset of the entry, behind its size word; 0 = none

The cookies in the directories tell which of the two indexes is valid, see :mod:`.take_over`.
"""

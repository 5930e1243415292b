"""Reads and writes the index of Apache's ``DbLedgerStorage``.

Our bookie reads this index when it takes over the directories of an Apache bookie, and writes it when an operator gives
the directories back to Apache's bookie.

Both bookies use the same entry logs and journals.  Only the indexes differ.  Apache's index is two RocksDB databases in
the subdirectory ``current`` of each index directory: ``ledgers`` with the ledger states (:mod:`.ledger_data`), and
``locations`` with the entry log and offset of each entry::

    key    i64 ledger id, i64 entry id
    value  i64 location = entry log id << 32 | offset of the entry, after its 4-byte size; 0 = none

The cookies in the directories tell which of the two indexes is valid (:mod:`.take_over`).
"""

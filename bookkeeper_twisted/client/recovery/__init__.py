"""Recovery: closing a ledger after the last entry that its writer can have acknowledged.

:mod:`.ledger_recovery` fences the ledger, reads the entries beyond the LAC (:mod:`.recovery_reads`), sends them to
bookies again (:mod:`.write_back`), and closes the ledger.  The rules for its decisions are in
:mod:`bookkeeper_twisted.ledger.recovery_rules`.
"""

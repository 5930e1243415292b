"""Recovery: closing a ledger after the last entry that its writer can have acknowledged (S17).

:mod:`.ledger_recovery` runs the steps: fencing, :mod:`.recovery_reads`, :mod:`.write_back`, then the close.
All decisions are those of :mod:`bookkeeper_twisted.ledger.recovery_rules`.
"""

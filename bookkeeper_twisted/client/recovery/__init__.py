"""Recovery: closing a ledger whose writer may be dead, after the last entry it can have acknowledged (S17).

:mod:`.ledger_recovery` runs the steps: :mod:`.fencing`, :mod:`.recovery_reads`, :mod:`.write_back`, then the close.
What is decided is decided in :mod:`bookkeeper_twisted.ledger.recovery_rules`.
"""

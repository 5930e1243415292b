"""The check and the repair of the replicas of ledgers, done by replication workers.

The :mod:`.checker` reads the entries of a ledger from its bookies, and the :mod:`.fragment_replicator` copies the
entries that the bookies of a fragment lack.  :mod:`.repair` does both for one ledger.  The :mod:`.worker` locks
underreplicated ledgers and repairs them.
"""

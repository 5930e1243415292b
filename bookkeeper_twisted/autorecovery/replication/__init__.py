"""The check and the repair of the replicas of ledgers.

The :mod:`.checker` asks bookies what they keep of a ledger, the :mod:`.fragment_replicator` gives a fragment back what
it lacks, and :mod:`.repair` does both for one ledger.  The :mod:`.worker` has marked ledgers repaired, under their
locks.
"""

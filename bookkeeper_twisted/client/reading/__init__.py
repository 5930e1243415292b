"""Reading ledgers: from whichever replica gives entries whole, every byte verified (S18).

:mod:`.read_handle` is the public reader.  :mod:`.replica_reads` tries replicas in :mod:`.read_order` and speculates,
:mod:`.lac_reads` finds how far an open ledger came, :mod:`.read_ahead` and :mod:`.tailing` feed iteration.
"""

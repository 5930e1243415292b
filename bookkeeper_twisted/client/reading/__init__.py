"""Reading ledgers: entries come from any replica that has them undamaged, and every byte is verified (S18).

:mod:`.read_handle` is the public reader.  :mod:`.replica_reads` tries replicas in :mod:`.read_order` and speculates,
:mod:`.lac_reads` asks for the LAC of an open ledger, :mod:`.read_ahead` and :mod:`.tailing` feed iteration.
"""

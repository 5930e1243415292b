"""Reading ledgers: each entry is read from any replica that has it undamaged, and is verified (safety rule S18).

:mod:`.read_handle` is the public reader.  :mod:`.replica_reads` asks the replicas in the order of :mod:`.read_order`,
and asks the next one if a replica is slow.  :mod:`.lac_reads` asks for the LAC of an open ledger.  :mod:`.read_ahead`
and :mod:`.tailing` serve iterations.
"""

"""Reading ledgers: each entry is read from any replica that has it undamaged, and is verified.

:mod:`.read_handle` is the public reader.  :mod:`.read_order` puts the bookies of an entry in an order.
:mod:`.replica_reads` asks them in this order, and asks the next bookie if one fails or is slow.  :mod:`.lac_reads` asks
for the LAC of an open ledger.  :mod:`.read_ahead` requests entries before a loop over entries needs them.
:mod:`.tailing` follows an open ledger.
"""

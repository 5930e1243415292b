"""The part of a cluster's tree of nodes that holds the ledgers.

:mod:`.layouts` computes the paths of ledgers, without I/O.  :mod:`.ledger_ids` generates ids with sequential nodes.
:mod:`.ledgers` stores and watches metadata.  :mod:`.ledger_listing` lists all ledgers in ascending order; a listing
that cannot be complete raises an error.
"""

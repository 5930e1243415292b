"""The part of a cluster's tree of nodes that holds the ledgers.

:mod:`.layouts` has the paths of ledgers, and is pure; :mod:`.ledger_ids` draws ids from sequence nodes, :mod:`.ledgers`
keeps and watches metadata, :mod:`.ledger_listing` lists all ledgers in ascending order, complete or with an error.
"""

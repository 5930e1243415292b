"""Writing ledgers: the appends of one reactor turn are sent as a batch, and complete in id order (safety rule S13).

:mod:`.write_handle` and :mod:`.adv_write_handle` are the public writers.  Both use :mod:`.appends`, which gives entries
their ids and adds them to the batch of the turn.  Both use :mod:`.base_writer`, which closes the ledger.  Other threads
append through :mod:`~bookkeeper_twisted.client.claims`.

Each ledger has a state machine, the :mod:`.quorum_writer`, with the states and transitions of :mod:`.states`.
:mod:`.failed_bookies` records which bookies failed.  :mod:`.quorum_timeout` is the time limit for the ack quorum.
:mod:`.ensemble_change` replaces bookies in the metadata (safety rules S15 and S16).

:mod:`.batchers` seal the entries that many ledgers append in one turn.  A :mod:`.batch` sends them to bookies and
counts the acknowledgements.  Only the state machine of a ledger completes its entries.  Only the module of a class
assigns the class's fields.
"""

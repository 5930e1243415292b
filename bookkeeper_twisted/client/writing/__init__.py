"""Writing ledgers: all appends of one turn of the reactor's loop are sent together, and complete in id order.

:mod:`.write_handle` and :mod:`.adv_write_handle` are the public writers.  :mod:`.appends` gives entries their ids and
adds them to a batch.  :mod:`.base_writer` closes the ledger.  Other threads append through
:mod:`~bookkeeper_twisted.client.claims`.

Each ledger has a state machine, the :mod:`.quorum_writer`, with the states and transitions of :mod:`.states`; only this
machine completes entries.  :mod:`.failed_bookies` records which bookies failed.  :mod:`.quorum_timeout` is the time
limit for the ack quorum.  :mod:`.ensemble_change` replaces bookies in the metadata.

A batch contains the entries that one or more ledgers append in one turn.  :mod:`.batchers` compute the headers and
digests of these entries.  A :mod:`.batch` sends the entries to bookies and counts the acknowledgements.
"""

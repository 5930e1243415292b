"""Writing ledgers: the appends of one turn of the reactor form a batch; entries complete in id order (S13).

:mod:`.write_handle` and :mod:`.adv_write_handle` are the public writers.  They share :mod:`.appends`, which takes
entries in (ids, lengths, room, the batch of the turn), and :mod:`.base_writer`, which closes the ledger.  Other
threads append through :mod:`~bookkeeper_twisted.client.claims`.

One state machine serves each ledger, :mod:`.quorum_writer`.  Its states and transitions are the table of
:mod:`.states`; :mod:`.failed_bookies` records the bookies that failed, :mod:`.quorum_timeout` is the time limit, and
:mod:`.ensemble_change` replaces bookies in the metadata (S15, S16).

Between the machines of many ledgers and the bookies are :mod:`.batchers`, which seal the entries of a turn, and the
:mod:`.batch`, which is sent and counted as a whole.  A batch knows entries and bookies; the machine alone
completes entries.  A field is assigned in the module of its class and nowhere else.
"""

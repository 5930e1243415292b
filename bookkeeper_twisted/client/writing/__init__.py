"""Writing ledgers: what a turn of the reactor appends is a batch, sent to write quorums, completed in id order (S13).

:mod:`.write_handle` and :mod:`.adv_write_handle` are the public writers.  What they have in common is how entries go
in, :mod:`.appends` (ids, lengths, room, the batch of the turn), and :mod:`.base_writer`, the end of the ledger.  Other
threads append through :mod:`~bookkeeper_twisted.client.claims`.

One machine serves each ledger, :mod:`.quorum_writer`.  Its states, and what each event leads to, are the table of
:mod:`.states`; :mod:`.failed_bookies` is the account of bookies that failed, :mod:`.quorum_timeout` the time limit, and
:mod:`.ensemble_change` replaces bookies in the metadata (S15, S16).

Between the machines of many ledgers and the bookies are :mod:`.batchers`, which seal what a turn has gathered, and the
:mod:`.batch`, which is sent and counted as a whole.  A batch knows entries and bookies; the machine alone
completes entries.  A field is assigned in the module of its class and nowhere else.
"""

"""Writing ledgers: what a turn of the reactor appends is a batch, sent to write quorums, completed in id order (S13).

:mod:`.write_handle` and :mod:`.adv_write_handle` are the public writers; other threads append through
:mod:`~bookkeeper_twisted.client.claims`.
:mod:`.batchers` gathers what they append, a :mod:`.batch` is sealed, sent and counted as a whole, :mod:`.quorum_writer`
decides for one ledger what completes and what is done about bookies that fail, :mod:`.ensemble_change` replaces these
(S15, S16).
"""

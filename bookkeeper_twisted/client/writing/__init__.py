"""Writing ledgers: entries in id order to their write quorums, completed in id order (S13).

:mod:`.write_handle` and :mod:`.adv_write_handle` are the public writers, :mod:`.thread_appender` serves other threads.
:mod:`.quorum_writer` sends runs and counts answers; :mod:`.ensemble_change` replaces bookies that fail (S15, S16).
"""

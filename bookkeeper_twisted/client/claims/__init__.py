"""Claim logs: how threads append to a ledger that belongs to the reactor's thread.

Theory of operation.  A thread *claims* a piece of the ledger's :mod:`.claim_log`, encodes its entry there (a
:mod:`.producer` does this without a lock) and commits it; memory is reused in :mod:`.terms`.  The reactor's thread cuts
what was committed into :mod:`.frames` and seals these as any other batch (:mod:`~bookkeeper_twisted.client.writing`).
:mod:`.thread_appender` is the public handle, :mod:`.threads` all that the log needs of the operating system's threads.
This room knows nothing of writers: :mod:`~bookkeeper_twisted.client.writing.write_handle` drains the log.
"""

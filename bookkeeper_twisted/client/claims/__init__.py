"""Claim logs: how threads append to a ledger that belongs to the reactor's thread.

Theory of operation.  A thread *claims* a piece of the ledger's :mod:`.claim_log`, encodes its entry there (a
:mod:`.producer` does this without a lock) and commits it; memory is reused in :mod:`.terms`.  The reactor's thread cuts
committed memory into :mod:`.frames` and seals these like any other batch (:mod:`~bookkeeper_twisted.client.writing`).
:mod:`.thread_appender` is the public handle, :mod:`.threads` the operations of the operating system that the log needs.
This room does not import writers: :mod:`~bookkeeper_twisted.client.writing.write_handle` drains the log.
"""

"""Claim logs: memory in which any thread can store entries for a ledger; the reactor's thread sends the entries.

Theory of operation.  A thread *claims*, that is reserves, memory in the ledger's :mod:`.claim_log`, encodes its entry
there and *commits* the claim.  Each thread has a handle of its own for this (:mod:`.producer`), and usually needs no
lock.  The memory of a log consists of reusable :mod:`.memory_blocks`.  The reactor's thread cuts the committed memory
into :mod:`.frames`, one for each entry, and sends them like any other batch
(:mod:`~bookkeeper_twisted.client.writing`).
:mod:`.thread_appender` has the class that applications use; :mod:`.threads` has the thread operations that a log needs.
This package does not import writers: the writer in :mod:`~bookkeeper_twisted.client.writing.write_handle` takes the
frames out of the log.
"""

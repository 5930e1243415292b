"""Claim logs: memory through which any thread appends entries to a ledger that the reactor's thread writes.

Theory of operation.  A thread *claims* a piece of memory in the ledger's :mod:`.claim_log`, encodes its entry there and
commits it; its handle, a :mod:`.producer`, usually does this without a lock.  The memory consists of reusable
:mod:`.terms`.  The reactor's thread cuts committed memory into :mod:`.frames` and seals them like any other batch
(:mod:`~bookkeeper_twisted.client.writing`).  :mod:`.thread_appender` is the public class; :mod:`.threads` has the
operations of the operating system that a log needs.  This package does not import writers; the writer in
:mod:`~bookkeeper_twisted.client.writing.write_handle` takes the frames out of the log.
"""

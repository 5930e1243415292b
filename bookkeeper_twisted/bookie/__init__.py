"""The operations of a bookie: add, read, fence, LAC and force, journaled by group commits.

Theory of operation.  The reactor thread keeps one small state per ledger (key, fence, LAC, waiters)
and decides everything in memory.  An add is checked, inserted into the storage's write cache and
queued for its journal; the *journal lane* drains the queue, writes and syncs one group and hands one
callback to the reactor, which completes every item of the group and flushes the outbox once.  Fences,
master keys and explicit LACs are journal records in the same queue, so their order with adds is the
order in which the reactor took them (S3).  A reply to a fencing read waits for the fence record, also
when it says "no such entry" (S2).  Reads are answered from memory at once, the page cache included;
what is missing goes to the *read lane* by one hand-over for the whole chunk.  Checkpoints run on the
*flush lane*.

The first failure of a journal is the end: nothing more is acknowledged, the listener closes and the
process stops (S10).

Lanes are behind :class:`~.interfaces.IStorageExecutor`; tests use one that runs a step when told, so
that the whole bookie is deterministic without threads.
"""

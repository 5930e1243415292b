"""The operations of a bookie: add, read, fence, LAC and force, journaled by group commits.

Theory of operation.  The reactor thread keeps one small state per ledger (key, fence, LAC, waiters) and decides
everything in memory.  An add is checked, inserted into the storage's write cache and queued for its journal; the
*journal lane* drains the queue, writes and syncs one group and hands one callback to the reactor, which completes every
item of the group and then writes the replies, once per connection.  Fences, master keys and explicit LACs are journal
records in the same queue, so their order with adds is the order in which the reactor took them (S3).  A reply to a
fencing read waits for the fence record, also when it says "no such entry" (S2).  Entries in the caches or the page
cache are returned immediately; one call on the *read lane* loads all other entries of a chunk of requests.  Checkpoints
run on the *flush lane*.

After the first failure of a journal, nothing more is acknowledged: the listener closes and the process stops (S10).

Lanes are named queues of an :class:`~.interfaces.IStorageExecutor`.  Tests use an executor without threads that runs
each piece of work on demand, so that the whole bookie is deterministic.
"""

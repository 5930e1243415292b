"""The operations of a bookie: add, read, fence, LAC and force, journaled by group commits.

Theory of operation.  The reactor thread keeps one small state for each ledger in use (key, fence, LAC, waiting
requests), and makes all decisions in memory.  An add is checked, inserted into the storage's write cache, and queued
for its journal.  The *journal lane* (a thread) takes the records out of the queue, and writes and syncs them as one
group.  Then it schedules one callback on the reactor thread, which completes the adds of the group and writes their
replies, once for each connection.  Fences, master keys and explicit LACs are journal records in the same queue.  So the
order of all these records in the journal is the order in which the reactor thread processed the requests (safety rule
S3).  A reply to a fencing read is only sent when the fence record is durable, even if it says "no such entry" (safety
rule S2).  Entries in the caches or the page cache are returned immediately.  One call on the *read lane* loads all
other entries that a chunk of requests asks for.  Checkpoints run on the *flush lane*.

After the first failure of a journal, no add is acknowledged any more: the bookie stops listening, and the process ends
(safety rule S10).

Lanes are named queues of an :class:`~.interfaces.IStorageExecutor`.  Tests use an executor without threads, which runs
each piece of work when the test tells it to, so that the whole bookie is deterministic.
"""

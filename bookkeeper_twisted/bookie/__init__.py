"""The operations of a bookie: add, read, fence, LAC and force, journaled by group commits.

Theory of operation.  The reactor thread keeps one small state for each ledger in use (key, fence, LAC, waiting
requests), and makes all decisions in memory.  An add is checked, inserted into the storage's write cache, and queued
for its journal.  The journal thread removes the records from the queue, and writes and syncs them together, as one
group.  Then it schedules one callback on the reactor thread, which completes the adds of the group and writes their
replies, once for each connection.  Fences, master keys and explicit LACs are journal records in the same queue.  So the
order of all these records in the journal is the order in which the reactor thread processed the requests.  A reply to a
fencing read is only sent when the fence record is durable, even if the reply says "no such entry".

Entries that are in a cache of the bookie or in the page cache are returned immediately.  The other entries are read
from disk on the read threads: one call reads all entries for the requests that one connection sent together.
Checkpoints run on the flush threads.

After the first failure of a journal, no add is acknowledged any more: the bookie stops listening, and the process ends.

An :class:`~.interfaces.IStorageExecutor` runs the work of all these threads.  Tests use an executor without threads,
which runs each piece of work when the test tells it to, so that the whole bookie is deterministic.
"""

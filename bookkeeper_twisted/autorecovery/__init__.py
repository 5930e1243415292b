"""Autorecovery: finds ledgers that have lost replicas, and makes new copies of them, within speed limits (BP-48).

Theory of operation.  A process runs some or all of three services, which share one client and one metadata driver:

* the *election* (:mod:`.auditing`) decides which process is the auditor; it starts the auditor when it wins, and stops
  it when it loses;
* the *auditor* finds ledgers that lack replicas, and marks them as underreplicated in the metadata store.  When a
  bookie is lost, the auditor marks its ledgers after a delay, even while a periodic check is running.  It also marks
  the ledgers in which a periodic check finds missing entries;
* the *replication worker* (:mod:`.replication`) locks marked ledgers, a limited number at a time.  It checks each
  ledger, and copies the entries that its replicas lack.  After that, it removes the underreplicated mark if this still
  has the version that was read before the check.

The *checker* reads entries from the bookies of each fragment by batch reads and verifies their digests.  A slow or
overloaded bookie does not count as lost: it is asked again later, and its ledgers are not marked.  The *replicator*
copies entries unchanged, many consecutive entries in one write, and only to the bookies of each entry's write set.  It
changes the metadata after all copies are acknowledged, by compare-and-set, so that a crash leaves only extra copies.  A
missing or damaged entry is copied to the same bookie if it is writable; a lost bookie is replaced.  The rules of
checker and replicator that need no I/O (fragments, losses, the plan of copies) are in :mod:`bookkeeper_twisted.ledger`;
Spark's bulk repair uses them, too.

Each read, write and metadata request first waits until a limiter of :mod:`bookkeeper_twisted.limits.throttle` permits
it.  The records in the metadata store have Apache BookKeeper's formats, so auditors and workers of both programs can
run in one cluster.
"""

"""Autorecovery: ledgers get back the replicas that a cluster has lost, under speed limits (BP-48).

Theory of operation.  Three services share one client and one metadata driver, and stand alone or together:

* the *election* (:mod:`.auditing`) decides which process is the auditor; it starts the auditor when it wins, and stops
  it when it loses;
* the *auditor* finds ledgers that lack replicas and marks them in the metadata store: ledgers of lost bookies after a
  delay, and what its periodic checks find.  Detection of lost bookies never waits for a periodic check;
* the *replication worker* (:mod:`.replication`) takes the locks of marked ledgers, several at a time up to a limit; it
  checks each of them, copies what its replicas lack, and removes the mark at the version that it read before the check.

Checker and replicator do the work.  The *checker* asks the bookies of each fragment by batch reads, verifies digests,
and distinguishes a lost replica from a bookie that is slow or overloaded: that one is asked again later and nothing is
marked.  The *replicator* moves entries as they are stored, whole runs in one write, and only to the positions of each
entry's write set; metadata changes after all copies are acknowledged, by compare-and-set, so that a crash leaves only
extra copies.  A bookie that answers and is writable gets its own missing or damaged entries back; another one takes
the place of a bookie that is gone.  What is pure in both (fragments, loss, the plan of copies) is in
:mod:`bookkeeper_twisted.ledger`, and Spark's bulk repair stands on it, too.

All reads, writes and metadata requests wait for a limiter of :mod:`bookkeeper_twisted.limits.throttle` first.  Every
step is cancellable.  The records in the metadata store are Apache BookKeeper's, so auditors and workers of both kinds
mix.
"""

"""The auditor: one elected process of the cluster finds ledgers that lack replicas, and marks them.

Theory of operation.  When this process wins the election, it starts an :mod:`.auditor`, and stops it when the election
is lost.  The auditor reads the metadata of all ledgers, one after the other, which is called a *walk*
(:mod:`.ledger_scan`).  It does so for two reasons:

* An *audit* (:mod:`.bookie_audit`) marks the ledgers of lost bookies. :mod:`.detection` follows registrations by the
  rules of :mod:`.lost_bookies`, and starts audits.  An audit is urgent: it begins immediately, in a walk of its own,
  and reads only metadata.
* *Periodic work* (:mod:`.periodic`) is the search for ledgers on lost bookies, and each of the :mod:`.ledger_checks`.
  If several of them become due within a second, as after the election, they share one walk, so that the metadata of
  each ledger is read once.  The walk waits until a running audit has ended.  After an audit, the next search is due one
  interval later, because both do the same.

In a shared walk, the search and the checks process each ledger one after the other: first the search, because its marks
are urgent; next the check that reads entries; last the checks that skip marked ledgers.  If a check fails at a ledger,
this check leaves the walk and is repeated later, while the other checks continue.  If the walk itself fails or is
stopped, all its checks have failed.
"""

"""The auditor: one elected process of the cluster finds ledgers that lack replicas, and marks them.

Theory of operation.  When this process wins the election, it starts an :mod:`.auditor`; when it loses the election, it
stops the auditor.  The auditor makes passes over all ledgers.  In a pass (called *walk* in the code), it reads the
metadata of one ledger after the other (:mod:`.ledger_scan`).  It does so for two reasons:

* An *audit* (:mod:`.bookie_audit`) marks the ledgers of lost bookies. :mod:`.detection` follows registrations by the
  rules of :mod:`.lost_bookies`, and starts audits.  An audit is urgent: it begins immediately, in a pass of its own,
  and reads only metadata.
* *Periodic work* (:mod:`.periodic`) is the search for ledgers on lost bookies, and each of the :mod:`.ledger_checks`.
  If several of them become due within a second, as after the election, they share one pass, so that the metadata of
  each ledger is read once.  The pass waits until a running audit has ended.  After an audit, the next search is due one
  interval later, because both do the same.

In a shared pass, the search and the checks process each ledger one after the other.  First comes the search, because
the underreplicated marks that it writes are urgent.  Next comes the check that reads entries, and last come the checks
that skip marked ledgers.  If a check fails at a ledger, this check ends and is repeated later, while the other checks
continue.  If the pass itself fails or is stopped, all its checks have failed.
"""

"""The auditor: one elected process of the cluster finds ledgers that lack replicas, and marks them.

Theory of operation.  When this process wins the election, it starts an :mod:`.auditor`; when it loses the election, it
stops the auditor.  The auditor makes passes over all ledgers.  In a pass (called *walk* in the code), it reads the
metadata of one ledger after the other (:mod:`.ledger_scan`).  There are two kinds of work that need passes:

* An *audit* (:mod:`.bookie_audit`) marks the ledgers of lost bookies as underreplicated.  It reads only metadata.
  :mod:`.detection` watches the registrations, and starts an audit after a loss, by the rules of :mod:`.lost_bookies`.
  Such an audit is urgent: it begins immediately, in a pass of its own.
* *Periodic work* (:mod:`.periodic`) is a regular audit (the log calls it "search for ledgers on lost bookies") and each
  of the :mod:`.ledger_checks`.  If several of them become due within a second, as after the election, they share one
  pass, so that the metadata of each ledger are read once.  The shared pass waits until an urgent audit has ended.  An
  urgent audit also counts as a regular one, so the next regular audit is due one interval after it.

In a shared pass, the regular audit and the checks process each ledger one after the other.  First comes the audit,
because the underreplicated marks that it writes are urgent.  Next comes the check that reads entries, and last come the
checks that skip marked ledgers.  If a check fails at a ledger, this check ends and is repeated later, while the other
checks continue.  If the pass itself fails or is stopped, all its checks have failed.

Passes go on past ledgers whose metadata cannot be read.  Such ledgers are audited again, alone, by :mod:`.left_out`.
"""

"""The auditor: elected among all processes, it finds ledgers that lack replicas and marks them.

Theory of operation.  The election starts an :mod:`.auditor` for each time in office.  The auditor walks over the
metadata of all ledgers (:mod:`.ledger_scan`) for two reasons:

* An *audit* (:mod:`.bookie_audit`) marks the ledgers of lost bookies.  :mod:`.detection` follows registrations by the
  rules of :mod:`.lost_bookies`, and starts audits.  An audit is urgent: it begins immediately, in a walk of its own,
  and reads nothing but metadata.
* *Periodic work* (:mod:`.periodic`) is the search for ledgers on lost bookies, and each of the :mod:`.ledger_checks`.
  All that becomes due within a second, as at taking office, shares one walk, so that the metadata of a ledger is read
  once.  The walk begins after an audit that is under way, and an audit counts as a search.

What shares a walk looks at each ledger in turn.  The search comes first, so that its mark does not wait until entries
of the ledger are read; then the check that reads; last the checks that leave out marked ledgers.  So a mark is written
once, and again only if a later check finds more.  A check that fails at a ledger leaves the walk and is repeated, while
the others go on; a walk that fails or is stopped counts for none of them.
"""

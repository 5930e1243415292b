"""The auditor: elected among all processes, it finds ledgers that lack replicas and marks them.

The election starts an :mod:`.auditor` for each time in office.  :mod:`.detection` follows registrations by the
rules of :mod:`.lost_bookies` and starts audits (:mod:`.bookie_audit`); :mod:`.periodic` runs the checks of
:mod:`.ledger_checks`.
"""

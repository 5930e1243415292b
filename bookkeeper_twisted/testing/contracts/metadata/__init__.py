"""The test suites for metadata stores.

:mod:`.metadata_contract` has all tests that a metadata driver must pass.  It joins :mod:`.metadata_suites` (ledgers,
bookies, cookies), :mod:`.underreplication_suite` and :mod:`.auditing_suite`.  :mod:`.cluster_admin_contract` has the
tests for the creation and removal of clusters, :mod:`.zookeeper_contract` those for connections to ZooKeeper.
"""

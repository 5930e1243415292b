"""The suites of metadata stores.

:mod:`.metadata_contract` is the whole of what a metadata driver has to pass; it joins :mod:`.metadata_suites` (ledgers,
bookies, cookies), :mod:`.underreplication_suite` and :mod:`.auditing_suite`.  :mod:`.cluster_admin_contract` is that of
making and unmaking clusters, :mod:`.zookeeper_contract` that of connections to ZooKeeper.
"""

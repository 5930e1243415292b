"""The sink: writes DataFrames to ledgers, each batch exactly once.

Theory of operation.  Spark calls the classes in :mod:`.writers`.  A task writes the rows of its partition with the
ordinary client, in the reactor thread of its process (:mod:`.ledger_writing`).  Then Spark's driver publishes the batch
(:mod:`.publishing`): it creates a record in the metadata store, which can be created only once (:mod:`.manifest`).
:mod:`.restoring` writes the ledgers of an archive with the archived ids.
"""

"""The sink: writes DataFrames to ledgers, each batch exactly once.

Theory of operation.  Spark calls the classes in :mod:`.writers`.  A task writes the rows of its partition with the
ordinary client, in the reactor thread of its process (:mod:`.ledger_writing`).  Then the driver commits the batch
(:mod:`.publishing`): it creates one metadata record, which can be created only once (:mod:`.manifest`).
:mod:`.restoring` writes the ledgers of an archive under their own ids.
"""

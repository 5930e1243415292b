"""Writing DataFrames to ledgers, each batch exactly once.

Theory of operation.  :mod:`.writers` is what Spark calls.  A task writes the rows of its partition with the ordinary
client in the reactor thread of its process (:mod:`.ledger_writing`); the driver then commits the batch
(:mod:`.publishing`) by one record that can be created only once (:mod:`.manifest`).  :mod:`.restoring` writes the
ledgers of an archive under their own ids.
"""

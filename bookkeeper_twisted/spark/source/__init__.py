"""The source: reads ledgers as DataFrames, in batches and in streams.

Theory of operation.  Spark calls the classes in :mod:`.readers`.  On Spark's driver, :mod:`.selection` selects ledgers
by the options, and finds out up to which entry each ledger can be read.  :mod:`.filters` applies the conditions of a
query on ids.  :mod:`.batch` plans the read of a batch, or makes the rows of a view (a table of metadata).
:mod:`.stream` plans a micro-batch of a streaming query, which is the entries between two offsets (:mod:`.offsets`).  In
tasks, the readers use :mod:`bookkeeper_twisted.spark.task`, which does not load Twisted.
"""

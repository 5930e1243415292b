"""The source: reads ledgers as DataFrames, in batches and in streams.

Theory of operation.  Spark calls the classes in :mod:`.readers`.  On the driver, :mod:`.selection` selects ledgers by
the options, and finds out up to which entry each ledger can be read.  :mod:`.filters` applies comparisons of ids, if
Spark leaves them to the source.  :mod:`.batch` plans a batch or makes the rows of a view; :mod:`.stream` plans a
micro-batch between two offsets (:mod:`.offsets`).  In tasks, the readers' :meth:`read` uses
:mod:`bookkeeper_twisted.spark.task`, which does not load Twisted.
"""

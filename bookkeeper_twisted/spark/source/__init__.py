"""Reading ledgers as DataFrames, in batches and in streams.

Theory of operation.  :mod:`.readers` is what Spark calls.  On the driver the options select ledgers and find how far
each can be read (:mod:`.selection`), with the comparisons that Spark pushes down (:mod:`.filters`).  :mod:`.batch`
plans a batch or the rows of a view, :mod:`.stream` a micro-batch between two positions (:mod:`.offsets`).  The readers'
:meth:`read` runs in tasks, over :mod:`bookkeeper_twisted.spark.task`, and loads no Twisted.
"""

"""Ledgers as Spark DataFrames: a source and a sink for batches and streams, and jobs on whole clusters.

Theory of operation.  Spark's driver plans a read: it reads metadata, asks bookies for the last add confirmed of open
ledgers, and divides the entries to read into partitions (:mod:`.source`, :mod:`.driver`).  Each partition is read by a
task in a worker process.  Tasks read from bookies over blocking sockets (:mod:`bookkeeper_twisted.blocking_reads`),
verify every entry and return Arrow record batches to Spark (:mod:`.task`).  They have no reactor and no connection to
the metadata store.  The sink writes with the ordinary client, in one reactor thread per worker process (:mod:`.sink`).
To publish a batch, the driver creates one record in the metadata store; a second record of the same batch cannot be
created, so a batch is published only once.  The functions in :mod:`.pipelines` check, measure, repair and move ledgers:
they work on DataFrames, and each has a command (:mod:`.main`).

Users need not register the source, because Spark finds it through the module ``pyspark_bookkeeper``.
"""

"""Ledgers as Spark DataFrames: a source and a sink for batches and streams, and jobs on whole clusters.

Theory of operation.  The driver plans a read: it reads metadata, asks bookies for the last add confirmed of open
ledgers, and divides the entries to read into partitions (:mod:`.source`, :mod:`.driver`).  Tasks read bookies directly
over blocking sockets (:mod:`bookkeeper_twisted.blocking_reads`), verify every entry and hand Arrow record batches to
Spark (:mod:`.task`); they have no reactor and no connection to the metadata store.  The sink writes with the ordinary
client, in one reactor thread per worker process.  To publish a batch, it creates one record in the metadata store,
which can be created only once (:mod:`.sink`).  The functions in :mod:`.pipelines` check, measure and move ledgers: each
takes and returns DataFrames, and has a command (:mod:`.main`).

Users need not register the source, because Spark finds it through the module ``pyspark_bookkeeper``.
"""

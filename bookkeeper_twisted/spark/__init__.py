"""Ledgers as Spark DataFrames: a source and a sink for batches and streams, and jobs on whole clusters.

Theory of operation. The driver plans: it reads metadata, asks bookies how far open ledgers came, and cuts what is to
be read into partitions (:mod:`.source`, :mod:`.driver`). Tasks read bookies directly over blocking sockets
(:mod:`bookkeeper_twisted.blocking_reads`), verify every entry and hand Arrow record batches to Spark (:mod:`.task`);
they have no reactor and no connection to the metadata store. The sink writes with the ordinary client in one reactor
thread for each worker process, and publishes a batch by one record that can be created only once (:mod:`.sink`).
:mod:`.pipelines` are functions from DataFrame to DataFrame that check, measure and move ledgers, each with a command
(:mod:`.main`).

Spark finds the source through the module ``pyspark_bookkeeper`` by itself.
"""

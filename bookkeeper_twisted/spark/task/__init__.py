"""Reads entries in Spark tasks, for the source and the pipelines; does not import the modules of the driver.

A task reads the ranges of entries in its partition from bookies over blocking sockets (:mod:`.partition`).  It converts
entries into Arrow record batches (:mod:`.columns`), and waits as its share of the speed limit demands
(:mod:`.pacing`).  Twisted is imported only if connections are encrypted or authenticated (:mod:`.security`), or ledgers
are encrypted (:mod:`.decryption`).
"""

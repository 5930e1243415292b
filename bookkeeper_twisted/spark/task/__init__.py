"""Reads entries in Spark tasks, for the source and the pipelines; nothing here imports modules of the driver.

A task reads the pieces of its partition from bookies over blocking sockets (:mod:`.partition`), turns entries into
Arrow record batches (:mod:`.columns`) and keeps to its share of a speed limit (:mod:`.pacing`).  Twisted is imported
only where connections are encrypted or authenticated (:mod:`.security`), or ledgers are encrypted (:mod:`.decryption`).
"""

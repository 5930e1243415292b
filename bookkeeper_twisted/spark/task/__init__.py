"""Reading in the tasks of the source and of the pipelines; no module here imports Twisted or modules of the driver.

A task reads the pieces of its partition from bookies over blocking sockets (:mod:`.partition`), makes Arrow record
batches of them (:mod:`.columns`) and keeps its share of a speed limit (:mod:`.pacing`).
"""

"""Work on whole clusters, as functions from DataFrame to DataFrame; ``bookkeeper-spark`` has a command for each.

Theory of operation.  A pipeline takes rows that the source has (fragments, ledgers, entries) or names of files, cuts
the work into pieces, spreads them over all cores and returns what it found as rows, for SQL, for a report or for a
table.  What runs in tasks is plain Python over blocking reads, called through row functions, so that neither pandas
nor NumPy is needed and Spark Connect works.  :mod:`.verify` reads every replica, :mod:`.space` reads entry logs,
:mod:`.archive` moves ledgers to and from Parquet, :mod:`.pictures` draws.  A speed limit of the whole cluster is
split among the tasks that run (:mod:`..task.pacing`).
"""

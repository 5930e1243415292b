"""Work on whole clusters, as functions from DataFrame to DataFrame; ``bookkeeper-spark`` has a command for each.

Theory of operation.  A pipeline takes rows of the source (fragments, ledgers or entries) or names of files.  It cuts
the work into pieces, spreads them over all cores and returns its results as rows, for SQL, for a report or for a table.
Its tasks call plain Python functions with one row each, which read from blocking sockets.  So neither pandas nor NumPy
is needed, and Spark Connect works. :mod:`.verify` reads every replica, :mod:`.space` reads entry logs, :mod:`.archive`
moves ledgers to and from Parquet, :mod:`.pictures` draws charts.  All tasks that run at a time share one speed limit
(:mod:`..task.pacing`).
"""

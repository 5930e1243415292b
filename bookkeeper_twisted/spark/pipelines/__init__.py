"""Work on whole clusters, as functions on DataFrames; ``bookkeeper-spark`` has a command for each.

Theory of operation.  A pipeline gets rows of the source (fragments, ledgers or entries) or names of files.  It cuts the
work into pieces, spreads them over all cores and returns its results as rows, which can be queried, printed or stored.
Tasks call a plain Python function for each row; the function reads from blocking sockets.  So neither pandas nor NumPy
is needed, and Spark Connect works.  :mod:`.verify` reads every replica, :mod:`.replicate` copies missing entries,
:mod:`.space` reads entry logs, :mod:`.archive` exports ledgers to Parquet and imports them, :mod:`.pictures` draws
charts.  All tasks that run at the same time share one speed limit (:mod:`..task.pacing`).
"""

"""Work on whole clusters, as functions from DataFrame to DataFrame; ``bookkeeper-spark`` has a command for each.

Theory of operation.  A pipeline takes rows of the source (fragments, ledgers or entries) or names of files.  It cuts
the work into pieces, spreads them over all cores and returns its results as rows, for SQL, for a report or for a table.
Its tasks run plain Python with blocking reads, as functions of one row: so neither pandas nor NumPy is needed, and
Spark Connect works. :mod:`.verify` reads every replica, :mod:`.space` reads entry logs,
:mod:`.archive` moves ledgers to and from Parquet, :mod:`.pictures` draws charts.  The tasks that run at a time share
the speed limit of the whole cluster (:mod:`..task.pacing`).
"""

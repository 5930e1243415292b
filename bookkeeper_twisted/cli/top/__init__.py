"""The command ``top``: a live table of the bookies of a cluster.

Theory of operation: :mod:`.watch` asks the metadata store which bookies there are, and the HTTP server of each for its
metrics, all at once and each for a bounded time.  :mod:`.figures` takes the counters from the metrics and makes rates
of two samples of one bookie.  :mod:`.table` makes lines of them that fit the terminal.  :mod:`.live` draws them again
and again, and obeys keys; :mod:`.command` is the command itself, which prints one table where there is no terminal.
"""

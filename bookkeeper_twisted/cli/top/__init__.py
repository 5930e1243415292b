"""The command ``top``: a live table of the bookies of a cluster.

Theory of operation: :mod:`.watch` reads the list of bookies from the metadata store, and requests the metrics page of
each bookie from its HTTP server: from up to 32 bookies at the same time, with a timeout for each.  :mod:`.figures`
reads the counters in a metrics page.  :mod:`.load` computes rates from two pages of one bookie.  :mod:`.table` formats
the lines, so that they fit the terminal.  :mod:`.command` implements the command: it draws the table repeatedly and
handles keys; if there is no terminal, it prints one table.
"""

"""A bookie's end of connections: decodes received bytes to requests, and writes queued replies together.

:mod:`.connection` is the ``Protocol``.  :mod:`.outbox` writes all replies that were made at about the same time, for
example to the adds of one journal write, by one call for each connection.
"""

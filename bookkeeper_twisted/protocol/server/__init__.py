"""A bookie's end of connections: decodes received chunks to requests, writes all replies of a batch by one call.

:mod:`.connection` is the ``Protocol`` and its factory, :mod:`.outbox` flushes connections once for each batch.
"""

"""A bookie's side of a connection: decodes chunks to requests, writes the replies of each batch by one call.

:mod:`.connection` is the ``Protocol`` and its factory, :mod:`.outbox` flushes connections once for each batch.
"""

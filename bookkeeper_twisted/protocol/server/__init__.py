"""A bookie's side of a connection: chunks to requests, replies to one write for each batch.

:mod:`.connection` is the ``Protocol`` and its factory, :mod:`.outbox` flushes connections once for each batch.
"""

"""A client's end of a connection: writes the requests of many flows, matches replies, enforces time-outs.

Theory of operation.  :mod:`.connection` is the ``Protocol``.  A request is encoded, counted in :mod:`.in_flight`, and
given to :mod:`.request_writer`, which writes adds at once and all others in a block at the end of the turn.  Received
bytes are compared with the known replies to the oldest adds; only other bytes are decoded, and looked
up by key.  The account removes answered requests before their callbacks are called.

:mod:`.in_flight` is the only module that counts; :mod:`.sent_adds` and :mod:`.sent_reads` describe sent requests, and
:mod:`.traffic` computes a load from the counts, by which connections are chosen.
"""

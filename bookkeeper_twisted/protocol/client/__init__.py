"""A client's side of a connection: requests of many flows out, replies matched, time-outs.

Theory of operation.  :mod:`.connection` is the ``Protocol``.  A request is encoded, counted in :mod:`.in_flight`, and
given to :mod:`.request_writer`, which writes adds at once and all else in a block at the end of the turn.  Received
bytes are compared with the replies that are foretold for what was sent first; only what differs is decoded, and looked
up by key.  The account takes out what is answered before its callback is called.

:mod:`.in_flight` is the only module that counts; :mod:`.sent_adds` and :mod:`.sent_reads` describe what was sent, and
:mod:`.traffic` makes a load of the counts, by which connections are chosen.
"""

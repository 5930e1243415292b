"""A client's end of a connection: writes the requests of many ledger handles, matches replies, enforces time-outs.

Theory of operation.  :mod:`.connection` is the ``Protocol``.  The connection encodes a request, records it in
:mod:`.in_flight`, and passes it to :mod:`.request_writer`, which writes adds immediately, and all other requests in
one block at the end of the reactor turn.  Received bytes are first compared with the expected replies to the oldest
adds.  Only if the bytes differ are they decoded; the key of each reply (its request number, or ledger and entry id)
then finds the request.  An answered request is removed from :mod:`.in_flight` before its callback is called.

Only :mod:`.in_flight` counts outstanding requests.  :mod:`.sent_adds` and :mod:`.sent_reads` describe sent requests.
:mod:`.traffic` computes the load of a connection from the counts; the client chooses the connection with the least
load.
"""

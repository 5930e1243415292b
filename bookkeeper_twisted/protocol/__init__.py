"""The ``Protocol`` classes of both ends of a connection: they pass received bytes to the codec and write frames.

Theory of operation.  :mod:`.server.connection` feeds each received chunk to the connection's decoder and passes the
items to its processor.  Replies are not written one by one.  They are queued on their connection, and the connection
enrols in the :class:`~.server.outbox.Outbox` of the bookie.  At the end of a batch (a journal group, a chunk of reads)
the outbox is flushed, with **one** ``transport.write`` for each connection that has replies (Apache's change 3837, for
V2 and V3 alike).  :mod:`.direct_transport` makes each such write one immediate system call, on the client's side too.

A connection of either side has one :mod:`state <.connection_state>`.  TLS comes first: V3's StartTLS is exchanged in
clear text, and from then on :mod:`.tls_layer` lies between the connection and its transport.  Then the peer is
authenticated (:mod:`.authentication`).  No other request is sent or answered before both are complete.  The principal
that the peer has proven, by its certificate or by its tokens, is an attribute of its connection.

Back-pressure runs both ways.  If a peer does not read its replies and the transport is full, the bookie reads no more
requests from this peer; the requests that it has read already wait without using memory for replies.  A bookie that has
no room for more entries stops reading from the connections that send adds until it has room again.

:mod:`.client.connection` sends the requests of many ledger handles over one connection, matches their replies, and ends
requests by time-out or cancellation.  :mod:`.client.in_flight` is the account of outstanding requests.
:mod:`.client.request_writer` decides when requests are written, and those of which handle come next.
"""

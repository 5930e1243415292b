"""The ``Protocol`` classes of both ends of a connection: they pass received bytes to the codec and write frames.

Theory of operation.  A bookie's connection (:mod:`.server.connection`) decodes each received chunk, and passes the
requests to its session, which answers them.  Replies are not written one by one.  They are queued on their connection,
and the bookie's :class:`~.server.outbox.Outbox` registers the connection.  At the end of a batch of work (the entries
of one journal sync, or the reads in one chunk), the outbox calls ``transport.write`` **once** for each registered
connection, as Apache's bookie does since its change 3837.  :mod:`.direct_transport` makes each such write one immediate
system call; clients use it, too.

A connection of either side has one :mod:`state <.connection_state>`.  TLS comes first: V3's StartTLS is exchanged in
clear text, and from then on :mod:`.tls_layer` encrypts and decrypts between the connection and its transport.  Then the
peer is authenticated (:mod:`.authentication`).  No other request is sent or answered before TLS and authentication are
complete.  The connection stores the principal that the peer's certificate or tokens have proven.

There is back-pressure for replies and for entries.  If a peer does not read its replies and the transport is full, the
bookie reads no more requests from this peer, and makes no replies to the requests that it has read already.  If a
bookie has no memory for more entries, it stops reading from the connections that send adds until it has memory again.

A client's connection (:mod:`.client.connection`) sends the requests of many ledger handles, matches the replies with
them, and ends requests by time-out or cancellation.  :mod:`.client.in_flight` records the outstanding requests.
:mod:`.client.request_writer` decides when requests are written, and in which order the handles are served.
"""

"""The ``Protocol`` classes: bytes from sockets to the codec, replies to sockets.

Theory of operation.  :mod:`.server.connection` feeds each received chunk to the connection's decoder and passes
the items to its processor.  Replies never go to the transport one by one: they are queued
on their connection, the connection enrols in the :class:`~.server.outbox.Outbox` of the bookie, and the
end of a batch (a journal group, a chunk of reads) flushes the outbox: **one** ``transport.write`` for
each connection that has replies (Apache's change 3837, for V2 and V3 alike).  :mod:`.direct_transport`
turns that write into one system call, made at once; so it does with the blocks that a client writes.

A connection of either side has one :mod:`state <.connection_state>`.  TLS comes first: it begins by V3's StartTLS in
clear, and lies between a connection and its transport from then on (:mod:`.tls_layer`).  Then plugins authenticate the
peer (:mod:`.authentication`).  Nothing else is sent or answered before; what a peer has proven to be, by its
certificate or to a plugin, is an attribute of its connection.

Back-pressure runs both ways.  A connection whose peer does not read stops being read once its
transport is full, and the requests it had already delivered wait as small objects, not as replies.
A bookie that is full pauses the connections that add until it has room.

:mod:`.client.connection` serves many flows over one connection: it matches replies, times out and cancels;
:mod:`.client.in_flight` is the account of outstanding requests, :mod:`.client.request_writer` decides whose requests
are written next, and when.
"""

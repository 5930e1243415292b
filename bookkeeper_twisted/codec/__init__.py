"""The translation of bytes to values and back, without transport, clock, files or randomness.

Theory of operation.  A decoder takes the chunks that a connection received and returns the complete requests or
replies.  Adds, plain reads and batch reads are frequent, so they become *runs* (:mod:`.runs`): consecutive requests of
one kind are one object over slices of the chunk.  Each other request or reply becomes one frozen message
(:mod:`.messages`).  However the stream is cut into chunks, the decoded values and their order are the same; only the
borders of runs may differ.  A frame that breaks the format ends the decoder: it still returns the items before that
frame, its ``error`` says what is wrong, and the owner must close the connection.

:mod:`.v2` and :mod:`.v3` implement the two encodings, with one module for each direction.  :mod:`.wires` wraps both in
the interface that connections use (:mod:`.wire_protocol`).  :mod:`.connection` cuts the stream into frames, enforces
limits and chooses the encoding (wire-protocol 2).  :mod:`.digest` seals and verifies entries.  :mod:`.metadata_formats`
encodes the records of metadata services and cookie files.  The only exception that leaves this package is
:class:`~bookkeeper_twisted.errors.CodecError`.
"""

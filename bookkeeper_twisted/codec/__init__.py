"""The translation of bytes to values and back, without transport, clock, files or randomness.

Theory of operation.  A decoder is called with the chunks of bytes that a connection received, and returns the complete
requests or replies.  Adds and plain reads are frequent.  So consecutive adds, or consecutive reads, become one object
over slices of the chunk, a *run* (:mod:`.runs`).  Each other request or reply becomes one frozen message
(:mod:`.messages`).  The decoded values and their order do not depend on how the stream is cut into chunks; only where
one run ends and the next one begins may differ.  A frame that breaks the format ends the decoder: it still returns the
items before that frame, its ``error`` says what is wrong, and the owner must close the connection.

:mod:`.v2` and :mod:`.v3` encode and decode the two protocols, with one module for each direction.  Connections use
them through the interface in :mod:`.wire_protocol`, which :mod:`.wires` implements for both protocols.
:mod:`.connection` cuts the stream into frames, enforces limits and detects the protocol.  :mod:`.digest` makes and
verifies the digests of entries.  :mod:`.metadata_formats` encodes the records of metadata services and cookie files.
The only exception that this package raises is :class:`~bookkeeper_twisted.errors.CodecError`.
"""

"""The translation of bytes to values and back, without transport, clock, files or randomness.

Theory of operation.  A decoder takes the chunks that a connection received and returns the complete requests or
replies: *runs* for the hot operations (:mod:`.runs`: adds, plain reads and batch reads; consecutive requests
of one kind become one object over slices of the chunk) and one frozen message for each of the others
(:mod:`.messages`).  Any split of the stream gives the same values in the same order (runs may be cut
differently).  A frame that breaks the format ends the decoder: the items before it are still returned,
the decoder's ``error`` says what is wrong, and the connection must be closed.

:mod:`.v2` and :mod:`.v3` hold the two encodings, a module for each direction, :mod:`.wires` both as providers of the
one interface that connections use (:mod:`.wire_protocol`), :mod:`.connection` framing, limits and the choice between
them (wire-protocol 2), :mod:`.digest` seals and verifies entries, :mod:`.metadata_formats`
the records in a metadata service or a cookie file.  The only exception that leaves this
package is :class:`~bookkeeper_twisted.errors.CodecError`.
"""

"""Structure-aware fuzzing of a bookie process over real sockets: ``make fuzz``, and a short run in the tests.

Theory of operation.  :mod:`.frames` draws requests of V2 and V3 with the project's own codec: values at the ends of
their ranges, wrong keys, wrong lengths, damaged bytes.  :mod:`.peer` sends what was drawn on a connection in pieces,
and ends it in some way: waiting for the answers, in the middle of a frame, without reading.  :mod:`.model` holds
which entries were acknowledged; an entry's bytes follow from its ids, so that whatever is read can be checked,
whoever wrote it.  :mod:`.run` has many peers at work beside a healthy client, and judges the process: every answer to
the healthy client came, descriptors and permits are given back, memory has a bound, the log has no exception, and
every entry that was acknowledged is read back, also after a restart (S1, S11, S18).

:mod:`.secured` is the same run against a bookie with TLS and SASL.  A part of its peers are let in, and send what the
others of :mod:`.frames` send.  Those of :mod:`.secured_peer` are not: they send bytes in clear in front of TLS and
behind StartTLS, damaged flights of handshakes, tokens that are none, floods of KeyUpdates, and ask for a second
handshake.  None of them may be served.
"""

"""V3, the wire protocol of protobuf messages; each request has a number that the reply repeats.

Theory of operation.  Each direction is a module: a client writes :mod:`.requests_out` and parses :mod:`.replies_in`,
a bookie parses :mod:`.requests_in` and writes :mod:`.replies_out`.  :mod:`.layout` has the keys, flags and headers that
both ends agree on.  Protobuf parses and writes the rare operations; adds, reads and their replies are written by hand,
and :mod:`.columns` parses those that follow each other and have one layout column by column.
"""

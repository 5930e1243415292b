"""V3, the wire protocol of protobuf messages; each request has a number that the reply repeats.

Theory of operation.  Each direction is a module: a client encodes with :mod:`.requests_out` and decodes with
:mod:`.replies_in`, a bookie decodes with :mod:`.requests_in` and encodes with :mod:`.replies_out`.  :mod:`.layout`
defines the field keys, flags and headers for both directions.  The protobuf library encodes and decodes the rare
operations.  Adds, reads and their replies are encoded without it.  :mod:`.columns` decodes series of adds, reads or add
replies of one layout column by column.
"""

"""V2, the wire protocol with fixed layouts.

Theory of operation.  Replies have no number: they are matched with requests by ledger and entry.  Each direction is
a module: a client writes :mod:`.requests_out` and parses :mod:`.replies_in`, a bookie parses :mod:`.requests_in` and
writes :mod:`.replies_out`.  :mod:`.layout` has the sizes, struct formats and header words that both ends agree on.
Frames that follow each other and have one layout are parsed and written column by column
(:mod:`~bookkeeper_twisted.codec.strides`).
"""

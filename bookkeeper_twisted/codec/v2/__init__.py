"""V2, the wire protocol with fixed layouts.

Theory of operation.  Requests have no number: a client matches replies with its requests by ledger and entry id.  Each
direction is a module: a client encodes with :mod:`.requests_out` and decodes with :mod:`.replies_in`, a bookie decodes
with :mod:`.requests_in` and encodes with :mod:`.replies_out`.  :mod:`.layout` defines the sizes, struct formats and
header words for both directions.  Consecutive frames of one layout are decoded and encoded column by column
(:mod:`~bookkeeper_twisted.codec.strides`).
"""

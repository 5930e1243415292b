"""The connections of a client: a few sockets to each bookie, which thousands of ledger handles share (PDP-36).

The :mod:`.pool` has one :mod:`.bookie_peer` for each bookie and wire protocol, which has the :mod:`sockets
<.bookie_socket>`.  A :mod:`.flow` makes the requests of one handle.  :mod:`.bookie_client` makes the requests of the
client itself, and looks up the addresses of bookies.
"""

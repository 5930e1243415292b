"""Connections of a client: few sockets for each bookie, shared by thousands of flows (PDP-36).

A :mod:`.pool` has one :mod:`.bookie_peer` for each bookie and wire protocol, a peer has :mod:`sockets
<.bookie_socket>`, and a :mod:`.flow` is what one handle calls.  :mod:`.bookie_client` is the client's own flow and
finds addresses.
"""

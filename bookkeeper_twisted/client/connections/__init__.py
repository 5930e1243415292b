"""The connections of a client: a few sockets to each bookie, which thousands of ledger handles share.

The :mod:`.pool` contains a :mod:`.bookie_peer` for each bookie and wire protocol, with the :mod:`sockets
<.bookie_socket>` to this bookie.  A :mod:`.flow` sends the requests of one ledger handle.  :mod:`.bookie_client` sends
the requests that belong to no handle, and looks up the addresses of bookies.
"""

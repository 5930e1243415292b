"""Watches that survive lost connections; kazoo forgets its own watches when a connection is lost.
A :class:`~.watch_loop.WatchLoop` reads the watched nodes again after every event and after every lost connection; the
function that reads the nodes compares their values with those it read before.  Watch loops are used for single nodes
(:mod:`.node_watch`), for the sets of registered bookies (:mod:`.bookie_sets`) and for all marks and locks
(:mod:`.mark_watch`).
"""

"""Watches that survive lost connections, unlike kazoo's own watches.

A :class:`~.watch_loop.WatchLoop` reads the watched nodes again after every event and after every lost connection.  Its
reading function calls the listener if the values differ from those of the last read.  Watch loops exist for single
nodes (:mod:`.node_watch`), for the sets of registered bookies (:mod:`.bookie_sets`) and for all marks and locks
(:mod:`.mark_watch`).
"""

"""Watches that survive lost connections, at which kazoo forgets its own watches.

A :class:`~.watch_loop.WatchLoop` reads the watched nodes again after every event and after every lost connection; the
reader of the nodes compares the values.  Watch loops are used for single nodes (:mod:`.node_watch`), for the sets of
registered bookies (:mod:`.bookie_sets`) and for all marks and locks (:mod:`.mark_watch`).
"""

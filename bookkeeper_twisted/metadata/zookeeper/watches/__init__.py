"""Watches, which kazoo forgets whenever the connection breaks.

A :class:`~.watch_loop.WatchLoop` therefore reads the watched nodes again after every event, also after a lost
connection, and its listener compares the values.  The loop is the base of the listeners for single nodes
(:mod:`.node_watch`), for the sets of registered bookies (:mod:`.bookie_sets`) and for all marks and locks
(:mod:`.mark_watch`).
"""

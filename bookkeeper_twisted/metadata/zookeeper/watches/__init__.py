"""Watches, which kazoo forgets whenever the connection breaks.

A :class:`~.watch_loop.WatchLoop` therefore reads what it watches again after every event, that one included, and its
listener compares.  On it stand the listeners for single nodes (:mod:`.node_watch`), for the sets of registered bookies
(:mod:`.bookie_sets`) and for all marks and locks (:mod:`.mark_watch`).
"""

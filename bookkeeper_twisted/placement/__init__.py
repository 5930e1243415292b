"""Placement: the choice of bookies for new ensembles, and of substitutes for failed bookies.

:mod:`.bookie_watcher` watches which bookies are registered.  :mod:`.quarantine` excludes bookies that fail too often.
:mod:`.free_space` asks bookies for their free space.  A placement policy then chooses bookies.  The policies are
:mod:`.random_placement`, :mod:`.rack_aware`, and plugins, which :mod:`.factories` finds.
"""

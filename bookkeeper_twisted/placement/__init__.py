"""Placement: the bookies of new ensembles and of replacements.

:mod:`.bookie_watcher` knows which bookies are alive, :mod:`.quarantine` which fail too often, :mod:`.free_space`
how full they are; a policy (:mod:`.random_placement`, :mod:`.rack_aware`, or one found by plugin in
:mod:`.factories`) chooses.
"""

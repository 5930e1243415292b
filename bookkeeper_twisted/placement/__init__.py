"""Placement: the choice of bookies for new ensembles, and of substitutes for failed bookies.

:mod:`.bookie_watcher` knows which bookies are registered, :mod:`.quarantine` which of them fail too often, and
:mod:`.free_space` how much space they have.  A placement policy chooses among them: :mod:`.random_placement`,
:mod:`.rack_aware`, or a plugin that :mod:`.factories` finds.
"""

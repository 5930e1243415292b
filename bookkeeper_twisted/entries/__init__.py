"""Entries in bulk, the unit of work of the hot path, and their byte layout.

Theory of operation.  A cost per entry occurs a million times a second, so entries travel as one
object over joined bytes: an :class:`~.entry_run.EntryRun` of consecutive entries of one ledger, or, if ledgers take
turns, one of the two mixtures of :mod:`.mixed_runs`.  All three have the methods of :mod:`.interfaces`.
:mod:`.columns` cuts records of one size apart.  The values of metadata are in :mod:`bookkeeper_twisted.model`.
"""

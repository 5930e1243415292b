"""The events of a bookie or of an autorecovery process, which the console shows as its history.

:mod:`.events` selects log lines and answers questions about them, :mod:`.kept_events` keeps the newest ones in memory
and counts those that repeat, and :mod:`.event_file` stores them, so that they survive a restart.
"""

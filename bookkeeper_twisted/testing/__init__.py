"""Doubles that are trusted because the suites of the real things run on them too.

:mod:`.disk.sim_disk` is a disk that forgets what was not synced, :mod:`.executor` runs lanes step by step,
:mod:`.contracts` holds one suite for each seam, :mod:`.cluster` bookies and clients in one process.
"""

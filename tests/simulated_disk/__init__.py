"""A disk that forgets what was not synced, and every crash that it could suffer.

:mod:`.sim_disk` provides the file system of the engine over :mod:`.state`, :mod:`.small_disk` one that can be full,
:mod:`.crash` enumerates power cuts, :mod:`.sim_index` is the run index on such a disk.
"""

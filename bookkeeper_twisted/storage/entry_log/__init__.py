"""Entry logs, the files in which a bookie stores entries, in the format of Apache BookKeeper.

:mod:`.format` defines the bytes.  :mod:`.writer` appends entries, and seals (completes) logs.  :mod:`.reader` reads
entries at the offsets in index rows.  :mod:`.scan` reads a whole log without an index.
"""

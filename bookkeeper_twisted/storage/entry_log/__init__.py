"""Entry logs: the files that keep entries, byte-compatible with Apache BookKeeper's.

:mod:`.format` states the bytes, :mod:`.writer` appends and seals, :mod:`.reader` reads slices at places the index
names, :mod:`.scan` goes through a whole file without an index.
"""

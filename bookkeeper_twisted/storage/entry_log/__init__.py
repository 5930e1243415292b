"""Entry logs, the files that hold the entries of a bookie, in the format of Apache BookKeeper.

:mod:`.format` defines the bytes.  :mod:`.writer` appends entries and seals complete logs.  :mod:`.reader` reads entries
at the offsets that index rows name.  :mod:`.scan` reads a whole log without an index.
"""

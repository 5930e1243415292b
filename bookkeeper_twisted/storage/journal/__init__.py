"""One journal directory: record groups that are appended, synced, and replayed at the start.

:mod:`.format` states the bytes (Apache's version 6 with our checksums in the padding), :mod:`.files` numbers,
prepares and recycles files, :mod:`.journal` appends groups, :mod:`.reader` reads one file, :mod:`.replay` a whole
directory from a :mod:`.log_mark` on.
"""

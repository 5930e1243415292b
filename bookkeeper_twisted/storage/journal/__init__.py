"""The journal in one directory: it appends groups of records, syncs them, and replays them at the next start.

A group is a number of records that are written and synced together.  :mod:`.format` defines the bytes: Apache's version
6, with our checksums in the padding.  :mod:`.files` names, prepares and recycles the files.  :mod:`.journal` appends
groups.  :mod:`.reader` reads one file.  A log mark (:mod:`.log_mark`) is a position up to which all records are in the
ledger storage already; :mod:`.replay` reads the records of a directory after this position.
"""

"""Access to metadata, and the planning of reads; only Spark's driver runs this code.

:mod:`.cluster` reads metadata and the addresses of bookies.  :mod:`.planning` divides ranges of entries into partitions
of about equal cost.  A partition contains the metadata that its task needs, so tasks do not connect to the metadata
store.
"""

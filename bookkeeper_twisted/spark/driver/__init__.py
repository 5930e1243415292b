"""Metadata and planning, which only the driver runs, for the source, the sink and the pipelines.

:mod:`.cluster` reads metadata and the addresses of bookies; :mod:`.planning` cuts ranges of entries into partitions of
about equal cost.  Tasks connect to no metadata store to read: what they have to know comes in their partitions.
"""

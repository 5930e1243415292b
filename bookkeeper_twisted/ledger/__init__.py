"""The rules of a ledger, without I/O: this package uses neither Twisted, sockets, a clock nor a random generator.

:mod:`.schedule` computes which positions of an ensemble keep an entry.  :mod:`.placement` chooses the bookies of an
ensemble by random draws.  :mod:`.tally` counts the acknowledgements of adds.  :mod:`.recovery_rules` decides which
entries a recovery keeps and where the ledger ends.  :mod:`.read_answers` verifies the answers to reads, and chooses
the error to raise if no replica could return an entry.  :mod:`.entry_batch` passes verified entries to a reader.

Four modules serve the repair of replicas.  :mod:`.fragments` describes the entries that one ensemble keeps, and whether
they are final.  :mod:`.replica_scan` finds the entries that a bookie has lost.  :mod:`.findings` has the classes for
the results of a check.  :mod:`.copy_plan` decides which entries are copied to which bookies.

The client, the repair of replicas and Spark tasks all use these modules.
"""

"""The rules of a ledger, without I/O: no Twisted, no socket, no clock, no own randomness.

:mod:`.schedule` says which position of an ensemble keeps which entry, :mod:`.placement` how bookies are drawn for an
ensemble, :mod:`.tally` when an entry has its ack quorum, :mod:`.recovery_rules` what a recovery keeps and where the
ledger ends (S17), :mod:`.read_answers` how an answer to a read counts and which error is raised after every replica
failed, :mod:`.entry_batch` holds the verified entries for a reader.

Four modules serve repair: :mod:`.fragments`, which entries an ensemble keeps and whether they are final;
:mod:`.replica_scan`, the questions that find the losses of a bookie; :mod:`.findings`, the results of a check;
:mod:`.copy_plan`, which entries go to which bookies.

The client, the repair of replicas and Spark tasks all use these modules.
"""

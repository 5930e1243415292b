"""The rules of a ledger, without I/O: no Twisted, no socket, no clock, no randomness of its own.

:mod:`.schedule` says which position of an ensemble keeps which entry, :mod:`.placement` how bookies are drawn for an
ensemble, :mod:`.tally` when an entry has its ack quorum, :mod:`.recovery_rules` what a recovery keeps and where the
ledger ends (S17), :mod:`.read_answers` what an answer to a read is worth and which error is raised where every replica
failed, :mod:`.entry_batch` what a reader hands out once ids and digests were verified.

Four modules serve repair: :mod:`.fragments`, which entries an ensemble keeps and whether they are final;
:mod:`.replica_scan`, the questions that find out what a bookie lacks; :mod:`.findings`, what was found;
:mod:`.copy_plan`, which entries go to which bookies.

The client, the repair of replicas and Spark tasks stand on these modules alike.
"""

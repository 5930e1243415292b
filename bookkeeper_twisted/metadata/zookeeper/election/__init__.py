"""The election of the auditor, by Apache BookKeeper's protocol and by the protocol of Pulsar's metadata driver.

In both protocols, a :class:`~.candidacy.Candidacy` watches the election until it is stopped.  Apache's candidates
create ephemeral sequential nodes (:mod:`.votes`); Pulsar's candidates compete for one ephemeral node
(:mod:`.leader_node`).  A candidate in one election does not become auditor while the other election has a candidate.
"""

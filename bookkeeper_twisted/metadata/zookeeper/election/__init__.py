"""The election of the auditor, by Apache BookKeeper's protocol and by the protocol of Pulsar's metadata driver.

In both, a :class:`~.candidacy.Candidacy` watches the election until it is stopped.  :mod:`.votes` elects by ephemeral
sequential nodes, :mod:`.leader_node` by one ephemeral node.  A candidate in one election does not become auditor while
the other election has a candidate.
"""

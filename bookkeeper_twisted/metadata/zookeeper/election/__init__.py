"""The election of the auditor, by Apache BookKeeper's protocol and by that of Pulsar's metadata driver.

Both are a :class:`~.candidacy.Candidacy`, which watches until it is stopped: :mod:`.votes` by ephemeral sequence nodes,
:mod:`.leader_node` by one ephemeral node.  A candidate of either leaves the office to one of the other.
"""

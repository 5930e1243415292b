"""A cluster's metadata on ZooKeeper, node for node as Apache BookKeeper keeps them.

Theory of operation.  :class:`~.interfaces.IZooKeeper` is one connection: calls give Deferreds on the
reactor thread, a lost answer is :class:`~.interfaces.OutcomeUnknownError`.  kazoo stands behind it
(:mod:`.kazoo_client`, loaded when a driver is made); tests have one in memory.  A :class:`~.session.Session`
repeats calls when their answer was lost, a bounded number of times, and :class:`~.znodes.Znodes` resolves
what such a call has done by reading again: a create by what is stored, a compare-and-set by content
and version, a removal by absence.  Nothing is ever assumed.

Above them, one room or module per part of the tree: :mod:`.cluster` (making and unmaking all of it),
:mod:`.ledgers`, :mod:`.registration`, :mod:`.cookies`, :mod:`.underreplication`, and :mod:`.auditing`
over :mod:`.election`.  :mod:`.uris` is pure.

Watches are forgotten by kazoo whenever the connection breaks: :mod:`.watches` reads what is watched
again.  Registrations are made again, in their last mode, in each new session.
"""

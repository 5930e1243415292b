"""A cluster's metadata on ZooKeeper, node for node as Apache BookKeeper keeps them.

Theory of operation.  :class:`~.interfaces.IZooKeeper` is one connection: calls give Deferreds on the
reactor thread, a lost answer is :class:`~.interfaces.OutcomeUnknownError`.  kazoo stands behind it
(:mod:`.kazoo_client`, loaded when a driver is made); tests have one in memory.  A :class:`~.session.Session`
repeats calls when their answer was lost, a bounded number of times, and :class:`~.znodes.Znodes` settles
what such a call has done by reading again: a create by what is stored, a compare-and-set by content
and version, a removal by absence.  Nothing is ever assumed.

Above them, one module per part of the tree: :mod:`.cluster` (making and unmaking all of it),
:mod:`.layouts`, :mod:`.ledger_ids`, :mod:`.ledgers` with :mod:`.ledger_listing`,
:mod:`.registration` and :mod:`.cookies`.  :mod:`.uris` and :mod:`.layouts` are pure.

Watches are forgotten by kazoo whenever the connection breaks.  A :class:`~.watch_loop.WatchLoop`
therefore reads what it watches again after every event, that one included, and its listener
compares.  Registrations are made again, in their last mode, in each new session.
"""

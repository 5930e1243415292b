"""The console: a web page at ``/console`` that shows an operator the present state of a bookie and of its cluster.

Theory of operation.  The data of the page come from sources, such as "journals" or "cluster".  A
:class:`~.sources.StateSource` returns its present state as a JSON value.  A :class:`~.sources.RecordSource` returns
numbered records from a ring of fixed size (:class:`~bookkeeper_twisted.instruments.Ring`): the bookie records each
slow request, and each group of journal records that it writes together, in such a ring.  While nobody looks at the
page, nothing else is done.

A viewer is a browser that has requested the stream of server-sent events (:mod:`.stream`).  While there is at least one
viewer, the :class:`~.feed.ConsoleFeed` of the process reads the sources once per interval.  It encodes the changes only
once, and sends the same bytes to all viewers.  A new viewer gets a snapshot of all sources first.  If the connection of
a viewer is full, its events are dropped, and it gets a new snapshot later, so its memory is bounded.  If it does not
read for some seconds, its connection is aborted.  A viewer that reconnects sends the id of the last event that it has
received, and gets only the changes since then if they are still in memory.

More expensive data, such as a search in all ledgers, have JSON pages of their own.  Each request does a bounded part of
the work, and its answer contains the parameter of the next request.  All paths have routes like other pages, so the
same rules of access apply.
"""

"""The console: one page, at ``/console``, that answers the questions of an operator about a bookie and its cluster.

Theory of operation.  The bookie records its newest journal groups and slow requests in rings of fixed size
(:class:`~bookkeeper_twisted.instruments.Ring`), once a group and once a slow request.  Nothing else is done while
nobody looks.

A :class:`~.sources.Source` is a named part of what the page shows.  The *state* of a part is a JSON value, which the
source reads when it is asked; the *records* of a part have ascending numbers, and only new ones are read.  The
:class:`~.feed.ConsoleFeed` of a process reads all sources once per interval while it has at least one viewer, encodes
what has changed one time, and gives the same bytes to all viewers.

A viewer is one response with server-sent events (:mod:`.stream`): first a snapshot of all sources, then changes.  A
viewer whose connection is full gets nothing, and a new snapshot when there is room again, so its memory is bounded; if
it does not read for long, it is dropped.  A viewer that reconnects names the last event that it has seen, and gets only
the changes since then, if they are still kept.

What costs more than a sample, such as a walk over the ledgers, has JSON pages of its own; each of their requests does a
bounded part of the work and says where the next one continues.  All paths have routes like those of the other pages, so
the same rules of access hold.
"""

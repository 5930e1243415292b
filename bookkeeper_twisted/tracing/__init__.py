"""Traces: one trace follows a sampled append or read through the client, its bookies, the journal and the replies.

Theory of operation.  The setting ``tracer`` selects the plugin that makes the :class:`~.interfaces.ITracer` of a client
or a bookie.  Without a tracer, an append only tests whether an attribute is None.

The client decides at the call of an append or read whether it is traced.  If the program has a current span, that span
decides: if it is sampled, the operation becomes its child; if not, the operation is not traced.  Without a current
span, the share ``traceSampleRatio`` of the operations is traced.  During a traced operation, the client notes only ids
and times in a record.  :class:`~.records.TraceRecords` makes spans of the records later, many at once.

Each request to a bookie for a traced operation has a span of its own.  A V3 request carries the ids of this span as
``traceparent`` (W3C Trace Context), a pair in its field ``requestContext``; Apache's bookie logs these pairs.  V2 has
no such field, so a trace over V2 has no spans of bookies; an attribute of the append's span tells this.

A bookie makes a span for each traced request, which ends when the reply has been written.  It also makes a span for the
group of journal records that were written and synced together with a traced add.  That span is a child of the first
traced add in the group, and every later traced add in the group has a link to it.

Peers choose the pairs of ``requestContext``, so the codec limits their number and size and the characters in them.
"""

"""Traces: one trace follows a sampled append or read through the client, its bookies, the journal and the replies.

Theory of operation.  A client or a bookie has an :class:`~.interfaces.ITracer`, made by the plugin that the key
``tracer`` names, or None.  Without a tracer the way of an append tests one attribute that is None, and nothing else is
done.

The client decides when an operation is called, on the caller's thread: the operation of a caller that has a sampled
span is traced as its child, that of a caller with a span that is not sampled is not, and of all others a share of
``traceSampleRatio`` is.  While the operation lasts, only its ids and times are noted.  :class:`~.records.TraceRecords`
keeps these records, and makes a :class:`~.spans.Span` of each, and objects of OpenTelemetry of those, when there are
many, twice a second, and when the client or the bookie stops.

Each request to a bookie for a traced operation is a span, whose id is that of the operation and a number.  In V3 the
request carries its ids as ``traceparent`` (W3C Trace Context), a pair of the field ``requestContext``, which Apache's
bookie takes for its log.  V2 has no such field, so traces over V2 end at the client, and their first span says so.  A
traced add stays in its batch and in its run; only its frame is longer.

A bookie makes its spans from the times that it knows when it answers: the add (or read), which ends when its reply has
been written, and the journal group that made the add durable.  A group has entries of many adds: its span is
a child of the first traced add, and every traced add of the group has a link to it.

The pairs of ``requestContext`` are of a stranger: the codec keeps few and short ones, without control characters.
"""

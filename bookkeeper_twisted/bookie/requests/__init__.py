"""Answers decoded requests: a processor for each kind of request, and the session of each connection.

:mod:`.session` starts the requests of one connection in order, within its limits.  :mod:`.request_processor` finds the
processor of each request.  :mod:`.read_processor` answers many reads together, :mod:`.batch_processor` answers batch
reads, and :mod:`.lac_processor` answers fencing reads, LAC reads and long polls.  :mod:`.context` converts errors to
wire statuses.  :mod:`.authentication` refuses the requests of a peer that is not authenticated yet.
"""

"""Answers decoded requests: a processor for each kind of request, and the session of each connection.

:mod:`.session` starts the requests of one connection in order, within its limits.  :mod:`.request_processor` finds the
processor of each request: reads, many together (:mod:`.read_processor`), batch reads (:mod:`.batch_processor`), fencing
reads, LAC reads and long polls (:mod:`.lac_processor`).  Errors become wire statuses in :mod:`.context`.
:mod:`.authentication` refuses the requests of a peer that is not authenticated yet.
"""

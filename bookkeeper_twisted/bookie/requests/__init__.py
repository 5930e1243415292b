"""Turns decoded requests into replies: one processor per kind of request, and the limits of a connection.

:mod:`.session` starts the requests of one connection in order while limits allow; :mod:`.request_processor` finds the
processor of each: runs of reads (:mod:`.read_processor`), batch reads (:mod:`.batch_processor`), fencing reads, LAC
reads and long polls (:mod:`.lac_processor`).  Errors become wire statuses in :mod:`.context`.
:mod:`.authentication` stands before a session while its peer is not authenticated.
"""

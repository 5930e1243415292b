"""A client's side of a connection: requests of many flows out, replies matched, time-outs.

:mod:`.connection` is the ``Protocol``; :mod:`.in_flight` and :mod:`.outstanding` keep what is outstanding,
:mod:`.write_queue` decides which flow's requests are written next, :mod:`.block_writer` when.
"""

"""A bookie as a service: its files, identity, ordered start, and registration.

The start (:mod:`.service`) locks the directories, checks cookies (:mod:`.identity`), opens the :mod:`.store`,
replays the journals (:mod:`.replay`), listens and registers (:mod:`.registration`); the stop is the reverse.
:mod:`.disk_monitor` watches how full the ledger directories are while the bookie runs, :mod:`.admin` answers the
requests of the HTTP server and the shell.
"""

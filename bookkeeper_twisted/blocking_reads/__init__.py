"""Reads of bookies over plain blocking sockets, for programs without a reactor: Spark tasks, scripts, checks.

Theory of operation.  A :class:`~.connection.BookieConnection` is one blocking TCP socket and the frames on it; the
time-outs are the kernel's, so that a reply of any size is received by one system call into the memory it stays in.
A :class:`~.pool.SocketPool` keeps at most one idle connection to a bookie for each wire version, for all ledgers
of the process.  :mod:`.requests` sends batch reads, single reads and reads of the last add confirmed, and returns an
:class:`~bookkeeper_twisted.entries.entry_run.EntryRun` not verified yet.  :class:`~.fragment_reader.FragmentReader`
reads a range of entries that one ensemble keeps: it verifies every entry (S18), goes to the next replica on any error,
and asks for the next batch before the caller works on the last one.  :mod:`.confirmed` reads the last add confirmed of
ledgers that are still written.  :mod:`.adds` copies stored entries to several bookies.

Nothing here imports Twisted.  Only :mod:`.connection` opens sockets; time is an argument.
"""

from .adds import CopyTargets
from .confirmed import LastConfirmed, UnclosedLedger, read_last_add_confirmed
from .connection import Address, Timeouts, dial
from .fragment_reader import Fragment, FragmentReader, ReadLimits
from .pool import SocketPool

__all__ = [
    "Address", "SocketPool", "CopyTargets", "Fragment", "FragmentReader", "LastConfirmed", "UnclosedLedger",
    "ReadLimits", "Timeouts", "dial", "read_last_add_confirmed",
]  # fmt: skip

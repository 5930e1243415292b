"""Reads of bookies over plain blocking sockets, for programs without a reactor: Spark tasks, scripts, checks.

Theory of operation.  A :class:`~.connection.BookieConnection` sends and receives frames over one blocking TCP socket.
The kernel enforces the time-outs, so one system call can receive a whole reply of any size, directly into the bytes
object that is returned.  A :class:`~.pool.SocketPool` keeps at most one idle connection to a bookie for each wire
version, for all ledgers of the process.  :mod:`.requests` sends batch reads, single reads and reads of the last add
confirmed, and returns the entries as an :class:`~bookkeeper_twisted.entries.entry_run.EntryRun` that is not verified
yet.  If an idle connection turns out to be lost, the request is sent once more, over a new connection.
:class:`~.fragment_reader.FragmentReader` reads a range of entries that one ensemble keeps: it verifies every entry by
its digest, asks the next replica after any error, and requests the next batch before the caller works on the present
one.  :mod:`.confirmed` reads the last add confirmed of unclosed ledgers.  :mod:`.adds` copies stored entries to several
bookies.  :mod:`.secured` makes encrypted or authenticated connections; it reuses the code of the Twisted client.

Only :mod:`.secured` imports Twisted, and no other module here imports :mod:`.secured`.  A program that needs secured
connections passes :func:`~.secured.dial_secured` to the pool.  Only :mod:`.connection` opens sockets; functions that
need the time get a clock as an argument.
"""

from ..ledger.lac_answers import LastConfirmed
from .adds import CopyTargets
from .confirmed import UnclosedLedger, read_last_add_confirmed
from .connection import Address, Timeouts, dial
from .fragment_reader import Fragment, FragmentReader, ReadLimits
from .pool import SocketPool

__all__ = [
    "Address", "SocketPool", "CopyTargets", "Fragment", "FragmentReader", "LastConfirmed", "UnclosedLedger",
    "ReadLimits", "Timeouts", "dial", "read_last_add_confirmed",
]  # fmt: skip

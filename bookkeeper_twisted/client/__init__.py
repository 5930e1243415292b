"""Ledgers as an application sees them.

Theory of operation.  :class:`BookKeeper` creates, opens and deletes ledgers.  A :class:`LedgerWriter` gives ids in
call order, seals a batch of entries once (header, LAC, length, digest), sends the same bytes to the write quorum of
each entry and completes adds strictly in id order as ack quorums are reached; the LAC is the highest completed id.
Threads append through a :class:`ThreadAppender`.  Bookies that fail are replaced in the ledger's metadata while
nothing completes (S16).  A :class:`LedgerReader` reads single entries, ranges and batches, verifies every byte
against ledger id, entry id and digest (S18), and goes to the next replica on any error; it can follow a ledger that
is being written.  A ledger whose writer did not close it is recovered when it is opened
(:mod:`.recovery.ledger_recovery`, S17).  The arithmetic and the rules are in :mod:`bookkeeper_twisted.ledger`.

All network traffic goes through one :class:`~.interfaces.IBookieClient`, which owns the connections
(:mod:`.connections`); handles never touch a socket.  Everything asynchronous is a Deferred that can be awaited and
cancelled.
"""

from ..ledger.entry_batch import EntryBatch
from .admin import BookKeeperAdmin
from .bookkeeper import BookKeeper
from .claims.producer import WhenFull
from .claims.thread_appender import ThreadAppender
from .connections.metrics import ClientMetrics
from .reading.lac_reads import Confirmed
from .reading.read_handle import LedgerReader
from .service import BookKeeperService
from .writing.adv_write_handle import AdvLedgerWriter
from .writing.write_handle import LedgerWriter

__all__ = [
    "AdvLedgerWriter", "BookKeeper", "BookKeeperAdmin", "BookKeeperService", "ClientMetrics", "Confirmed", "EntryBatch",
    "LedgerReader", "LedgerWriter", "ThreadAppender", "WhenFull",
]  # fmt: skip

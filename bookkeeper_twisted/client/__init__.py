"""The client of a cluster: an application creates, writes, reads and deletes ledgers with it.

Theory of operation.  :class:`BookKeeper` creates, opens and deletes ledgers.  A :class:`LedgerWriter` gives entries
their ids in the order of the calls.  It makes the header (with LAC and length) and the digest of each entry once, and
sends the same bytes to all bookies of the entry's write set.  Adds complete strictly in id order once they have their
ack quorum; the LAC is the highest completed id.  Threads append through a :class:`ThreadAppender`.  If bookies fail,
the writer replaces them in the ledger's metadata; until the new metadata are stored, no entry completes.

A :class:`LedgerReader` reads single entries, ranges and batches.  It verifies ledger id, entry id and digest of every
entry.  After any error it asks the next replica.  It can follow a ledger that is still being written.  If a ledger was
not closed by its writer, opening it recovers it (:mod:`.recovery.ledger_recovery`).  The decisions that need no I/O,
such as quorums and votes, are in :mod:`bookkeeper_twisted.ledger`.

All network traffic goes through one :class:`~.interfaces.IBookieClient`, which owns the connections
(:mod:`.connections`).  Every asynchronous call returns a Deferred, which can be awaited and cancelled.
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

"""BookKeeper in Python: a durable, replicated log, its server (bookie) and its client, on Twisted.

Theory of operation.  A *ledger* is an append-only sequence of *entries*.  Its writer sends each
entry to the *write quorum* of bookies chosen from the ledger's *ensemble*; an add succeeds when an
*ack quorum* of them has the entry on disk.  Public names are here, loaded when they are first used, so that
``import bookkeeper_twisted.blocking_reads`` loads no Twisted; :mod:`.aio`, :mod:`.blocking` and :mod:`.testing` are
public as well.  The packages are layers, and imports point one way only (``tests/architecture.py``).
"""

from ._public import __all__ as __all__
from ._public import __dir__ as __dir__
from ._public import __getattr__ as __getattr__

__version__ = "0.1.0"

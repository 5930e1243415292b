"""BookKeeper in Python: a durable, replicated log, its server (bookie) and its client, on Twisted.

Theory of operation.  A *ledger* is an append-only sequence of *entries*.  Its writer sends each entry to a *write
quorum* of bookies of the ledger's *ensemble*; an add succeeds when an *ack quorum* of them has the entry on disk.

This module contains the public names; :mod:`.aio`, :mod:`.blocking` and :mod:`.testing` are public as well.  Each name
is loaded at its first use, so that ``import bookkeeper_twisted.blocking_reads`` does not load Twisted.  The packages
are layers: a package imports only from layers below it (``tests/architecture.py``).
"""

from ._public import __all__ as __all__
from ._public import __dir__ as __dir__
from ._public import __getattr__ as __getattr__

__version__ = "0.1.0"

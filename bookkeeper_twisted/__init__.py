"""BookKeeper in Python: a durable, replicated log, its server (bookie) and its client, on Twisted.

Theory of operation.  A *ledger* is an append-only sequence of *entries*.  Its writer sends each
entry to the *write quorum* of bookies chosen from the ledger's *ensemble*; an add succeeds when an
*ack quorum* of them has the entry on disk.  The packages are layers, and imports point one way only
(``tests/test_architecture.py`` holds the table):

====================  =============================================================================
``errors`` ``model``  values every layer shares; nothing here does I/O
``config`` ``metrics``  one frozen configuration value; counters that cost one attribute add
``codec``             bytes to requests and back, without a socket, a clock or a file
``storage``           the synchronous engine: journal, entry logs, indexes, caches
``metadata``          which bookies are alive, which ledgers exist, where their entries are
``protocol``          the only ``Protocol`` subclasses: sockets to codec, replies to sockets
``bookie``            what a bookie promises: add, read, fence, LAC, in group commits
``client``            ledgers as an application sees them
``http`` ``cli``      ``/metrics``, ``twistd bookie``
``testing``           simulated disk, step executor, in-memory clusters, contract suites
====================  =============================================================================
"""

__version__ = "0.1.0"

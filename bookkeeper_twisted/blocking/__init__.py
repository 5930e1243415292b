"""BookKeeper for scripts and notebooks: plain calls that wait, plain iteration, no reactor to run.

::

    from bookkeeper_twisted.blocking import BookKeeper

    with BookKeeper.connect("sqlite:////var/lib/bookie/ledgers/metadata.db") as bk:
        with bk.create_ledger(1, 1, 1) as ledger:
            ledger.append(b"hello")
        for entry in bk.open_ledger(ledger.ledger_id):
            print(entry.data)

Theory of operation.  The first connection starts one daemon thread with a reactor of its own, which all
connections of the process share; a reactor of the application, Twisted's or asyncio's, is not touched.  A
call runs its work in that thread and waits.  Errors are the client's, raised in the caller.  Every call takes a
``timeout`` in seconds; once it is over the call is cancelled and raises ``TimeoutError``, and Ctrl-C cancels
it too.  An append that was cancelled may be written all the same.  Objects may be used from several threads; the
appends of one thread keep their order.  ``make doors`` writes the classes from those of
:mod:`bookkeeper_twisted.client`.
"""

from .bookkeeper import BookKeeper
from .reactor_thread import ReactorThread
from .reader import LedgerReader
from .writers import AdvLedgerWriter, LedgerWriter

__all__ = ["AdvLedgerWriter", "BookKeeper", "LedgerReader", "LedgerWriter", "ReactorThread"]

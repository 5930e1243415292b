"""BookKeeper for asyncio: coroutines, asynchronous iteration and contexts on the loop that runs.

::

    from bookkeeper_twisted.aio import BookKeeper

    async with await BookKeeper.connect("sqlite:////var/lib/bookie/ledgers/metadata.db") as bk:
        async with await bk.create_ledger(1, 1, 1) as ledger:
            await ledger.append(b"hello")
        reader = await bk.open_ledger(ledger.ledger_id)
        async for entry in reader.entries():
            print(entry.data)

Theory of operation.  The client runs on a Twisted reactor that the loop itself runs (:mod:`.reactor`): no thread,
one turn of the loop for an answer.  Errors are the client's.  Cancelling a coroutine, and a timeout of asyncio
around it, cancel the operation; an append that was cancelled may be written all the same.  Objects belong to the loop
that made them.  ``make doors`` writes the classes from those of :mod:`bookkeeper_twisted.client`.
"""

from .bookkeeper import BookKeeper
from .reader import LedgerReader
from .writers import AdvLedgerWriter, LedgerWriter

__all__ = ["AdvLedgerWriter", "BookKeeper", "LedgerReader", "LedgerWriter"]

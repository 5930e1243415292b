"""Reads a ledger while it is written, entry by entry, and ends when the writer closes it.

``python examples/tail_ledger.py [sqlite:////path/to/metadata.db]``, with a bookie running on that metadata.
"""

from command_line import run
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from bookkeeper_twisted import BookKeeper, LedgerWriter, temporary_cluster


async def write(reactor: object, ledger: LedgerWriter) -> None:
    """Appends now and then, and closes."""
    for n in range(3):
        await ledger.append(b"news %d" % n)
        await deferLater(reactor, 0.05)
    await ledger.close()


async def main(reactor: object, uri: str) -> None:
    """Follows the writer."""
    async with await BookKeeper.connect(reactor, uri) as client:
        ledger = await client.create_ledger(ensemble_size=1, write_quorum=1, ack_quorum=1)
        writing = Deferred.fromCoroutine(write(reactor, ledger))
        reader = await client.open_ledger(ledger.ledger_id, recover=False)
        async for entry in reader.tail():
            print(entry.entry_id, entry.data.decode())
        await writing
        print("the ledger is closed")


if __name__ == "__main__":
    run(main, temporary_cluster)

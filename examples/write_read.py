"""Writes a few entries to a new ledger and reads them back.

``python examples/write_read.py [sqlite:////path/to/metadata.db]``, with a bookie running on that metadata.
"""

from command_line import run

from bookkeeper_twisted import BookKeeper, temporary_cluster


async def main(reactor: object, uri: str) -> None:
    """Writes, closes, opens, reads."""
    async with await BookKeeper.connect(reactor, uri) as client:
        ledger = await client.create_ledger(ensemble_size=1, write_quorum=1, ack_quorum=1, password=b"secret")
        entry_id = await ledger.append(b"hello")
        print(f"entry {entry_id} of ledger {ledger.ledger_id} is on disk")
        first, last = await ledger.append_many([b"some", b"more"])
        print(f"entries {first} to {last} are on disk")
        await ledger.close()

        reader = await client.open_ledger(ledger.ledger_id, password=b"secret")
        async for entry in reader.entries():
            print(entry.entry_id, entry.data.decode())


if __name__ == "__main__":
    run(main, temporary_cluster)

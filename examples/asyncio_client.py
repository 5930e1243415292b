"""The client in an asyncio program.

``python examples/asyncio_client.py [sqlite:////path/to/metadata.db]``, with a bookie running on that metadata.
"""

import asyncio

from command_line import run

from bookkeeper_twisted import temporary_cluster
from bookkeeper_twisted.aio import BookKeeper


async def main(uri: str) -> None:
    """Appends from several tasks, then reads."""
    async with await BookKeeper.connect(uri) as client:
        async with await client.create_ledger(1, 1, 1) as ledger:
            await asyncio.gather(*(ledger.append(b"entry %d" % n) for n in range(3)))
        async with await client.open_ledger(ledger.ledger_id) as reader:
            async for entry in reader.entries():
                print(entry.entry_id, entry.data.decode())


if __name__ == "__main__":
    run(main, temporary_cluster, lambda main, uri: asyncio.run(main(uri)))

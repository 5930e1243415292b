"""The client in an asyncio program: Twisted runs on asyncio's loop, Deferreds become futures.

``python examples/asyncio_client.py sqlite:////path/to/metadata.db``, with a bookie running on that metadata.
"""

import asyncio
import sys

from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client import BookKeeper


async def main(uri: str) -> None:
    """Appends from several tasks, then reads."""
    loop = asyncio.get_running_loop()
    reactor = AsyncioSelectorReactor(loop)
    reactor.startRunning(installSignalHandlers=False)  # from here on asyncio moves it
    client = await BookKeeper.connect(reactor, uri).asFuture(loop)
    ledger = await client.create_ledger(1, 1, 1).asFuture(loop)
    ids = await asyncio.gather(*(ledger.append(b"entry %d" % n).asFuture(loop) for n in range(3)))
    await ledger.close().asFuture(loop)
    reader = await client.open_ledger(ledger.ledger_id).asFuture(loop)
    for entry in await reader.read(0, max(ids)).asFuture(loop):
        print(entry.entry_id, entry.data.decode())

    async def count() -> int:  # what awaits Deferreds by itself is a coroutine of Twisted
        return sum([1 async for _ in reader.entries()])

    print(await Deferred.fromCoroutine(count()).asFuture(loop), "entries")
    await client.close().asFuture(loop)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

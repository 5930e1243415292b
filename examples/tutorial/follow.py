"""Follow a ledger while it is written: ``python follow.py LEDGER [EVENTS]``, to its end or for so many events."""

import sys

from twisted.internet.task import deferLater, react

from bookkeeper_twisted import BookKeeper, LedgerReader
from bookkeeper_twisted.errors import NoSuchLedgerMetadataError


async def opened(reactor: object, bk: BookKeeper, ledger_id: int) -> LedgerReader:
    while True:
        try:
            return await bk.open_ledger(ledger_id, recover=False)
        except NoSuchLedgerMetadataError:  # the writer has not begun
            await deferLater(reactor, 0.1)


async def main(reactor: object, ledger_id: str, events: str = "1000000") -> None:
    async with await BookKeeper.connect(reactor, "sqlite:///metadata.db") as bk:
        reader = await opened(reactor, bk, int(ledger_id))
        seen = 0
        async for entry in reader.tail():
            assert entry.data == b"event %d" % seen, entry
            seen += 1
            if seen == int(events):
                break
        print(seen, "events, in order")


react(main, sys.argv[1:])

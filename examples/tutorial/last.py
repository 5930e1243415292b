"""Take over from a writer that was lost: close its ledger, and read all that was acknowledged."""

import sys

from twisted.internet.task import react

from bookkeeper_twisted import BookKeeper


async def main(reactor: object, ledger_id: str) -> None:
    async with await BookKeeper.connect(reactor, "sqlite:///metadata.db") as bk:
        reader = await bk.open_ledger(int(ledger_id))  # with recovery: no append of the old writer succeeds from now on
        events = [entry.data async for entry in reader.entries()]
        assert events == [b"event %d" % n for n in range(len(events))]
        print("closed, with", len(events), "events")


react(main, sys.argv[1:])

"""Append 200 events, 20 a second, to a new ledger on three bookies."""

from twisted.internet.task import deferLater, react

from bookkeeper_twisted import BookKeeper


async def main(reactor: object) -> None:
    async with await BookKeeper.connect(reactor, "sqlite:///metadata.db") as bk:
        ledger = await bk.create_ledger(ensemble_size=3, write_quorum=3, ack_quorum=2)
        print("ledger", ledger.ledger_id)
        for n in range(200):
            entry_id = await ledger.append(b"event %d" % n)
            print("acknowledged", entry_id, flush=True)
            await deferLater(reactor, 0.05)
        await ledger.close()


react(main)
